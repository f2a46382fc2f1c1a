"""Maintenance: fewer fragments, whole indexes, no versions too old, and the same rows as before."""

import threading
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from lance_ns.errors import InvalidInput
from lance_ns_spark import commits
from lance_ns_spark.facts import look
from lance_ns_spark.indexes import IndexSpec
from lance_ns_spark.jobs import maintain as module
from lance_ns_spark.jobs.maintain import Policy, maintain
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import write_fragments


def rows(start: int, count: int = 100) -> pa.Table:
    return pa.table({"id": pa.array(range(start, start + count), pa.int64()), "word": ["a b c"] * count})


def table_of(lake, name: str = "t", fragments: int = 6) -> Table:
    for number in range(fragments):
        lake.write(f"ml${name}", rows(number * 100), mode="append" if number else "create")
    return Table.within(lake, f"ml${name}")


def ids(table: Table) -> list[int]:
    return sorted(table.dataset().to_table(columns=["id"])["id"].to_pylist())


def data_of(table: Table) -> Path:
    return Path(table.place().location.removeprefix("file://")) / "data"


def files(directory: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in directory.rglob("*") if path.is_file()}


POLICY = Policy(indexes=[IndexSpec("id", "BTREE"), IndexSpec("word", "INVERTED")])


def test_small_fragments_are_joined_and_indexed_and_the_second_run_has_nothing_to_do(spark, lake):
    table = table_of(lake)
    table.dataset().delete("id % 10 = 3")
    kept = ids(table)
    seen = []
    result = maintain(spark, [table], POLICY, job="night", progress=seen.append)
    (output,) = result.outputs
    assert output.error is None
    before, after = output.details["before"], output.details["after"]
    assert (before["fragments"], before["small_fragments"], before["deleted_rows"]) == (6, 6, 60)
    assert (after["fragments"], after["rows"], after["deleted_rows"]) == (1, 540, 0)
    assert after["coverage"] == {"id_idx": 1.0, "word_idx": 1.0}
    assert output.details["compaction"] == {"tasks": 1, "fragments": 6, "fragments_removed": 6, "fragments_added": 1}
    assert ids(table) == kept
    assert output.version == table.dataset().version
    assert {each.job for each in seen} == {"maintain", "compact", "index"}
    assert result.summary["fragments rewritten"] == 6
    again = maintain(spark, [table], POLICY, job="night").outputs[0]
    assert (again.version, again.details["compaction"]["tasks"]) == (None, 0)
    assert [each["rows"] for each in again.details["indexes"]] == [0, 0]


def test_a_dry_run_says_what_the_run_then_does_and_changes_nothing(spark, lake, tmp_path):
    table = table_of(lake)
    table.dataset().create_scalar_index("id", "ZONEMAP", name="zones")
    lake.write("ml$t", rows(600), mode="append")
    lake.write("ml$t", rows(700), mode="append")
    policy = Policy(indexes=[IndexSpec("id", "BTREE")], keep_versions=timedelta(days=8))
    was = files(tmp_path)
    dry = maintain(spark, [table], policy, dry_run=True)
    assert files(tmp_path) == was
    assert dry.dry_run
    assert dry.outputs[0].version is None
    done = maintain(spark, [table], policy).outputs[0].details
    told = dry.outputs[0].details
    assert told["indexes"] == done["indexes"]
    assert [(each["index"], each["rows"]) for each in told["indexes"]] == [("id_idx", 800), ("zones", 800)]
    assert told["compaction"].items() <= done["compaction"].items()
    assert told["compaction"] == {"tasks": 2, "fragments": 8}
    assert told["clean_up"] == done["clean_up"] == {"versions": 0, "files": 0, "bytes": 0}


def test_a_job_that_wrote_the_table_is_still_recognised_after_its_maintenance(spark, lake):
    table = table_of(lake, fragments=3)
    target = commits.prepare(table, rows(0).schema, "append")
    commits.commit(target, [write_fragments(target, rows(300).to_reader())], "ingest-1")
    table.dataset().create_scalar_index("id", "BTREE")
    maintain(spark, [table], POLICY, job="night")
    assert look(table).fragments == 1
    assert commits.find(table, "ingest-1") == 4
    assert commits.find(table, "another") is None


def test_rows_that_are_appended_and_deleted_while_fragments_are_joined_are_right(spark, lake, monkeypatch):
    table = table_of(lake)
    real = module.tasks.run
    runs = []

    def run(spark, what, *args, **options):
        made = real(spark, what, *args, **options)
        if what.startswith("compact") and not runs:
            lake.write("ml$t", rows(9000, 50), mode="append")
            table.dataset().delete("id < 10")  # these fragments cannot be replaced any more
        runs.append(what)
        return made

    monkeypatch.setattr(module.tasks, "run", run)
    output = maintain(spark, [table], Policy()).outputs[0]
    assert output.error is None
    assert runs == ["compact dir:ml$t"] * 2
    assert ids(table) == [*range(10, 600), *range(9000, 9050)]
    assert look(table).fragments == 1
    assert len(files(data_of(table))) == 8, "a file that the first attempt wrote is left"


def test_a_writer_that_appends_all_the_time_is_not_disturbed(spark, lake):
    table = table_of(lake)
    stop, written = threading.Event(), []

    def write() -> None:
        while not stop.is_set() and len(written) < 40:
            lake.write("ml$t", rows(10_000 + 10 * len(written), 10), mode="append")
            written.append(True)

    writer = threading.Thread(target=write)
    writer.start()
    outputs = [maintain(spark, [table], POLICY).outputs[0] for _ in range(2)]
    stop.set()
    writer.join()
    assert [each.error for each in outputs] == [None, None]
    assert ids(table) == [*range(600), *range(10_000, 10_000 + 10 * len(written))]


def test_old_versions_go_but_tagged_ones_and_those_of_the_retry_window_stay(spark, lake, monkeypatch):
    with pytest.raises(InvalidInput, match="run again within 7 days"):
        Policy(keep_versions=timedelta(days=6))
    table = table_of(lake)
    table.dataset().tags.create("first", 2)
    output = maintain(spark, [table], Policy(keep_versions=timedelta(days=7))).outputs[0]
    assert output.details["clean_up"] == {"versions": 0, "files": 0, "bytes": 0}
    monkeypatch.setattr(commits, "RETRY_WINDOW", timedelta(0))
    told = maintain(spark, [table], Policy(keep_versions=timedelta(0)), dry_run=True).outputs[0].details["clean_up"]
    output = maintain(spark, [table], Policy(keep_versions=timedelta(0))).outputs[0]
    assert output.details["clean_up"] == told
    assert told["versions"] == 6
    assert [each["version"] for each in table.dataset().versions()] == [2, 8]
    assert ids(table) == list(range(600))
    assert table.dataset("first").count_rows() == 200


def test_segments_are_merged_when_there_are_many_and_then_their_fragments_can_be_joined(spark, lake):
    table = table_of(lake, fragments=1)
    policy = Policy(indexes=[IndexSpec("id", "BTREE")], most_segments=2)
    maintain(spark, [table], policy)
    for night in (1, 2):
        lake.write("ml$t", rows(100 * night), mode="append")
        output = maintain(spark, [table], policy).outputs[0]
    assert output.details["indexes"][0]["merged"]
    assert [each.segments for each in look(table).indexes] == [1]
    assert look(table).fragments == 3
    maintain(spark, [table], policy)
    assert look(table).fragments == 1
    assert table.dataset().to_table(filter="id = 250").num_rows == 1


def test_fragments_that_are_large_enough_are_left_alone(spark, lake):
    table = table_of(lake, fragments=4)
    output = maintain(spark, [table], Policy(small_below=50)).outputs[0]
    assert (output.version, look(table).fragments) == (None, 4)
    output = maintain(spark, [table], Policy(target_rows=200)).outputs[0]
    assert look(table).fragments == 2


def test_a_policy_that_makes_no_sense_is_refused():
    with pytest.raises(InvalidInput, match=r"target_rows is 0 .*give 1 or more"):
        Policy(target_rows=0)


def test_a_table_that_fails_does_not_stop_the_others(spark, lake):
    good, broken = table_of(lake, "good", 2), table_of(lake, "broken", 2)
    lake.declare_table("ml$empty")
    next(data_of(broken).iterdir()).unlink()
    tables = [broken, Table.within(lake, "ml$empty"), Table.within(lake, "ml$nothing"), good]
    policy = Policy(indexes=[IndexSpec("word", "BITMAP")])
    result = maintain(spark, tables, policy)
    assert [each.name for each in result.failed] == ["dir:ml$broken", "dir:ml$nothing"]
    assert "1 files are missing" in result.outputs[0].error
    assert look(good).fragments == 1
    assert result.summary["failed"] == 2
    lacking = maintain(spark, [good], Policy(indexes=[IndexSpec("nope", "BTREE")])).outputs[0]
    assert "there is no column 'nope'" in lacking.error
