"""Tables read the fast way: DataFrames, counts, and aggregates that the tasks compute."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import lance_ns
from lance_ns.errors import InvalidInput, TableNotFound
from lance_ns_spark import aggregates, reading, scans, tasks
from lance_ns_spark.tables import Table


@pytest.fixture
def numbers(lake: lance_ns.Namespace) -> Table:
    data = pa.table(
        {
            "id": range(100),
            "x": [None if each % 7 == 0 else float(each) for each in range(100)],
            "k": [None if each % 5 == 4 else f"k{each % 5}" for each in range(100)],
            "v": pa.array([[float(each), 0.0] for each in range(100)], pa.list_(pa.float32(), 2)),
        }
    )
    lake.write("ml$numbers", data, mode="create", max_rows_per_file=20)
    return Table.within(lake, "ml$numbers")


def rows(df: Any) -> list[Any]:
    return sorted(tuple(row) for row in df.collect())


def test_a_table_is_read_whole_by_as_many_tasks_as_run_at_once(spark: Any, numbers: Table):
    df = reading.read(spark, numbers)
    assert df.rdd.getNumPartitions() == 2
    assert sorted(row.id for row in df.collect()) == list(range(100))


def test_columns_filter_and_expressions_are_computed_while_reading(spark: Any, numbers: Table):
    assert rows(reading.read(spark, numbers, columns=["id"], filter="id < 3")) == [(0,), (1,), (2,)]
    df = reading.read(spark, numbers, columns={"twice": "id * 2", "k": "upper(k)"}, filter="id = 3")
    assert rows(df) == [(6, "K3")]


def test_a_dataframe_keeps_the_version_that_it_was_made_of(spark: Any, numbers: Table):
    before = reading.read(spark, numbers, columns=["id"])
    numbers.ns.write(numbers.id, numbers.dataset().to_table().slice(0, 10), mode="append")
    assert before.count() == 100
    assert reading.read(spark, numbers, columns=["id"]).count() == 110
    assert reading.read(spark, numbers, columns=["id"], version=1).count() == 100


def test_deleted_rows_are_not_read_and_an_empty_table_has_none(spark: Any, numbers: Table):
    numbers.dataset().delete("id % 2 = 0")
    assert [row.id for row in reading.read(spark, numbers, columns=["id"], limit=3).collect()] == [1, 3, 5]
    numbers.dataset().delete("true")
    assert reading.read(spark, numbers).collect() == []
    assert reading.read(spark, numbers).columns == ["id", "x", "k", "v"]


@pytest.mark.parametrize("limit", [0, 1, 20, 35, 100, 1000])
def test_a_limit_holds_for_the_whole_table(spark: Any, numbers: Table, limit: int):
    assert reading.read(spark, numbers, columns=["id"], limit=limit).count() == min(limit, 100)


def test_a_limit_of_filtered_rows_holds_for_the_whole_table(spark: Any, numbers: Table):
    assert reading.read(spark, numbers, columns=["id"], filter="id >= 15", limit=30).count() == 30


def test_the_nearest_vectors_are_those_of_the_whole_table(spark: Any, numbers: Table):
    found = reading.read(
        spark, numbers, columns=["id"], nearest={"column": "v", "q": [50.2, 0.0], "k": 3}, filter="id != 50"
    )
    assert found.columns == ["id", "_distance"]
    assert [row[0] for row in rows(found)] == [49, 51, 52]


def test_words_are_searched_for_in_the_whole_table(spark: Any, lake: Any):
    data = pa.table({"id": range(40), "s": [f"word{each % 4}" for each in range(40)]})
    lake.write("ml$texts", data, mode="create", max_rows_per_file=10).create_scalar_index("s", "INVERTED")
    found = reading.read(spark, Table.within(lake, "ml$texts"), columns=["id"], full_text="word3")
    assert found.columns == ["id", "_score"]
    assert [row[0] for row in rows(found)] == list(range(3, 40, 4))


def test_a_table_is_named_by_backend_and_properties_too(spark: Any, numbers: Table, tmp_path: Any):
    df = reading.read(spark, "ml$numbers", backend="dir", properties={"root": str(tmp_path / "lake")}, columns=["id"])
    assert df.count() == 100


def test_batches_have_as_many_rows_as_suit_their_width(numbers: Table):
    assert scans.batch_rows(pa.schema([("id", pa.int64()), ("x", pa.float64())]), None) == scans.BATCH_ROWS
    vectors = pa.schema([("v", pa.list_(pa.float32(), 1024)), ("id", pa.int64())])
    assert scans.batch_rows(vectors, None) == 1022
    assert scans.batch_rows(vectors, ["id"]) == scans.BATCH_ROWS
    scan = scans.of(numbers, batch_rows=7)
    assert max(batch.num_rows for batch in scan.batches(scans.Part(None))) == 7


@pytest.mark.parametrize(
    ("chosen", "wrong"),
    [
        ({"columns": ["nope"]}, "nope.*its columns are id, x, k, v"),
        ({"columns": {"a": "nope + 1"}}, "nope"),
        ({"filter": "nope > 1"}, "nope"),
        ({"columns": []}, "columns are names"),
        ({"columns": "id"}, "columns are names"),
        ({"limit": -1}, "limit of -1"),
        ({"batch_rows": 0}, "batches of 0 rows"),
        ({"nearest": {"q": [1.0]}}, "nearest lacks column"),
        ({"nearest": {"column": "v", "q": [1.0]}, "full_text": "a"}, "two searches"),
    ],
)
def test_what_cannot_be_read_is_refused_when_it_is_asked_for(spark: Any, numbers: Table, chosen: Any, wrong: str):
    with pytest.raises(InvalidInput, match=wrong):
        reading.read(spark, numbers, **chosen)


def test_a_missing_table_is_told(spark: Any, lake: Any):
    with pytest.raises(TableNotFound):
        reading.read(spark, Table.within(lake, "ml$nope"))


def test_fragments_are_shared_out_in_order_and_evenly():
    assert scans.shared_out([(0, 10), (1, 10), (2, 10), (3, 10)], 2) == [(0, 1), (2, 3)]
    assert scans.shared_out([(0, 100), (1, 1), (2, 1)], 2) == [(0,), (1, 2)]
    assert scans.shared_out([(5, 1)], 4) == [(5,)]
    assert scans.shared_out([], 4) == []


def test_a_count_runs_no_job(spark: Any, numbers: Table):
    tracker = spark.sparkContext.statusTracker()
    before = len(tracker.getJobIdsForGroup(None))
    assert reading.count(numbers) == 100
    assert reading.count(numbers, filter="id < 10", spark=spark) == 10
    assert reading.count(numbers, version=1) == 100
    assert reading.aggregate(spark, numbers, {"n": "count(*)"}).to_pylist() == [{"n": 100}]
    assert len(tracker.getJobIdsForGroup(None)) == before


def test_tasks_count_what_a_filter_finds_in_a_large_table(spark: Any, numbers: Table, monkeypatch):
    monkeypatch.setattr(reading, "COUNTED_HERE", 10)
    assert reading.count(numbers, filter="id % 3 = 0", spark=spark) == 34


ALL = {
    "n": "count(*)",
    "c": "count(x)",
    "s": "sum(x)",
    "t": "sum(id)",
    "lo": "min(x)",
    "hi": "max(id + 1)",
    "a": "avg(x)",
    "w": "max(k)",
}


@pytest.mark.parametrize(("by", "filter"), [([], None), (["k"], None), ([], "id > 1000"), (["k"], "id > 1000")])
def test_aggregates_are_those_of_spark(spark: Any, numbers: Table, by: list[str], filter: str | None):
    from pyspark.sql import functions as f

    ours = reading.aggregate(spark, numbers, ALL, by=by, filter=filter)
    df = reading.read(spark, numbers, filter=filter)
    theirs = df.groupBy(*by).agg(*(f.expr(expression).alias(name) for name, expression in ALL.items()))
    assert ours.column_names == theirs.columns

    def ordered(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(found, key=lambda row: str(row.get("k")))

    assert ordered(ours.to_pylist()) == ordered([row.asDict() for row in theirs.collect()])


def test_nan_zeros_and_nulls_are_aggregated_as_spark_does(spark: Any, lake: Any):
    nan = float("nan")
    data = pa.table({"k": [0.0, -0.0, nan, nan, 1.0, 2.0], "x": [1.0, nan, nan, nan, None, 3.0]})
    lake.write("ml$nan", data, mode="create", max_rows_per_file=2)
    table = Table.within(lake, "ml$nan")
    measures = {"n": "count(*)", "lo": "min(x)", "hi": "max(x)"}
    ours = {str(row["k"]): row for row in reading.aggregate(spark, table, measures, by=["k"]).to_pylist()}
    assert {key: (row["n"], str(row["lo"]), str(row["hi"])) for key, row in ours.items()} == {
        "0.0": (2, "1.0", "nan"),
        "nan": (2, "nan", "nan"),
        "1.0": (1, "None", "None"),
        "2.0": (1, "3.0", "3.0"),
    }


def test_sums_are_exact_or_refused(spark: Any, lake: Any):
    big = 2**62
    data = pa.table(
        {
            "i": [big, big, -big, -big, 5],
            "j": [big, big, 1, 1, 1],
            "d": pa.array([Decimal("0.1"), Decimal("0.2"), None, None, Decimal("99999999.9")], pa.decimal128(9, 1)),
        }
    )
    lake.write("ml$big", data, mode="create", max_rows_per_file=2)
    table = Table.within(lake, "ml$big")
    found = reading.aggregate(spark, table, {"s": "sum(i)", "d": "sum(d)", "a": "avg(d)"})
    assert found.to_pylist() == [{"s": 5, "d": Decimal("100000000.2"), "a": Decimal("33333333.40000")}]
    assert found.schema.field("d").type == pa.decimal128(19, 1)
    with pytest.raises(InvalidInput, match="j2, the sum of j, is too large for int64"):
        reading.aggregate(spark, table, {"j2": "sum(j)"})


@pytest.mark.parametrize(
    ("measures", "wrong"),
    [
        ({}, "nothing to compute"),
        ({"m": "median(x)"}, "not one call of count, sum, min, max, avg"),
        ({"m": "sum(x) + sum(y)"}, "not one call"),
        ({"m": "count(distinct x)"}, "not one call"),
        ({"m": "sum(*)"}, "names no column"),
        ({"k": "sum(x)"}, "k is both a group and an aggregate"),
    ],
)
def test_other_aggregates_are_refused(measures: dict[str, str], wrong: str):
    with pytest.raises(InvalidInput, match=wrong):
        aggregates.parsed(measures, ["k"])


def test_sums_of_words_are_refused(spark: Any, numbers: Table):
    with pytest.raises(InvalidInput, match="k is string, and no number"):
        reading.aggregate(spark, numbers, {"s": "sum(k)"})


def test_a_plan_shows_the_function_and_nothing_of_the_connection(spark: Any, numbers: Table, tmp_path: Any):
    shown = reading.read(spark, numbers)._jdf.queryExecution().toString()
    assert "lance_table" in shown
    assert str(tmp_path) not in shown


def test_work_on_partitions_gives_outcomes_in_their_order(spark: Any):
    df = spark.range(0, 10, 1, 2)
    outcomes = tasks.run_on(df, "sums", lambda batches: sum(sum(batch.column(0).to_pylist()) for batch in batches))
    assert [done.result for done in outcomes] == [10, 35]
