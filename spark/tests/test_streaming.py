"""Streams of appended rows, and a sink that has every batch once, whatever is run again."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_ns
from lance_ns.errors import InvalidInput, InvalidTableState
from lance_ns_spark import options, streaming
from lance_ns_spark.tables import Table


@pytest.fixture
def stream(spark: Any, tmp_path: Path) -> Any:
    """Runs a stream from `ml$in` to `ml$out` until it has read all that is there."""

    def run(checkpoint: str = "checkpoint", **chosen: str) -> None:
        root = {"backend": "dir", "root": str(tmp_path / "lake")}
        query = (
            spark.readStream.format("lance_ns")
            .options(**root, **chosen)
            .load("ml$in")
            .writeStream.format("lance_ns")
            .options(**root, checkpointLocation=str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start("ml$out")
        )
        query.awaitTermination()

    return run


def add(lake: lance_ns.Namespace, *ids: int, mode: str = "append") -> None:
    lake.write("ml$in", pa.table({"id": ids}), mode=mode)


def out(lake: lance_ns.Namespace) -> list[int]:
    return sorted(lake.dataset("ml$out").to_table().column(0).to_pylist())


def test_a_stream_goes_on_where_it_was_when_it_is_started_again(lake: Any, stream: Any):
    add(lake, 1, 2, mode="create")
    add(lake, 3)
    stream()
    assert out(lake) == [1, 2, 3]
    add(lake, 4)
    add(lake, 5)
    stream()
    assert out(lake) == [1, 2, 3, 4, 5]
    version = lake.dataset("ml$out").version
    stream()
    assert (out(lake), lake.dataset("ml$out").version) == ([1, 2, 3, 4, 5], version)


def test_a_batch_that_is_in_the_table_but_not_in_the_checkpoint_is_not_written_again(
    lake: Any, stream: Any, tmp_path: Path
):
    add(lake, 1, 2, mode="create")
    stream()
    add(lake, 3)
    stream()
    version = lake.dataset("ml$out").version
    commits = tmp_path / "checkpoint" / "commits"
    for file in [commits / "1", commits / ".1.crc"]:  # as if the driver had died just after the table's commit
        file.unlink()
    stream()
    assert (commits / "1").exists()
    assert (out(lake), lake.dataset("ml$out").version) == ([1, 2, 3], version)
    stream("another")  # whose batches have the same numbers
    assert out(lake) == [1, 1, 2, 2, 3, 3]


def test_compaction_and_indexes_bring_no_row_again(lake: Any, stream: Any):
    add(lake, 1, 2, mode="create")
    stream()
    add(lake, 3)
    dataset = lake.dataset("ml$in")
    dataset.optimize.compact_files()
    dataset.create_scalar_index("id", "BTREE")
    add(lake, 4)
    stream()
    assert out(lake) == [1, 2, 3, 4]


def reader(tmp_path: Path, **chosen: str) -> streaming.StreamReader:
    given = {"backend": "dir", "root": str(tmp_path / "lake"), "table": "ml$in", "tasks": "2", **chosen}
    return streaming.StreamReader(options.parsed(given))


def test_a_stream_starts_where_it_is_told_to(lake: Any, tmp_path: Path):
    add(lake, 1, mode="create")
    add(lake, 2)
    add(lake, 3)
    assert reader(tmp_path).initialOffset() == {"version": 0}
    assert reader(tmp_path, starting="latest").initialOffset() == {"version": 3}
    some = reader(tmp_path, starting="1")
    shares = some.partitions(some.initialOffset(), some.latestOffset())
    assert [batch.to_pydict() for share in shares for batch in some.read(share)] == [{"id": [2]}, {"id": [3]}]


@pytest.mark.parametrize("option", ["version", "limit", "nearest"])
def test_options_that_no_stream_has_are_refused(tmp_path: Path, option: str):
    with pytest.raises(InvalidInput, match=f"option {option} cannot be used in a stream"):
        reader(tmp_path, **{option: "1"})


@pytest.mark.parametrize("change", ["Delete", "Overwrite", "Update"])
def test_changed_rows_are_told_apart(lake: Any, change: str):
    add(lake, 1, 2, mode="create")
    if change == "Delete":
        lake.dataset("ml$in").delete("id = 1")
    elif change == "Update":
        lake.dataset("ml$in").update({"id": "7"}, where="id = 1")
    else:
        add(lake, 9, mode="overwrite")
    table = Table.within(lake, "ml$in")
    with pytest.raises(InvalidTableState, match=rf"version 2 of dir:ml\$in changed or removed rows \({change}\)"):
        streaming.appended(table, 2)
    assert streaming.appended(table, 2, skip_changes=True) == []


def test_changed_rows_stop_a_stream_unless_it_passes_over_them(lake: Any, stream: Any):
    add(lake, 1, 2, mode="create")
    stream()
    lake.dataset("ml$in").delete("id = 1")
    add(lake, 3)
    with pytest.raises(Exception, match="changed or removed rows"):
        stream()
    stream(skip_changes="true")
    assert out(lake) == [1, 2, 3]


def test_inserts_of_a_merge_are_appended_rows(lake: Any):
    add(lake, 1, mode="create")
    lake.dataset("ml$in").merge_insert("id").when_not_matched_insert_all().execute(pa.table({"id": [1, 5]}))
    assert [rows for _, rows in streaming.appended(Table.within(lake, "ml$in"), 2)] == [1]


def test_versions_that_were_cleaned_up_are_told(lake: Any):
    from datetime import timedelta

    for number in range(3):
        add(lake, number, mode="append" if number else "create")
    lake.dataset("ml$in").cleanup_old_versions(timedelta(0))
    with pytest.raises(InvalidTableState, match=r"version 2 of .* was cleaned up before the stream read it"):
        streaming.appended(Table.within(lake, "ml$in"), 2)
