"""Commits on the driver: once, by a job id, and never over somebody else's work."""

import threading
from pathlib import Path

import pyarrow as pa
import pytest

import lance_ns
from lance_ns_spark import commits, writing
from lance_ns_spark.commits import Target, Written
from lance_ns_spark.tables import Table

SCHEMA = pa.schema([("id", pa.int64())])


def rows(*values: int) -> pa.RecordBatchReader:
    return pa.table({"id": pa.array(values, pa.int64())}).to_reader()


@pytest.fixture
def table(lake: lance_ns.Namespace) -> Table:
    return Table.within(lake, "ml$docs")


def written(table: Table, *values: int, mode: commits.WriteMode = "append") -> tuple[Target, list[Written]]:
    target = commits.prepare(table, SCHEMA, mode)
    return target, [writing.write_fragments(target, rows(*values))]


def ids(table: Table) -> list[int]:
    return sorted(table.dataset().to_table()["id"].to_pylist())


def data_files(table: Table) -> set[str]:
    return {path.name for path in Path(table.place().location.removeprefix("file://"), "data").glob("*")}


def test_what_tasks_wrote_is_seen_only_after_the_commit_which_makes_one_version(table: Table):
    target = commits.prepare(table, SCHEMA, "append")
    parts = [writing.write_fragments(target, rows(1, 2)), writing.write_fragments(target, rows(3))]
    assert table.existing() is None

    assert commits.commit(target, parts, "job-1") == commits.Committed(1, again=False)
    assert ids(table) == [1, 2, 3]
    assert [version["version"] for version in table.dataset().versions()] == [1]


def test_a_job_that_is_run_again_after_its_commit_adds_nothing_and_leaves_no_files(table: Table):
    commits.commit(*written(table, 1, 2), "job-1")
    before = data_files(table)

    again = commits.commit(*written(table, 1, 2), "job-1")

    assert again == commits.Committed(1, again=True)
    assert ids(table) == [1, 2]
    assert data_files(table) == before


def test_an_earlier_run_is_found_behind_the_versions_of_others(table: Table):
    commits.commit(*written(table, 1), "job-1")
    for number in range(40):
        commits.commit(*written(table, 100 + number), f"other-{number}")

    assert commits.find(table, "job-1") == 1
    assert commits.find(table, "job-2") is None


def test_a_job_is_looked_for_no_further_back_than_versions_are_kept(table: Table):
    for number in range(5):
        commits.commit(*written(table, number), f"job-{number}")
    from datetime import timedelta

    table.dataset().cleanup_old_versions(older_than=timedelta(0))

    assert commits.find(table, "job-4") == 5
    assert commits.find(table, "job-0") is None


def test_jobs_that_append_at_once_both_land(table: Table):
    commits.commit(*written(table, 0), "first")
    prepared = [(written(table, number), f"job-{number}") for number in (1, 2, 3)]

    versions = [commits.commit(*each, job).version for each, job in prepared]

    assert versions == [2, 3, 4]
    assert ids(table) == [0, 1, 2, 3]


def test_of_two_jobs_that_create_a_table_the_second_is_told_so_and_the_first_keeps_its_rows(table: Table):
    first, second = written(table, 1), written(table, 2)
    commits.commit(*first, "first")

    with pytest.raises(lance_ns.ConcurrentModification, match="run the job again"):
        commits.commit(*second, "second")
    assert ids(table) == [1]


def test_an_overwrite_does_not_take_away_what_was_appended_while_it_ran(table: Table):
    commits.commit(*written(table, 1), "first")
    replacing = written(table, 9, mode="overwrite")
    commits.commit(*written(table, 2), "meanwhile")

    with pytest.raises(lance_ns.ConcurrentModification, match="changed while the job ran"):
        commits.commit(*replacing, "replace")
    assert ids(table) == [1, 2]


def test_an_overwrite_replaces_the_rows_and_the_schema(table: Table):
    commits.commit(*written(table, 1), "first")
    schema = pa.schema([("name", pa.string())])
    target = commits.prepare(table, schema, "overwrite")
    part = writing.write_fragments(target, pa.table({"name": ["a"]}, schema=schema).to_reader())

    assert commits.commit(target, [part], "replace").version == 2
    assert table.dataset().to_table().to_pydict() == {"name": ["a"]}


def test_the_same_job_run_twice_at_once_leaves_its_rows_once(table: Table):
    commits.commit(*written(table, 0), "first")
    runs = [written(table, 1, 2), written(table, 1, 2)]
    begin = threading.Barrier(2)
    outcomes: list[commits.Committed] = []

    def run(target: Target, parts: list[Written]) -> None:
        begin.wait()
        outcomes.append(commits.commit(target, parts, "twice"))

    threads = [threading.Thread(target=run, args=each) for each in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert ids(table) == [0, 1, 2]
    assert len({outcome.version for outcome in outcomes}) == 1
    assert sorted(outcome.again for outcome in outcomes) == [False, True]


def test_a_second_commit_of_a_job_that_slipped_in_takes_only_its_own_rows_back(table: Table, monkeypatch):
    commits.commit(*written(table, 0), "first")
    mine = written(table, 1, 2)
    theirs = written(table, 1, 2)
    commits.commit(*written(table, 7), "somebody else")
    looked = iter([None])  # the first look happens before the other run commits
    real = commits.find

    def find(*arguments, **options):
        if next(looked, "done") is None:
            monkeypatch.setattr(commits, "find", real)
            commits.commit(*theirs, "twice")
            return None
        return real(*arguments, **options)

    monkeypatch.setattr(commits, "find", find)
    outcome = commits.commit(*mine, "twice")

    assert outcome == commits.Committed(3, again=True)
    assert ids(table) == [0, 1, 2, 7]


def test_giving_up_deletes_the_files_and_takes_back_a_table_that_was_declared_for_the_job(table: Table):
    target, parts = written(table, 1)
    place = Path(target.place.location.removeprefix("file://"))
    assert list((place / "data").glob("*"))

    commits.give_up(target, parts)

    assert not list((place / "data").glob("*"))
    assert not table.ns.table_exists(table.id)


def test_giving_up_leaves_the_version_and_the_files_that_were_there(table: Table):
    commits.commit(*written(table, 1), "first")
    before = data_files(table)
    target, parts = written(table, 2)

    commits.give_up(target, parts)

    assert ids(table) == [1]
    assert data_files(table) == before


def test_a_table_that_somebody_else_declared_stays_declared_when_a_job_gives_up(table: Table):
    table.ns.declare_table(table.id)
    target, parts = written(table, 1)

    commits.give_up(target, parts)

    assert table.ns.table_exists(table.id)


def test_creating_a_table_that_has_data_is_refused(table: Table):
    commits.commit(*written(table, 1), "first")
    with pytest.raises(lance_ns.TableAlreadyExists, match="append"):
        commits.prepare(table, SCHEMA, "create")


def test_a_mode_that_does_not_exist_is_refused(table: Table):
    with pytest.raises(lance_ns.InvalidInput, match="upsert"):
        commits.prepare(table, SCHEMA, "upsert")  # type: ignore[arg-type]
