"""Copy: tables of one catalog become tables of another, with the same rows."""

from pathlib import Path

import attrs
import pyarrow as pa
import pytest

import lance_ns
from lance_ns import models as m
from lance_ns.config import StorageProperties
from lance_ns.errors import Internal, InvalidInput, NamespaceNotFound, TableNotFound
from lance_ns.hookspecs import Backend, Operations, hookimpl
from lance_ns_spark import arrow_files, checksums, commits, moving
from lance_ns_spark.jobs.copy import copy
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions


@pytest.fixture
def other(tmp_path):
    with lance_ns.connect("dir", root=str(tmp_path / "other")) as ns:
        yield ns


@pytest.fixture
def filled(lake):
    """Two tables in `ml`, one of them with deleted rows, and one in `web$de`."""
    schema = pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False, metadata={"unit": "one"}),
            pa.field("text", pa.string()),
            pa.field("v", pa.list_(pa.float32(), 2)),
        ],
        metadata={"owner": "search"},
    )

    def rows(start):
        ids = range(start, start + 4)
        return pa.table([ids, [f"t{id}" for id in ids], [[id, 0.5] for id in ids]], schema=schema)

    lake.write("ml$docs", rows(0), properties={"team": "ml", "secret_access_key": "hush"})
    lake.write("ml$docs", rows(4), mode="append")
    lake.dataset("ml$docs").delete("id in (1, 6)")
    lake.write("ml$more", rows(0), data_storage_version="2.1")
    lake.create_namespace("web")
    lake.create_namespace("web$de")
    lake.write("web$de$pages", pa.table({"url": ["a", None]}))
    return lake


class Shelf(Operations):
    """A catalog that knows where tables are, wherever that is, in memory."""

    def __init__(self, config: StorageProperties) -> None:
        self.spaces: set[tuple[str, ...]] = {()}
        self.tables: dict[tuple[str, ...], str] = {}

    @hookimpl
    def create_namespace(self, request):
        self.spaces.add(request.id)
        return m.CreateNamespaceResponse()

    @hookimpl
    def describe_namespace(self, request):
        if request.id not in self.spaces:
            raise NamespaceNotFound("no such namespace")
        return m.DescribeNamespaceResponse()

    @hookimpl
    def describe_table(self, request):
        if request.id not in self.tables:
            raise TableNotFound("no such table")
        return m.DescribeTableResponse(location=self.tables[request.id])

    @hookimpl
    def register_table(self, request):
        self.tables[request.id] = request.location
        return m.RegisterTableResponse(location=request.location)


@pytest.fixture
def shelf():
    operations = {"create_namespace", "describe_namespace", "describe_table", "register_table"}
    backend = Backend(
        name="shelf",
        summary="",
        hookspec=1,
        config=StorageProperties,
        factory=Shelf,
        capabilities=frozenset(operations | {"register_table.overwrite"}),
    )
    return lance_ns.Namespace(backend, StorageProperties())


def rows(ns, id):
    return ns.dataset(id).to_table().to_pylist()


def test_live_rows_schema_and_metadata_are_the_same(spark, filled, other, monkeypatch):
    monkeypatch.setattr(arrow_files, "SMALLEST_SPLIT", 1)
    source = Table.within(filled, "ml$docs")
    result = copy(spark, source, Table.within(other, "lab$deep$docs"))
    assert rows(other, "lab$deep$docs") == rows(filled, "ml$docs")
    dataset = other.dataset("lab$deep$docs")
    assert dataset.version == 1
    assert len(dataset.get_fragments()) == 2
    assert sum(fragment.num_deletions for fragment in dataset.get_fragments()) == 0
    assert dataset.schema.equals(filled.dataset("ml$docs").schema, check_metadata=True)
    (output,) = result.outputs
    assert (output.rows, output.version, output.error) == (6, 1, None)
    assert len(output.details["checksum"]) == 64
    assert (result.inputs[0].version, result.inputs[0].rows) == (3, 6)


def test_lineage_and_properties_come_along_but_no_secret(spark, filled, other):
    copy(spark, Table.within(filled, "ml$docs", called="prod"), other)
    properties = other.dataset("ml$docs").read_transaction(1).transaction_properties
    assert (properties["lance_ns.source"], properties["lance_ns.source_version"]) == ("prod:ml$docs", "3")
    assert other.describe_table("ml$docs").properties == {"team": "ml"}


def test_a_whole_catalog_is_copied_with_its_namespaces(spark, filled, other):
    told = []
    result = copy(spark, filled, other, progress=told.append)
    assert sorted(other.list_all_tables()) == sorted(filled.list_all_tables())
    for id in filled.list_all_tables():
        assert rows(other, id) == rows(filled, id)
    assert other.dataset("ml$more").data_storage_version == "2.1"
    assert result.summary["tables"] == 3
    assert max(status.done for status in told if status.unit == "tables") == 3


def test_patterns_choose_tables_and_into_says_where_they_go(spark, filled, other):
    copy(spark, filled, other, tables=["ml$*"], into="lab")
    assert sorted(other.list_all_tables()) == [("lab", "docs"), ("lab", "more")]
    copy(spark, filled, other, tables=["web$**"], into="all$of", tree=True)
    assert ("all", "of", "web", "de", "pages") in other.list_all_tables()
    with pytest.raises(TableNotFound, match="no table fits"):
        copy(spark, filled, other, tables=["ml$x*"])


def test_two_tables_that_would_become_one_are_refused(spark, filled, other):
    filled.create_namespace("lab")
    filled.write("lab$docs", pa.table({"id": [1]}))
    with pytest.raises(InvalidInput, match="would both become"):
        copy(spark, filled, other, into="x")
    with pytest.raises(InvalidInput, match="cannot all become"):
        copy(spark, filled, Table.within(other, "x$y"))


def test_a_table_that_fails_does_not_stop_the_others(spark, filled, other):
    filled.declare_table("ml$empty")
    other.create_namespace("ml")
    other.write("ml$more", pa.table({"id": [9]}))
    result = copy(spark, filled, other, tables=["ml$*"])
    assert {output.name: output.error for output in result.outputs if output.error} == {
        output.name: output.error for output in result.failed
    }
    errors = {output.name: output.error or "" for output in result.failed}
    assert "declared only" in errors["dir:ml$empty"]
    assert "already has data" in errors["dir:ml$more"]
    assert rows(other, "ml$docs") == rows(filled, "ml$docs")
    assert rows(other, "ml$more") == [{"id": 9}]
    assert not other.table_exists("ml$empty")


def test_a_run_that_is_repeated_skips_what_is_done(spark, filled, other, tmp_path):
    first = copy(spark, filled, other, tables=["ml$docs"], job="j", state=tmp_path / "state")
    again = copy(spark, filled, other, job="j", state=tmp_path / "state")
    assert [(output.name, output.again) for output in again.outputs] == [
        ("dir:ml$docs", True),
        ("dir:ml$more", False),
        ("dir:web$de$pages", False),
    ]
    assert other.dataset("ml$docs").version == first.outputs[0].version == 1
    assert list((tmp_path / "state").iterdir()) == []


def test_modes_say_what_happens_to_a_table_that_is_there(spark, filled, other):
    target = Table.within(other, "ml$docs")
    copy(spark, Table.within(filled, "ml$docs"), target)
    copy(spark, Table.within(filled, "ml$more"), target, mode="append")
    assert target.dataset().count_rows() == 10
    copy(spark, Table.within(filled, "ml$more"), target, mode="overwrite")
    assert rows(other, "ml$docs") == rows(filled, "ml$more")
    assert target.dataset().version == 3


def test_indexes_that_a_copy_lacks_are_named(spark, filled, other):
    filled.dataset("ml$more").create_scalar_index("id", "BTREE")
    (output,) = copy(spark, Table.within(filled, "ml$more"), other).outputs
    assert output.details["indexes not copied"] == ["id_idx"]


def test_what_reads_back_differently_is_an_error_and_not_committed(filled, other, monkeypatch):
    """In this process, where storage can be made to lie."""
    source = arrow_files.LanceFragments.found(Table.within(filled, "ml$docs"))
    other.create_namespace("ml")
    target = commits.prepare(Table.within(other, "ml$docs"), source.schema, "create")
    split = source.splits(1)[0]
    assert moving._Work(source, target, FileOptions(), True)(split).checksum
    short = attrs.evolve(split, rows=split.rows + 1)
    with pytest.raises(Internal, match="6 rows of 7"):
        moving._Work(source, target, FileOptions(), True)(short)
    lying = iter(("written", "read"))
    monkeypatch.setattr(checksums.Checksum, "hexdigest", lambda self: next(lying))
    with pytest.raises(Internal, match="reads back differently"):
        moving._Work(source, target, FileOptions(), True)(split)
    data = Path(target.place.location.removeprefix("file://")) / "data"
    assert len(list(data.iterdir())) == 1, "only what the good task wrote is there"


def test_registering_enters_the_same_data_and_is_done_once(spark, filled, shelf):
    result = copy(spark, filled, shelf, tables=["ml$*"], how="register")
    assert result.failed == []
    docs = shelf.dataset("ml$docs")
    assert docs.to_table().to_pylist() == rows(filled, "ml$docs")
    assert docs.uri == filled.dataset("ml$docs").uri
    again = copy(spark, filled, shelf, tables=["ml$*"], how="register")
    assert [output.again for output in again.outputs] == [True, True]


def test_a_name_that_is_taken_is_registered_anew_only_when_asked(spark, filled, shelf):
    docs, more = Table.within(filled, "ml$docs"), Table.within(filled, "ml$more")
    target = Table.within(shelf, "ml$docs")
    copy(spark, docs, target, how="register")
    (output,) = copy(spark, more, target, how="register").outputs
    assert "is there already" in (output.error or "")
    assert target.dataset().count_rows() == 6
    (output,) = copy(spark, more, target, how="register", mode="overwrite").outputs
    assert output.error is None
    assert target.dataset().count_rows() == 4
    with pytest.raises(InvalidInput, match="not appended"):
        copy(spark, docs, target, how="register", mode="append")


def test_what_the_other_connection_cannot_open_is_not_registered(spark, filled, shelf, monkeypatch):
    table = Table.within(filled, "ml$docs")
    there = attrs.evolve(table.place(), location=table.place().location + "-that-only-the-source-reaches")
    monkeypatch.setattr(Table, "place", lambda self: there if self.ns is filled else place_of_shelf(self))

    def place_of_shelf(target):
        return attrs.evolve(there, location=shelf.describe_table(target.id).location)

    (output,) = copy(spark, table, shelf, how="register").outputs
    assert "cannot open" in (output.error or "")
    assert not shelf.table_exists("ml$docs")
