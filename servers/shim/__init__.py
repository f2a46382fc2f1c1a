"""moto with what AWS does and moto does not: case, paging, versions, catalogs, sessions; and an S3 with a lock."""
