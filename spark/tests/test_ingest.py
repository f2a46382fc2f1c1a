"""Ingest: files, tables and whatever Spark reads become one version of a Lance table."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_ns.errors import (
    Internal,
    InvalidInput,
    TableAlreadyExists,
    TableColumnNotFound,
    TableSchemaValidationError,
)
from lance_ns_spark import arrow_files, commits
from lance_ns_spark.indexes import IndexSpec
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table


@pytest.fixture
def docs(lake) -> Table:
    return Table.within(lake, "ml$docs")


@pytest.fixture
def raw(tmp_path) -> Path:
    """Three files of Parquet with the rows 0 to 11."""
    directory = tmp_path / "raw"
    directory.mkdir()
    for number in range(3):
        ids = range(4 * number, 4 * number + 4)
        rows = {"id": ids, "text": [f"text {id}" for id in ids], "v": [[float(id), 1.0] for id in ids]}
        pq.write_table(pa.table(rows), directory / f"{number}.parquet")
    return directory


@pytest.fixture
def small_splits(monkeypatch):
    """A split for each file: the files are far smaller than what a task is worth."""
    monkeypatch.setattr(arrow_files, "SMALLEST_SPLIT", 1)
    monkeypatch.setattr(arrow_files, "LARGEST_SPLIT", 200)


def ids(table: Table) -> list[int]:
    return sorted(table.dataset().to_table(columns=["id"])["id"].to_pylist())


def data_files(table: Table) -> list[str]:
    return sorted(file.name for file in (Path(table.place().location.removeprefix("file://")) / "data").iterdir())


def test_parquet_becomes_a_table_in_one_version(spark, docs, raw, small_splits):
    told = []
    result = ingest(spark, Source.parquet(f"{raw}/*.parquet"), docs, job="nightly-1", progress=told.append)
    dataset = docs.dataset()
    assert ids(docs) == list(range(12))
    assert (dataset.version, len(dataset.get_fragments())) == (1, 3)
    assert dataset.read_transaction(1).transaction_properties[commits.JOB] == "nightly-1"
    (output,) = result.outputs
    assert (output.version, output.rows, output.fragments, output.again) == (1, 12, 3, False)
    assert result.inputs[0].rows == 12
    assert (told[-1].done, told[-1].of, told[-1].rows) == (3, 3, 12)
    assert json.loads(result.as_json())["outputs"][0]["version"] == 1


def test_rows_of_a_parquet_source_never_pass_through_the_jvm(spark, docs, raw, monkeypatch):
    monkeypatch.setattr("lance_ns_spark.frames.write", None)
    assert ingest(spark, Source.parquet(str(raw), columns=["id"]), docs).outputs[0].rows == 12
    assert docs.dataset().schema.names == ["id"]


def test_append_adds_overwrite_replaces_and_create_refuses(spark, docs, raw):
    one = Source.parquet(f"{raw}/0.parquet")
    ingest(spark, one, docs, mode="create")
    ingest(spark, one, docs, mode="append")
    assert ids(docs) == sorted([0, 1, 2, 3] * 2)
    with pytest.raises(TableAlreadyExists):
        ingest(spark, one, docs, mode="create")
    result = ingest(spark, Source.parquet(f"{raw}/1.parquet"), docs, mode="overwrite")
    assert ids(docs) == [4, 5, 6, 7]
    assert (result.outputs[0].read_version, result.outputs[0].version) == (2, 3)


def test_a_job_that_is_run_again_does_nothing_and_says_so(spark, docs, raw):
    first = ingest(spark, Source.parquet(str(raw)), docs, job="j")
    files = data_files(docs)
    again = ingest(spark, Source.parquet(str(raw)), docs, job="j")
    assert (again.outputs[0].again, again.outputs[0].version) == (True, first.outputs[0].version)
    assert again.outputs[0].rows == 12
    assert (docs.dataset().version, data_files(docs)) == (1, files)


def test_lists_become_vectors_of_a_checked_length(spark, docs, raw, tmp_path):
    ingest(spark, Source.parquet(str(raw)), docs, vectors={"v": 2})
    assert docs.dataset().schema.field("v").type == pa.list_(pa.float64(), 2)
    pq.write_table(pa.table({"id": [1], "v": [[1.0, 2.0, 3.0]]}), tmp_path / "ragged.parquet")
    with pytest.raises(TableSchemaValidationError, match="column v has a vector of length 3"):
        ingest(spark, Source.parquet(str(tmp_path / "ragged.parquet")), docs)
    with pytest.raises(TableSchemaValidationError, match="2 values, not 3"):
        ingest(spark, Source.parquet(str(raw)), docs, vectors={"v": 3})
    with pytest.raises(TableColumnNotFound, match="'w'"):
        ingest(spark, Source.parquet(str(raw)), docs, mode="overwrite", vectors={"w": 3})
    assert docs.dataset().version == 1


def test_columns_are_added_only_when_asked(spark, docs, raw, tmp_path):
    ingest(spark, Source.parquet(str(raw), columns=["id"]), docs)
    pq.write_table(pa.table({"id": pa.array([12], pa.int32()), "lang": ["de"]}), tmp_path / "more.parquet")
    more = Source.parquet(str(tmp_path / "more.parquet"))
    with pytest.raises(TableSchemaValidationError, match="'lang'"):
        ingest(spark, more, docs)
    assert docs.dataset().schema.names == ["id"]
    ingest(spark, more, docs, evolve=True)
    assert docs.dataset().to_table(filter="id >= 11").to_pylist() == [
        {"id": 11, "lang": None},
        {"id": 12, "lang": "de"},
    ]


def test_a_lance_table_is_read_at_a_version_with_columns_and_a_filter(spark, docs, lake, raw):
    ingest(spark, Source.parquet(str(raw)), docs)
    docs.dataset().delete("id = 3")
    copy = Table.within(lake, "ml$copy")
    result = ingest(spark, Source.lance(docs, version=1, columns=["id"], filter="id < 5"), copy)
    assert ids(copy) == [0, 1, 2, 3, 4]
    assert result.inputs[0].version == 1
    properties = copy.dataset().read_transaction(1).transaction_properties
    assert (properties["lance_ns.source"], properties["lance_ns.source_version"]) == ("dir:ml$docs", "1")


def test_a_failed_job_leaves_the_old_version_and_none_of_its_files(spark, docs, raw, small_splits):
    ingest(spark, Source.parquet(f"{raw}/0.parquet"), docs, vectors={"v": 2})
    before = data_files(docs)
    ragged = {"id": [1], "text": ["x"], "v": [[1.0]]}
    pq.write_table(pa.table(ragged), raw / "9.parquet")
    for job in (None, "given"):
        with pytest.raises(TableSchemaValidationError):
            ingest(spark, Source.parquet(str(raw)), docs, job=job, state=raw.parent / "state")
    assert docs.dataset().version == 1
    assert data_files(docs) == before
    assert list((raw.parent / "state").iterdir()) == []


def test_a_failed_job_takes_its_declaration_back(spark, docs, raw):
    pq.write_table(pa.table({"id": [1], "text": ["x"], "v": [[1.0]]}), raw / "9.parquet")
    with pytest.raises(TableSchemaValidationError):
        ingest(spark, Source.parquet(str(raw)), docs, vectors={"v": 2})
    assert not docs.ns.table_exists("ml$docs")


def test_a_job_that_broke_off_does_only_what_is_missing(spark, docs, raw, small_splits, tmp_path):
    good = (raw / "2.parquet").read_bytes()
    stat = (raw / "2.parquet").stat()

    def damaged(content: bytes) -> None:
        """The same size and time, so that only its reader notices."""
        (raw / "2.parquet").write_bytes(content)
        os.utime(raw / "2.parquet", ns=(stat.st_atime_ns, stat.st_mtime_ns))

    footer = int.from_bytes(good[-8:-4], "little") + 8
    damaged(b"PAR1" + b"\xff" * (len(good) - footer - 4) + good[-footer:])
    told = []
    with pytest.raises(Internal, match=r"2\.parquet"):
        ingest(spark, Source.parquet(str(raw)), docs, job="j", state=tmp_path / "state")
    kept = data_files(docs)
    assert len(kept) == 2
    damaged(good)
    result = ingest(spark, Source.parquet(str(raw)), docs, job="j", state=tmp_path / "state", progress=told.append)
    assert told[2].done == 2
    assert ids(docs) == list(range(12))
    assert set(kept) < set(data_files(docs))
    assert (result.outputs[0].rows, len(data_files(docs)), docs.dataset().version) == (12, 3, 1)
    assert list((tmp_path / "state").iterdir()) == []


def test_files_in_directories_that_hold_columns_are_read_with_those_columns(spark, docs, tmp_path):
    for year in (2025, 2026):
        (tmp_path / "raw" / f"year={year}").mkdir(parents=True)
        pq.write_table(pa.table({"id": [year]}), tmp_path / "raw" / f"year={year}" / "a.parquet")
    ingest(spark, Source.parquet(str(tmp_path / "raw")), docs)
    assert docs.dataset().to_table(filter="year = 2026").to_pylist() == [{"id": 2026, "year": 2026}]


def test_csv_goes_through_sql_into_the_table(spark, docs, tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,one\n2,two\n3,three\n")
    source = Source(
        format="csv", path=str(tmp_path / "a.csv"), options={"header": "true"}, schema="id int, text string"
    )
    sql = "select id, upper(text) as text, array(float(id), float(0)) as v from source where id <> 2"
    result = ingest(spark, source, docs, sql=sql, vectors={"v": 2}, job="csv-1")
    assert docs.dataset().to_table(columns=["id", "text"]).to_pylist() == [
        {"id": 1, "text": "ONE"},
        {"id": 3, "text": "THREE"},
    ]
    assert docs.dataset().schema.field("v").type == pa.list_(pa.float32(), 2)
    assert result.outputs[0].rows == 2
    assert "source" not in [table.name for table in spark.catalog.listTables()]
    again = ingest(spark, source, docs, sql=sql, vectors={"v": 2}, job="csv-1")
    assert (again.outputs[0].again, docs.dataset().version) == (True, 1)


def test_a_view_of_the_session_and_a_lance_table_go_through_sql(spark, docs, lake):
    spark.createDataFrame([(1, "a"), (2, "b")], "id int, text string").createOrReplaceTempView("source")
    try:
        ingest(spark, Source(format="table", table="source"), docs, sql="select * from source where id = 2")
    finally:
        spark.catalog.dropTempView("source")
    assert ids(docs) == [2]
    copy = Table.within(lake, "ml$copy")
    ingest(spark, Source.lance(docs), copy, sql="select id + 1 as id from source")
    assert ids(copy) == [3]


def test_indexes_are_built_afterwards(spark, docs, raw):
    specs = [IndexSpec("id", "BTREE"), IndexSpec("nothing", "BTREE")]
    result = ingest(spark, Source.parquet(str(raw)), docs, indexes=specs)
    assert [index.name for index in docs.dataset().describe_indices()] == ["id_idx"]
    (failed,) = result.failed
    assert "nothing" in failed.name
    assert "there is no column 'nothing'" in (failed.error or "")


def test_a_source_shows_no_option_and_says_what_it_lacks():
    source = Source(format="jdbc", options={"password": "hush"}, storage={"secret_access_key": "hush"})
    assert "hush" not in repr(source)
    for wrong in (
        {"format": "lance"},
        {"format": "table"},
        {"format": "parquet"},
        {"format": "csv", "path": "x", "filter": "id = 1"},
    ):
        with pytest.raises(InvalidInput):
            Source(**wrong)


def test_a_job_id_that_cannot_be_one_is_refused(spark, docs, raw):
    with pytest.raises(InvalidInput, match="is not a job id"):
        ingest(spark, Source.parquet(str(raw)), docs, job="no spaces")


def test_a_stream_appends_what_is_new_since_the_job_ran_last(spark, docs, tmp_path):
    (tmp_path / "in").mkdir()
    source = Source(format="json", path=str(tmp_path / "in"), stream=True)
    for number, rows in ((1, 2), (2, 1)):
        lines = "".join(json.dumps({"id": 10 * number + row}) + "\n" for row in range(rows))
        (tmp_path / "in" / f"{number}.json").write_text(lines)
        result = ingest(
            spark, source, docs, sql="select id from source where id > 0", job="tail", state=tmp_path / "state"
        )
        assert result.outputs[0].rows == rows
    assert ids(docs) == [10, 11, 20]
    nothing = ingest(spark, source, docs, job="tail", state=tmp_path / "state")
    assert (nothing.outputs[0].rows, nothing.outputs[0].version) == (0, None)
    # With a new checkpoint the stream begins anew, and its batches are other jobs.
    ingest(spark, source, docs, job="tail", state=tmp_path / "other")
    assert ids(docs) == [10, 10, 11, 11, 20, 20]


def test_a_stream_needs_a_job_to_know_where_it_was(spark, docs, tmp_path):
    with pytest.raises(InvalidInput, match="where the same job left it"):
        ingest(spark, Source(format="json", path=str(tmp_path), stream=True), docs)


def test_a_stream_that_does_not_fit_fails_with_the_reason(spark, docs, tmp_path):
    docs.ns.write("ml$docs", pa.table({"id": [1]}))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"id": 2, "extra": "x"}\n')
    source = Source(format="json", path=str(tmp_path / "in"), stream=True)
    with pytest.raises(TableSchemaValidationError, match="'extra'"):
        ingest(spark, source, docs, job="tail", state=tmp_path / "state")
    assert docs.dataset().version == 1
