"""Jobs that meet on one table: each that says it is done has its rows there, once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_ns.errors import ConcurrentModification, LanceNsError, TableAlreadyExists
from lance_ns_spark import commits
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.results import Result
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table


@pytest.fixture
def docs(lake) -> Table:
    return Table.within(lake, "ml$docs")


@pytest.fixture
def job(spark, docs, tmp_path) -> Callable[..., Callable[[], Result]]:
    """A job that writes some ids."""

    def job(*ids: int, **options: Any) -> Callable[[], Result]:
        path = tmp_path / f"{'-'.join(map(str, ids))}.parquet"
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64())}), path)
        return lambda: ingest(spark, Source.parquet(str(path)), docs, state=tmp_path / "state", **options)

    return job


def ids(table: Table) -> list[int]:
    return sorted(table.dataset().to_table()["id"].to_pylist())


@pytest.fixture
def at_once(monkeypatch):
    """Runs jobs so that all have written their files before any commits; then they commit in turn, or all at once."""

    def run(*jobs: Callable[[], Result], in_turn: bool = False) -> list[Result | LanceNsError]:
        ready, real = threading.Barrier(len(jobs)), commits.commit
        number, turn = threading.local(), threading.Condition()
        over: set[int] = set()

        def commit(*arguments: Any, **options: Any) -> Any:
            with suppress(threading.BrokenBarrierError):  # the other failed before it came here
                ready.wait(120)
            if in_turn:
                with turn:
                    turn.wait_for(lambda: len(over) == number.is_, 120)
            return real(*arguments, **options)

        def outcome(numbered: tuple[int, Callable[[], Result]]) -> Result | LanceNsError:
            number.is_, job = numbered
            try:
                return job()
            except LanceNsError as error:
                ready.abort()
                return error
            finally:
                with turn:
                    over.add(numbered[0])
                    turn.notify_all()

        monkeypatch.setattr(commits, "commit", commit)
        try:
            with ThreadPoolExecutor(len(jobs)) as pool:
                return list(pool.map(outcome, enumerate(jobs)))
        finally:
            monkeypatch.setattr(commits, "commit", real)

    return run


def test_two_appends_both_land(docs, job, at_once):
    job(0)()
    for outcome in at_once(job(1, 2), job(3, 4)):
        assert isinstance(outcome, Result)
    assert ids(docs) == [0, 1, 2, 3, 4]
    assert docs.dataset().version == 3


def test_of_two_creates_one_wins_and_the_other_is_told(docs, job, at_once):
    outcomes = at_once(job(1, 2, mode="create"), job(3, 4, mode="create"))
    done = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    failed = [outcome for outcome in outcomes if not isinstance(outcome, Result)]
    assert (len(done), len(failed)) == (1, 1)
    assert isinstance(failed[0], TableAlreadyExists | ConcurrentModification)
    assert ids(docs) in ([1, 2], [3, 4])
    assert docs.dataset().version == 1


def test_two_appends_that_would_create_the_table_lose_nothing(docs, job, at_once):
    jobs = job(1, 2, job="a"), job(3, 4, job="b")
    outcomes = at_once(*jobs)
    for again, outcome in zip(jobs, outcomes, strict=True):
        if isinstance(outcome, ConcurrentModification):
            assert again().outputs[0].rows == 2
    assert ids(docs) == [1, 2, 3, 4]


def test_an_overwrite_does_not_wipe_out_what_came_meanwhile(docs, job, at_once):
    job(0)()
    append, overwrite = at_once(job(1), job(2, mode="overwrite"), in_turn=True)
    assert isinstance(append, Result)
    assert isinstance(overwrite, ConcurrentModification)
    assert ids(docs) == [0, 1]


def test_an_append_that_comes_after_an_overwrite_is_there_or_is_told(docs, job, at_once):
    job(0)()
    overwrite, append = at_once(job(2, mode="overwrite"), job(1), in_turn=True)
    assert isinstance(overwrite, Result)
    if isinstance(append, Result):
        assert ids(docs) == [1, 2]
    else:
        assert isinstance(append, ConcurrentModification)
        assert ids(docs) == [2]


def test_the_same_job_twice_at_once_has_its_rows_once(docs, job, at_once):
    job(0)()
    outcomes = at_once(job(1, 2, job="same"), job(1, 2, job="same"))
    assert ids(docs) == [0, 1, 2]
    results = [outcome for outcome in outcomes if isinstance(outcome, Result)]
    assert sorted(result.outputs[0].again for result in results) == [False, True]


def test_the_same_creating_job_twice_at_once_has_its_rows_once(docs, job, at_once):
    outcomes = at_once(job(1, 2, job="same", mode="create"), job(1, 2, job="same", mode="create"))
    assert ids(docs) == [1, 2]
    assert any(isinstance(outcome, Result) for outcome in outcomes)
    assert all(isinstance(outcome, Result | TableAlreadyExists | ConcurrentModification) for outcome in outcomes)
