"""Ingest and copy with everything on a real object store, and a catalog that is a server."""

import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_ns
from lance_ns_spark import arrow_files
from lance_ns_spark.jobs.copy import copy
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table


def connected(profile: dict) -> lance_ns.Namespace:
    properties = dict(profile)
    return lance_ns.connect(properties.pop("backend"), properties)


@pytest.mark.live("s3", "glue")
def test_parquet_in_a_bucket_becomes_a_table_and_is_copied_and_registered_elsewhere(spark, live_server, monkeypatch):
    monkeypatch.setattr(arrow_files, "SMALLEST_SPLIT", 1)
    unique = f"t{uuid.uuid4().hex[:12]}"
    with (
        connected(live_server("s3").properties) as lake,
        connected(live_server("glue").profiles["glue-live-s3"]) as glue,
    ):
        raw = f"s3://lakehouse/raw/{unique}"
        filesystem, path = arrow_files.located(raw, lake.storage)
        for number in range(3):
            rows = pa.table({"id": range(number * 4, number * 4 + 4)})
            pq.write_table(rows, f"{path}/{number}.parquet", filesystem=filesystem)
        lake.create_namespace(unique)
        docs = Table.within(lake, f"{unique}$docs")
        source = Source.parquet(f"{raw}/*.parquet", storage=lake.storage)
        for again in (False, True):
            result = ingest(spark, source, docs, job=unique)
            assert (result.outputs[0].rows, result.outputs[0].again) == (12, again)
        docs.dataset().delete("id = 5")

        (copied,) = copy(spark, docs, glue).outputs
        assert (copied.error, copied.rows) == (None, 11)
        assert str(copied.location).startswith("s3://lakehouse/glue")
        (registered,) = copy(spark, docs, Table.within(glue, f"{unique}$same"), how="register").outputs
        assert (registered.error, registered.location) == (None, docs.place().location)
        for name in ("docs", "same"):
            ids = glue.dataset(f"{unique}${name}").to_table()["id"].to_pylist()
            assert sorted(ids) == [id for id in range(12) if id != 5]
        secret = lake.storage["aws_secret_access_key"]
        assert secret not in repr(source) + result.as_json()
