"""Inventories of catalogs: everything that is there, what is wrong included, as rows and as a page."""

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_ns
from lance_ns.errors import InvalidInput
from lance_ns_spark import report
from lance_ns_spark.jobs.inventory import inventory, schema
from lance_ns_spark.tables import Table

HOSTILE = "<script>alert('x')</script>&\"{{rows}}"


@pytest.fixture
def catalogs(lake, tmp_path) -> dict[str, lance_ns.Namespace]:
    """A catalog with a table of every state, one with a hostile name, one that cannot be reached."""
    vectors = pa.FixedSizeListArray.from_arrays(pa.array([0.5] * 800, pa.float32()), 8)
    docs = lake.write("ml$docs", pa.table({"id": pa.array(range(100), pa.int64()), "v": vectors}))
    docs.create_scalar_index("id", "BTREE")
    docs.delete("id < 10")
    lake.write("ml$docs", pa.table({"id": pa.array(range(10), pa.int64()), "v": vectors[:10]}), mode="append")
    lake.declare_table("ml$empty")
    for name in ("holes", "no_versions", "bad_manifest"):
        lake.write(f"ml${name}", pa.table({"id": [1, 2, 3]}))
    next((directory(lake, "ml$holes") / "data").iterdir()).unlink()
    next((directory(lake, "ml$no_versions") / "_versions").glob("*.manifest")).unlink()
    next((directory(lake, "ml$bad_manifest") / "_versions").glob("*.manifest")).write_bytes(b"nothing at all")
    other = lance_ns.connect("dir", root=str(tmp_path / "other"))
    other.write("t", pa.table({"id": [1]}))
    away = lance_ns.connect("dir", root=str(tmp_path / "away"))
    away.close()
    return {"lake": lake, HOSTILE: other, "away": away}


def directory(ns: lance_ns.Namespace, table: str) -> Path:
    return Path(ns.describe_table(table).location.removeprefix("file://"))


def test_every_table_has_its_facts_and_what_is_wrong_is_never_left_out(spark, catalogs, tmp_path):
    seen = []
    out, page = str(tmp_path / "out" / "inventory.parquet"), str(tmp_path / "out" / "inventory.html")
    result = inventory(spark, catalogs, out=out, report=page, job="i", progress=seen.append)
    rows = {(each["catalog"], each["identifier"]): each for each in pq.read_table(out).to_pylist()}
    states = {identifier: each["state"] for (catalog, identifier), each in rows.items() if catalog == "lake"}
    assert states == {
        "ml$docs": "data",
        "ml$empty": "declared",
        "ml$holes": "missing",
        "ml$no_versions": "missing",
        "ml$bad_manifest": "broken",
    }
    docs = rows["lake", "ml$docs"]
    assert (docs["rows"], docs["deleted_rows"], docs["fragments"], docs["small_fragments"]) == (100, 10, 2, 2)
    assert (docs["version"], docs["versions"], docs["storage_version"]) == (4, 4, "2.2")
    assert docs["vectors"] == [{"column": "v", "dimension": 8}]
    assert [(each["name"], each["type"], each["coverage"]) for each in docs["indexes"]] == [("id_idx", "BTREE", 0.9)]
    assert docs["bytes"] < docs["bytes_stored"]
    assert docs["created"] <= docs["changed"] <= docs["taken"]
    assert 0 <= docs["age_days"] < 1
    assert rows["lake", "ml$holes"]["missing_files"]
    assert "files are left" in rows["lake", "ml$no_versions"]["error"]
    assert "the connection is closed" in rows["away", None]["error"]
    assert rows[HOSTILE, "t"]["rows"] == 1
    assert [each.name for each in result.failed] == ["away"]
    assert result.summary["tables"] == 6
    assert ("lake:ml$docs", 4, 100) in [(each.name, each.version, each.rows) for each in result.inputs]
    assert (seen[-1].done, seen[-1].of, seen[-1].unit) == (6, 6, "tables")
    text = Path(page).read_text()
    assert "alert('x')" not in text
    assert "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;&amp;&quot;{{rows}}" in text
    assert not re.search(r"""(src|href)=|url\(|https?://""", text), "nothing from elsewhere"


def test_inventories_gather_in_a_table_and_a_job_that_is_run_again_adds_nothing(spark, catalogs, lake, tmp_path):
    out = Table.within(lake, "ml$inventory")
    first = inventory(spark, catalogs, out=out, job="monday")
    assert (first.outputs[0].version, first.outputs[0].rows) == (1, 7)
    inventory(spark, catalogs, out=out, job="tuesday")
    lake.deregister_table("ml$docs")
    page = tmp_path / "again.html"
    again = inventory(spark, catalogs, out=out, report=str(page), job="monday")
    assert [each.again for each in again.outputs[:2]] == [True, True]
    assert again.outputs[0].version == 1
    assert again.summary == first.summary
    assert "ml$docs" in page.read_text()
    held = out.dataset().to_table(columns=["job", "identifier"]).to_pylist()
    assert sorted(each["job"] for each in held) == ["monday"] * 7 + ["tuesday"] * 8
    assert out.dataset().schema == schema()


def test_an_inventory_begins_where_it_is_told(spark, lake):
    lake.create_namespace("other")
    lake.write("ml$a", pa.table({"id": [1]}))
    lake.write("other$b", pa.table({"id": [1]}))
    result = inventory(spark, {"lake": lake}, below={"lake": "other"})
    assert [each.name for each in result.inputs] == ["lake:other$b"]
    with pytest.raises(InvalidInput, match="no catalog sea"):
        inventory(spark, {"lake": lake}, below={"sea": "other"})


def test_a_catalog_without_tables_makes_a_page_too(spark, lake, tmp_path):
    result = inventory(spark, {"lake": lake}, report=str(tmp_path / "page.html"), out=Table.within(lake, "ml$i"))
    assert result.summary["tables"] == 0
    assert not result.failed
    assert "nothing was found" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (999, "999"), (9999, "9,999"), (12_345, "12.3 k"), (5e6, "5 M"), (2.5e12, "2.5 T")]
)
def test_counts_are_short(value, shown):
    assert report.number(value) == shown


@pytest.mark.parametrize(("value", "shown"), [(0, "0 B"), (999, "999 B"), (1024, "1 KiB"), (5 << 40, "5 TiB")])
def test_sizes_are_short(value, shown):
    assert report.size(value) == shown
