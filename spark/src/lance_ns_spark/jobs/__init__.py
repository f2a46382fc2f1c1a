"""Jobs: ingest, copy, inventory, maintain and verify, each a function that returns a Result."""
