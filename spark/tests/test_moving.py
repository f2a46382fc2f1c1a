"""What becomes of files when answers are lost, tasks run twice, and runs of a job take over from each other."""

from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_ns.errors import LanceNsError, ServiceUnavailable
from lance_ns_spark import commits, tasks
from lance_ns_spark.arrow_files import ParquetFiles
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.moving import _Work
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions


@pytest.fixture
def docs(lake) -> Table:
    lake.write("ml$docs", pa.table({"id": [0]}))
    return Table.within(lake, "ml$docs")


@pytest.fixture
def source(tmp_path) -> Source:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "a.parquet")
    return Source.parquet(str(tmp_path / "a.parquet"))


@pytest.fixture
def here(monkeypatch):
    """Tasks run in this process, in their turn, and need no Spark."""

    class Session:
        class sparkContext:  # noqa: N801
            defaultParallelism = 2  # noqa: N815

    monkeypatch.setattr(tasks, "run", lambda spark, what, work, items, arrived: [work(item) for item in items])
    return Session


def ids(table: Table) -> list[int]:
    return sorted(table.dataset().to_table()["id"].to_pylist())


def data_files(table: Table) -> set[str]:
    return {file.name for file in (Path(table.place().location.removeprefix("file://")) / "data").iterdir()}


def losing_the_answer(real):
    def commit(*arguments, **options):
        real(*arguments, **options)
        raise OSError("connection reset by peer")

    return staticmethod(commit)


def test_a_commit_whose_answer_is_lost_counts(here, docs, source, monkeypatch):
    monkeypatch.setattr(lance.LanceDataset, "commit", losing_the_answer(lance.LanceDataset.commit))
    result = ingest(here, source, docs)
    assert (result.outputs[0].version, result.outputs[0].again) == (2, False)
    assert ids(docs) == [0, 1, 2]


def test_while_it_cannot_be_known_whether_a_commit_landed_nothing_is_deleted(here, docs, source, monkeypatch):
    real, existing = lance.LanceDataset.commit, Table.existing

    def commit(*arguments, **options):
        def unreachable(self):
            raise ServiceUnavailable("the storage does not answer")

        monkeypatch.setattr(Table, "existing", unreachable)
        real(*arguments, **options)
        raise OSError("connection reset by peer")

    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(commit))
    with pytest.raises(LanceNsError, match="connection reset"):
        ingest(here, source, docs)
    monkeypatch.setattr(Table, "existing", existing)
    assert ids(docs) == [0, 1, 2]


def test_a_commit_that_fails_leaves_none_of_the_jobs_files(here, docs, source, monkeypatch, tmp_path):
    before = data_files(docs)

    def refused(*arguments, **options):
        raise OSError("Permission denied (os error 13)")

    monkeypatch.setattr(lance.LanceDataset, "commit", staticmethod(refused))
    with pytest.raises(LanceNsError, match="Permission denied"):
        ingest(here, source, docs, job="j", state=tmp_path / "state")
    assert data_files(docs) == before
    assert ids(docs) == [0]


def test_what_another_run_committed_is_not_deleted_by_one_that_took_it_over(docs, source):
    files = ParquetFiles.found(source.path)
    target = commits.prepare(docs, files.schema, "append")
    written = _Work(files, target, FileOptions(), False)(files.splits(1)[0]).written
    assert not commits.commit(target, [written], "j").again
    assert commits.commit(target, [written], "j").again
    assert ids(docs) == [0, 1, 2]
    commits.give_up(target, [written])
    assert ids(docs) == [0, 1, 2]


def test_of_a_task_that_spark_ran_twice_one_result_stays(here, docs, source, monkeypatch):
    before = data_files(docs)

    def twice(spark, what, work, items, arrived):
        first, second = work(items[0]), work(items[0])
        assert len(data_files(docs) - before) == 2
        arrived(0, first)
        arrived(0, second)
        return [second]

    monkeypatch.setattr(tasks, "run", twice)
    ingest(here, source, docs)
    assert ids(docs) == [0, 1, 2]
    assert len(data_files(docs) - before) == 1
