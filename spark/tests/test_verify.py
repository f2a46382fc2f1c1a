"""Verification of tables whose files are really truncated, deleted and changed."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from lance_ns.errors import InvalidInput
from lance_ns_spark.jobs.verify import verify
from lance_ns_spark.tables import Table


@pytest.fixture
def table(lake) -> Table:
    """Two fragments with deletions, an index, and a column that came later, in files of its own."""
    for start in (0, 1000):
        ids = pa.array(range(start, start + 1000), pa.int64())
        rows = pa.table({"id": ids, "word": [f"word {each}" for each in range(start, start + 1000)]})
        lake.write("ml$t", rows, mode="append" if start else "create")
    dataset = lake.dataset("ml$t")
    dataset.delete("id % 5 = 0")
    dataset.create_scalar_index("id", "BTREE")
    dataset.add_columns({"twice": "id * 2"})
    return Table.within(lake, "ml$t")


def directory(table: Table) -> Path:
    return Path(table.place().location.removeprefix("file://"))


def data_file(table: Table, fragment: int, number: int = 0) -> Path:
    return directory(table) / "data" / table.dataset().get_fragment(fragment).data_files()[number].path


def problems(spark, *tables: Table, **options):
    return [each.details["problems"] for each in verify(spark, tables, **options).outputs]


def test_whole_tables_are_read_to_the_last_row(spark, lake, table):
    lake.write("ml$none", pa.table({"id": pa.array([], pa.int64())}))
    seen = []
    result = verify(spark, [table, Table.within(lake, "ml$none")], job="v", progress=seen.append)
    assert not result.failed
    assert (result.summary["rows"], result.summary["fragments"], result.summary["problems"]) == (1600, 2, 0)
    assert next((each.name, each.version, each.rows) for each in result.inputs) == ("dir:ml$t", 5, 1600)
    assert (seen[-1].done, seen[-1].of, seen[-1].rows) == (3, 3, 1600)
    assert '"kind": "verify"' in result.as_json()


def test_each_kind_of_damage_is_named_with_its_place_and_what_to_do(spark, lake, table):
    def damaged(name: str) -> Table:
        copy = directory(table).parent / name
        shutil.copytree(directory(table), copy)
        lake.register_table(f"ml${name}", name)
        return Table.within(lake, f"ml${name}")

    truncated, deleted, footer = damaged("truncated"), damaged("deleted"), damaged("footer")
    undeleted, unindexed, broken_index = damaged("undeleted"), damaged("unindexed"), damaged("broken_index")
    broken_deletions = damaged("broken_deletions")
    whole = data_file(truncated, 1).read_bytes()
    data_file(truncated, 1).write_bytes(whole[: len(whole) // 2])
    data_file(deleted, 0, 1).unlink()
    bytes_of_footer = bytearray(data_file(footer, 0).read_bytes())
    bytes_of_footer[-40:-8] = b"\xff" * 32
    data_file(footer, 0).write_bytes(bytes_of_footer)
    sorted((directory(undeleted) / "_deletions").glob("1-*"))[0].unlink()
    next(directory(unindexed).glob("_indices/*/page_data.lance")).unlink()
    next(directory(broken_index).glob("_indices/*/page_data.lance")).write_bytes(b"nothing")
    sorted((directory(broken_deletions) / "_deletions").glob("0-*"))[0].write_bytes(b"nothing")

    tables = [truncated, deleted, footer, undeleted, unindexed, broken_index, broken_deletions, table]
    result = verify(spark, tables)
    found = {each.name.removeprefix("dir:ml$"): each.details["problems"] for each in result.outputs}
    assert {name: [(p["kind"], p["fragment"], p["index"]) for p in each] for name, each in found.items()} == {
        "truncated": [("data", 1, None)],
        "deleted": [("data", 0, None)],
        "footer": [("data", 0, None)],
        "undeleted": [("deletion", 1, None)],
        "unindexed": [("index", None, "id_idx")],
        "broken_index": [("index", None, "id_idx")],
        "broken_deletions": [("deletion", 0, None)],
        "t": [],
    }
    assert found["truncated"][0]["file"] == f"data/{data_file(truncated, 1).name}"
    assert f"{len(whole) // 2} bytes, and the table's metadata say {len(whole)}" in found["truncated"][0]["what"]
    assert found["deleted"][0]["file"] == f"data/{data_file(table, 0, 1).name}"
    assert found["footer"][0]["file"] == f"data/{data_file(footer, 0).name}"
    assert "restore the file" in found["deleted"][0]["todo"]
    assert "build it again" in found["broken_index"][0]["todo"]
    assert [each.name for each in result.failed] == [str(each) for each in tables[:-1]]
    assert "dir:ml$truncated: fragment 1, data/" in result.outputs[0].error


def test_bytes_that_changed_inside_of_values_are_found_by_checksums_of_an_earlier_run(spark, table, tmp_path):
    noted = str(tmp_path / "state" / "checksums.json")
    assert problems(spark, table, checksums=noted) == [[]]
    file = data_file(table, 0)
    content = bytearray(file.read_bytes())
    content[100] ^= 0xFF
    file.write_bytes(content)
    assert problems(spark, table) == [[]], "Lance itself does not notice"
    for _ in range(2):
        (((changed,)),) = problems(spark, table, checksums=noted)
        assert (changed["file"], changed["what"]) == (
            f"data/{file.name}",
            "its bytes are not those of the last verification",
        )


def test_tables_that_cannot_be_opened_do_not_stop_the_others(spark, lake, table):
    lake.declare_table("ml$empty")
    result = verify(spark, [Table.within(lake, "ml$empty"), Table.within(lake, "ml$nothing"), table])
    assert [each.name for each in result.failed] == ["dir:ml$empty", "dir:ml$nothing"]
    assert "TableNotFound" in result.outputs[1].error
    assert result.outputs[2].rows == 1600


def test_a_file_that_holds_no_checksums_is_refused(spark, table, tmp_path):
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(InvalidInput, match="does not hold checksums"):
        verify(spark, [table], checksums=str(tmp_path / "other.json"))
