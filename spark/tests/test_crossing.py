"""Rows that come from Java in batches that are counted, and those that Spark must weigh."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

import lance_ns
from lance_ns.errors import TableSchemaValidationError
from lance_ns_spark import crossing, frames, types
from lance_ns_spark.tables import Table

WEIGHT = "spark.sql.execution.arrow.maxBytesPerBatch"
LONG = crossing.BYTES // crossing.ROWS + 1


@pytest.fixture
def table(lake: lance_ns.Namespace) -> Table:
    return Table.within(lake, "ml$t")


def counted(df: Any, **vectors: int) -> Any:
    return crossing.counted(df, types.lance_schema(df.schema, vectors=vectors))


def sizes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_pydict({"rows": pa.array([batch.num_rows for batch in batches], pa.int64())})


def test_narrow_rows_come_in_batches_of_a_size_and_leave_the_session_as_it_is(spark: Any):
    before = spark.conf.get(WEIGHT)
    rows, _ = counted(spark.range(0, 20_000, 1, 1).selectExpr("id", "string(id) s"))
    assert rows.sparkSession.conf.get(WEIGHT) == str(2**31 - 1)
    assert [row.rows for row in rows.mapInArrow(sizes, "rows bigint").collect()] == [8192, 8192, 3616]
    assert spark.conf.get(WEIGHT) == before
    assert type(spark).getActiveSession() is spark


def test_a_batch_is_no_larger_than_the_session_says(spark: Any):
    other = spark.newSession()
    other.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
    rows, _ = counted(other.range(0, 2500, 1, 1))
    assert [row.rows for row in rows.mapInArrow(sizes, "rows bigint").collect()] == [1000, 1000, 500]


@pytest.mark.parametrize(
    "column",
    [
        "binary(string(id))",
        "array(float(id))",
        "map(string(id), id)",
        "named_struct('a', string(id))",
        "string(id) collate UNICODE_CI",
    ],
)
def test_rows_that_may_hold_more_than_short_texts_are_weighed(spark: Any, column: str):
    assert counted(spark.range(1).selectExpr("id", f"{column} c")) is None


def test_who_says_how_batches_are_weighed_is_heard(spark: Any):
    other = spark.newSession()
    other.conf.set(WEIGHT, "1m")
    assert counted(other.range(1)) is None


def test_what_is_observed_is_told_to_the_session_that_asked(spark: Any, table: Table):
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    observation = Observation("rows")
    df = spark.range(10).observe(observation, f.count(f.lit(1)).alias("many"))
    assert counted(df) is None
    frames.write(df, table)
    assert observation.get == {"many": 10}


def test_all_narrow_types_and_odd_names_arrive_as_they_are(spark: Any, table: Table):
    values = {
        "ü 日本": "text ü 日本",
        "a b": None,
        "select": "",
        "id": 2**62,
        "tiny": -1,
        "x": 0.5,
        "is": True,
        "price": Decimal("12.50"),
        "day": dt.date(2026, 11, 17),
        "at": dt.datetime(2026, 11, 17, 1, 2, 3, 4, tzinfo=dt.UTC),
        "for": dt.timedelta(days=1, microseconds=5),
    }
    others = ["bigint", "tinyint", "double", "boolean", "decimal(10,2)", "date", "timestamp"]
    kinds = ["string", "string", "string", *others, "interval day to second"]
    columns = [f"`{name}` {type}" for name, type in zip(values, kinds, strict=True)]
    df = spark.createDataFrame([tuple(values.values())], ", ".join(columns))
    assert counted(df) is not None
    frames.write(df, table)
    assert table.dataset().to_table().to_pylist() == [values]


@pytest.mark.parametrize("mode", ["create", "append", "overwrite"])
def test_a_long_text_is_written_whole_and_nothing_twice(spark: Any, table: Table, mode: Any):
    df = spark.range(0, 40_000, 1, 4).selectExpr("id", f"if(id = 25000, repeat('ü', {LONG}), string(id)) s", "'b' t")
    done = frames.write(df, table, mode=mode, job="long")
    assert (done.version, done.rows, done.again) == (1, 40_000, False)
    written = table.dataset().to_table().sort_by("id")
    assert written["id"].to_pylist() == list(range(40_000))
    texts = written["s"].to_pylist()
    assert texts[25_000] == "ü" * LONG
    assert all(texts[number] == str(number) for number in range(40_000) if number != 25_000)
    kept = {file.path for fragment in table.dataset().get_fragments() for file in fragment.metadata.files}
    assert {file.name for file in Path(urlsplit(done.location).path, "data").iterdir()} == kept


def test_the_longest_text_that_is_not_long_goes_the_short_way(spark: Any):
    def outcome(length: int) -> int:
        rows, watch = counted(spark.range(1).selectExpr(f"repeat('a', {length}) s", "'b' t"))
        try:
            return len(next(watch(iter(rows.toArrow().to_batches())))["s"][0].as_py())
        except crossing.LongValue:
            return 0

    longest = crossing.BYTES // crossing.ROWS // 2  # a row has two texts
    assert [outcome(longest), outcome(longest + 1)] == [longest, 0]


def test_vectors_of_a_known_length_are_counted_and_others_weighed(spark: Any):
    df = spark.range(0, 100, 1, 1).selectExpr("id", "array(float(id), null) v", "array(id) w")
    assert counted(df, v=2) is None
    assert counted(df, v=2, w=1) is not None
    rows, _ = counted(df.drop("w"), v=crossing.BYTES // 16 // 10 - 2)  # so long that ten fill a batch
    assert {row.rows for row in rows.mapInArrow(sizes, "rows bigint").collect()} == {10}


def test_a_list_that_is_no_vector_is_refused_by_its_own_length(spark: Any, table: Table):
    df = spark.range(0, 4, 1, 2).selectExpr("id", "if(id = 1, array_repeat(1f, 1000), array(1f, 2f)) v")
    with pytest.raises(
        TableSchemaValidationError, match="column v has a vector of length 1000, and the table's have 2"
    ):
        frames.write(df, table, vectors={"v": 2})
    assert not table.ns.table_exists(table.id)


def test_vectors_arrive_as_they_are(spark: Any, table: Table):
    df = spark.sql("select id, if(id % 3 = 0, null, array(float(id), -0f, 0.5f)) v from range(0, 20000, 1, 2)")
    assert counted(df, v=3) is not None
    assert frames.write(df, table, vectors={"v": 3}).rows == 20_000
    written = table.dataset().to_table().sort_by("id")["v"].to_pylist()
    assert written == [None if number % 3 == 0 else [float(number), 0.0, 0.5] for number in range(20_000)]
