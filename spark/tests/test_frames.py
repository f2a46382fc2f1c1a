"""DataFrames written as one version of a table."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_ns
from lance_ns.errors import InvalidInput, LanceNsError, TableAlreadyExists, TableSchemaValidationError
from lance_ns_spark import frames, reading
from lance_ns_spark.progress import Status
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions


@pytest.fixture
def table(lake: lance_ns.Namespace) -> Table:
    return Table.within(lake, "ml$t")


def content(table: Table) -> list[dict[str, Any]]:
    return sorted(table.dataset().to_table().to_pylist(), key=str)


def test_a_dataframe_becomes_one_version_of_a_new_table(spark: Any, table: Table):
    seen: list[Status] = []
    written = frames.write(spark.range(0, 1000, 1, 3), table, progress=seen.append)
    assert (written.version, written.rows, written.fragments, written.read_version) == (1, 1000, 3, 0)
    assert written.bytes > 0
    assert written.name == "dir:ml$t"
    assert table.dataset().count_rows() == 1000
    assert (seen[-1].done, seen[-1].rows) == (3, 1000)


def test_columns_go_by_name_and_missing_ones_are_null(spark: Any, table: Table):
    frames.write(spark.createDataFrame([(1, "a", 1.5)], "id bigint, s string, x double"), table)
    frames.write(spark.sql("select 2.5D x, 2L id"), table)
    assert content(table) == [{"id": 1, "s": "a", "x": 1.5}, {"id": 2, "s": None, "x": 2.5}]


def test_other_columns_are_refused_by_name_and_added_only_when_asked(spark: Any, table: Table):
    frames.write(spark.sql("select 1L id"), table)
    more = spark.sql("select 2L id, 'a' extra")
    with pytest.raises(TableSchemaValidationError, match="no column 'extra'"):
        frames.write(more, table)
    assert table.dataset().version == 1
    frames.write(more, table, evolve=True)
    assert content(table) == [{"id": 1, "extra": None}, {"id": 2, "extra": "a"}]


@pytest.mark.parametrize("name", ["a.b", "a`b", ""])
def test_a_name_that_no_column_of_a_table_can_have_is_refused(spark: Any, table: Table, name: str):
    with pytest.raises(TableSchemaValidationError, match=f"no column '{name}'.*rename it"):
        frames.write(spark.range(1).toDF(name), table)
    assert not table.ns.table_exists(table.id)


@pytest.mark.parametrize(
    ("names", "error"), [(("a", "a"), TableSchemaValidationError), (("a", "A"), LanceNsError)], ids=["alike", "in case"]
)
def test_two_columns_of_one_name_are_refused(spark: Any, table: Table, names: tuple[str, str], error: type):
    with pytest.raises(error, match=r"two columns 'a'|ambiguous"):
        frames.write(spark.sql("select 1L x, 'b' y").toDF(*names), table)
    assert not table.ns.table_exists(table.id)


def test_a_column_that_the_table_needs_must_be_there_and_not_null(spark: Any, lake: Any, table: Table):
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("x", pa.float64())])
    lake.write("ml$t", pa.table({"id": [1], "x": [1.0]}, schema=schema), mode="create")
    with pytest.raises(TableSchemaValidationError, match="id"):
        frames.write(spark.sql("select 1.5D x"), table)
    with pytest.raises(TableSchemaValidationError, match="column id has nulls, and the table allows none"):
        frames.write(spark.sql("select cast(null as bigint) id, 1.5D x"), table)
    assert table.dataset().version == 1


def test_modes_create_append_and_overwrite(spark: Any, table: Table):
    df = spark.range(3)
    frames.write(df, table, mode="create")
    with pytest.raises(TableAlreadyExists):
        frames.write(df, table, mode="create")
    frames.write(df, table)
    assert table.dataset().count_rows() == 6
    frames.write(spark.sql("select 'other' name"), table, mode="overwrite")
    assert content(table) == [{"name": "other"}]
    with pytest.raises(InvalidInput, match="'merge' is not a write mode"):
        frames.write(df, table, mode="merge")  # type: ignore[arg-type]


def test_a_job_that_is_run_again_does_nothing(spark: Any, table: Table):
    first = frames.write(spark.range(5), table, job="job-1")

    def never(batches: Any) -> Any:
        raise AssertionError("the rows must not be computed")

    again = frames.write(spark.range(5).mapInArrow(never, "id bigint"), table, job="job-1")
    assert (first.again, again.again, again.version) == (False, True, first.version)
    assert table.dataset().count_rows() == 5


def test_a_failed_write_leaves_no_version_no_table_and_no_files(spark: Any, lake: Any, table: Table, tmp_path: Path):
    ragged = spark.sql("select id, array_repeat(1f, int(id)) v from range(2, 4, 1, 2)")
    with pytest.raises(TableSchemaValidationError, match="column v has a vector of length 3, and the table's have 2"):
        frames.write(ragged, table, vectors={"v": 2})
    assert table.existing() is None
    assert list(lake.list_tables("ml")) == []
    assert [each for each in tmp_path.rglob("*.lance") if "__manifest" not in str(each)] == []


def test_a_table_can_be_overwritten_with_what_is_read_from_it(spark: Any, table: Table):
    frames.write(spark.range(10), table)
    frames.write(reading.read(spark, table, filter="id < 4"), table, mode="overwrite")
    assert [row["id"] for row in content(table)] == [0, 1, 2, 3]


def test_an_empty_dataframe_makes_an_empty_table(spark: Any, table: Table):
    written = frames.write(spark.sql("select 1L id where false"), table)
    assert (written.rows, table.dataset().count_rows(), table.dataset().schema.names) == (0, 0, ["id"])


def test_files_are_made_as_asked(spark: Any, table: Table):
    written = frames.write(spark.range(0, 100, 1, 1), table, files=FileOptions(rows_per_file=40))
    assert written.fragments == 3


def test_moments_are_written_in_utc_whatever_the_session_s_zone(spark: Any, table: Table):
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frames.write(spark.sql("select timestamp'2024-01-01 09:00:00 Asia/Tokyo' t"), table)
        assert reading.read(spark, table).selectExpr("string(t)").first()[0] == "2024-01-01 09:00:00"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert table.dataset().schema.field("t").type == pa.timestamp("us", "UTC")
    assert str(content(table)[0]["t"]) == "2024-01-01 00:00:00+00:00"
