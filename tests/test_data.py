"""Writing, opening, describing and deleting the data of tables."""

import lance
import pyarrow as pa
import pytest

import lance_ns
from lance_ns import Namespace
from lance_ns.lance.datasets import storage_options

MODES = ["create", "append", "overwrite"]


def put_in_state(ns: Namespace, state: str) -> None:
    if state == "declared":
        ns.declare_table("ml$t")
    if state == "with data":
        ns.write("ml$t", pa.table({"id": [0]}))


@pytest.mark.parametrize(
    ("mode", "state", "expected"),
    [
        ("create", "missing", [1, 2, 3]),
        ("create", "declared", [1, 2, 3]),
        ("create", "with data", lance_ns.TableAlreadyExists),
        ("append", "missing", lance_ns.TableNotFound),
        ("append", "declared", [1, 2, 3]),
        ("append", "with data", [0, 1, 2, 3]),
        ("overwrite", "missing", [1, 2, 3]),
        ("overwrite", "declared", [1, 2, 3]),
        ("overwrite", "with data", [1, 2, 3]),
    ],
)
def test_write_does_what_its_table_of_modes_says(ns: Namespace, rows, mode, state, expected):
    put_in_state(ns, state)
    before = list(ns.list_tables("ml"))
    if isinstance(expected, list):
        ns.write("ml$t", rows, mode=mode)
        assert ns.dataset("ml$t").to_table()["id"].to_pylist() == expected
    else:
        with pytest.raises(expected):
            ns.write("ml$t", rows, mode=mode)
        assert list(ns.list_tables("ml")) == before
        if state == "with data":
            assert ns.dataset("ml$t").to_table()["id"].to_pylist() == [0]


def test_overwriting_keeps_the_older_versions(ns: Namespace, rows):
    ns.write("ml$t", rows)
    ns.write("ml$t", pa.table({"other": ["x"]}), mode="overwrite")
    assert ns.dataset("ml$t").schema.names == ["other"]
    assert ns.dataset("ml$t", version=1).count_rows() == 3


def test_an_unknown_mode_is_refused(ns: Namespace, rows):
    with pytest.raises(lance_ns.InvalidInput, match="upsert"):
        ns.write("ml$t", rows, mode="upsert")


@pytest.mark.parametrize(
    "data",
    [
        pa.table({"id": [1, 2, 3]}),
        pa.RecordBatch.from_pydict({"id": [1, 2, 3]}),
        [{"id": 1}, {"id": 2}, {"id": 3}],
        {"id": [1, 2, 3]},
    ],
    ids=["table", "batch", "rows", "columns"],
)
def test_anything_that_pylance_reads_is_written(ns: Namespace, data):
    assert ns.write("ml$t", data).count_rows() == 3


def test_a_stream_of_batches_is_written_once(ns: Namespace, rows):
    ns.write("ml$t", rows.to_reader())
    assert ns.dataset("ml$t").count_rows() == 3


def test_a_table_without_rows_keeps_its_schema(ns: Namespace, rows):
    ns.write("ml$t", rows.slice(0, 0))
    assert ns.dataset("ml$t").schema == rows.schema


def test_create_table_is_write_in_mode_create(ns: Namespace, rows):
    ns.create_table("ml$t", rows, properties={"k": "v"})
    assert ns.describe_table("ml$t").properties == {"k": "v"}
    with pytest.raises(lance_ns.TableAlreadyExists):
        ns.create_table("ml$t", rows)


def test_a_create_that_fails_leaves_nothing_behind(ns: Namespace, rows):
    with pytest.raises(lance_ns.InvalidInput):
        ns.write("ml$t", object())
    assert not ns.table_exists("ml$t")
    ns.write("ml$t", rows)


def test_a_create_that_is_interrupted_leaves_nothing_behind(ns: Namespace, rows):
    def batches():
        yield rows.to_batches()[0]
        raise KeyboardInterrupt

    with pytest.raises((KeyboardInterrupt, lance_ns.LanceNsError)):
        ns.write("ml$t", pa.RecordBatchReader.from_batches(rows.schema, batches()))
    assert not ns.table_exists("ml$t")


def test_a_failed_create_on_a_declared_table_leaves_it_declared(ns: Namespace):
    ns.declare_table("ml$t")
    with pytest.raises(lance_ns.InvalidInput):
        ns.write("ml$t", object())
    assert ns.describe_table("ml$t", check_declared=True).is_only_declared


def test_data_that_does_not_fit_the_schema_is_refused_and_nothing_is_added(ns: Namespace, rows):
    ns.write("ml$t", rows)
    with pytest.raises(lance_ns.TableSchemaValidationError):
        ns.write("ml$t", pa.table({"other": ["x"]}), mode="append")
    assert ns.dataset("ml$t").count_rows() == 3


def test_a_table_declared_anew_never_touches_the_data_of_its_predecessor(ns: Namespace, rows):
    old = ns.write("ml$t", rows).uri
    ns.deregister_table("ml$t")
    ns.write("ml$t", pa.table({"id": [9]}))
    assert lance.dataset(old).count_rows() == 3
    assert ns.dataset("ml$t").count_rows() == 1


def test_creating_a_table_where_data_lies_is_refused_and_keeps_it(ns: Namespace, root, rows):
    lance.write_dataset(rows, str(root / "there"))
    ns.register_table("ml$t", "there")
    with pytest.raises(lance_ns.TableAlreadyExists):
        ns.write("ml$t", pa.table({"id": [9]}))
    assert ns.dataset("ml$t").count_rows() == 3


def test_opening_a_declared_table_says_that_it_has_no_data(ns: Namespace):
    ns.declare_table("ml$t")
    with pytest.raises(lance_ns.InvalidTableState, match=r"has no data.*write"):
        ns.dataset("ml$t")


def test_opening_a_missing_table_version_or_tag_is_typed(ns: Namespace, rows):
    ns.write("ml$t", rows)
    ns.dataset("ml$t").tags.create("good", 1)
    assert ns.dataset("ml$t", version="good").count_rows() == 3
    with pytest.raises(lance_ns.TableNotFound):
        ns.dataset("ml$nope")
    with pytest.raises(lance_ns.TableVersionNotFound):
        ns.dataset("ml$t", version=99)
    with pytest.raises(lance_ns.TableTagNotFound):
        ns.dataset("ml$t", version="nope")


def test_damaged_data_is_an_error_not_a_missing_table(ns: Namespace, rows):
    from pathlib import Path
    from urllib.parse import unquote

    location = unquote(ns.write("ml$t", rows).uri.removeprefix("file://"))
    for manifest in Path("/" + location.lstrip("/"), "_versions").iterdir():
        manifest.write_bytes(b"junk")
    with pytest.raises(lance_ns.Internal):
        ns.describe_table("ml$t", check_declared=True)
    with pytest.raises(lance_ns.Internal):
        ns.drop_table("ml$t", delete_data=True)
    assert ns.table_exists("ml$t")


def test_details_come_only_when_they_are_asked_for(ns: Namespace, rows):
    ns.write("ml$t", rows)
    plain = ns.describe_table("ml$t")
    assert (plain.version, plain.table_uri, plain.schema, plain.stats, plain.is_only_declared) == (None,) * 5
    assert ns.describe_table("ml$t", with_table_uri=True).table_uri == plain.location
    detailed = ns.describe_table("ml$t", load_detailed_metadata=True)
    assert (detailed.version, detailed.table_uri, detailed.is_only_declared) == (1, plain.location, False)
    assert detailed.stats == lance_ns.models.TableBasicStats(num_deleted_rows=0, num_fragments=1)


def test_details_of_a_version_are_that_versions(ns: Namespace, rows):
    ns.write("ml$t", rows)
    ns.write("ml$t", pa.table({"other": ["x"]}), mode="overwrite")
    assert ns.describe_table("ml$t", version=1).schema["fields"][0]["name"] == "id"
    assert ns.describe_table("ml$t", load_detailed_metadata=True).schema["fields"][0]["name"] == "other"
    with pytest.raises(lance_ns.TableVersionNotFound):
        ns.describe_table("ml$t", version=99)
    assert ns.table_exists("ml$t", version=2)
    assert not ns.table_exists("ml$t", version=99)


def test_details_of_a_declared_table_say_that_it_is_only_declared(ns: Namespace):
    ns.declare_table("ml$t")
    detailed = ns.describe_table("ml$t", load_detailed_metadata=True)
    assert (detailed.is_only_declared, detailed.version, detailed.schema) == (True, None, None)
    with pytest.raises(lance_ns.TableVersionNotFound):
        ns.describe_table("ml$t", version=1)


def test_declared_tables_can_be_left_out_of_lists(ns: Namespace, rows):
    for number in range(20):
        ns.declare_table(f"ml$declared{number}")
    ns.write("ml$full", rows)
    ns.write("top", rows)
    assert len(list(ns.list_tables("ml"))) == 21
    assert list(ns.list_tables("ml", include_declared=False)) == ["full"]
    assert list(ns.list_all_tables(include_declared=False)) == [("top",), ("ml", "full")]


def test_dropping_a_table_keeps_its_data_unless_deletion_is_asked_for(ns: Namespace, rows):
    kept, deleted = ns.write("ml$kept", rows).uri, ns.write("ml$deleted", rows).uri
    ns.drop_table("ml$kept")
    ns.drop_table("ml$deleted", delete_data=True)
    assert list(ns.list_tables("ml")) == []
    assert lance.dataset(kept).count_rows() == 3
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(deleted)


def test_dropping_a_declared_table_with_its_data_has_nothing_to_delete(ns: Namespace):
    ns.declare_table("ml$t")
    ns.drop_table("ml$t", delete_data=True)
    assert not ns.table_exists("ml$t")


def test_what_is_no_lance_dataset_is_never_deleted(ns: Namespace, root):
    (root / "precious").mkdir()
    (root / "precious" / "thesis.txt").write_text("years of work")
    ns.register_table("ml$t", "precious")
    ns.drop_table("ml$t", delete_data=True)
    assert (root / "precious" / "thesis.txt").read_text() == "years of work"


def test_dropping_a_missing_table_is_an_error(ns: Namespace):
    for delete_data in (False, True):
        with pytest.raises(lance_ns.TableNotFound):
            ns.drop_table("ml$nope", delete_data=delete_data)


def test_a_table_cannot_send_the_connections_credentials_elsewhere():
    own = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_region": "here"}
    hostile = {
        "aws_endpoint": "http://evil",
        "proxy_url": "http://evil",
        "allow_http": "true",
        "aws_region": "there",
        "timeout": "5s",
    }
    assert storage_options(own, hostile) == {**own, "timeout": "5s"}


def test_without_own_credentials_a_tables_options_are_used_as_they_are():
    assert storage_options({"timeout": "1s"}, {"aws_endpoint": "http://minio"}) == {
        "timeout": "1s",
        "aws_endpoint": "http://minio",
    }


def test_json_schemas_are_those_that_pylance_itself_writes(tmp_path):
    from lance.lance import PyDirectoryNamespace

    from lance_ns.lance.schema import to_json

    kinds = [
        pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(),
        pa.large_string(), pa.binary(), pa.large_binary(), pa.binary(4), pa.date32(), pa.date64(), pa.time32("ms"),
        pa.time64("us"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.duration("ms"), pa.decimal128(10, 2),
        pa.decimal256(40, 2), pa.list_(pa.int32()), pa.large_list(pa.int32()), pa.list_(pa.float32(), 4),
        pa.map_(pa.string(), pa.int32()), pa.string_view(), pa.dictionary(pa.int32(), pa.string()),
        pa.struct([pa.field("a", pa.int32()), pa.field("b", pa.string(), nullable=False)]),
        pa.list_(pa.list_(pa.struct([("x", pa.date32())]))),
    ]  # fmt: skip
    fields = [pa.field(f"c{at}", kind, metadata={"k": "v"} if at == 3 else None) for at, kind in enumerate(kinds)]
    schema = pa.schema(fields, metadata={"m": "n"})
    native = PyDirectoryNamespace(session=None, context_provider=None, root=str(tmp_path))
    location = native.declare_table({"id": ["t"]})["location"]
    dataset = lance.write_dataset(schema.empty_table(), location)
    theirs = native.describe_table({"id": ["t"], "load_detailed_metadata": True})["schema"]
    assert to_json(dataset.schema) == theirs
