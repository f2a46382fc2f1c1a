"""pylance, lance_namespace and LanceDB, through the bridge."""

import pickle

import lance
import lance_namespace
import pyarrow as pa
import pytest
from lance_namespace import errors as their_errors

import lance_ns
from lance_ns import Namespace
from lance_ns.lance.bridge import BridgedNamespace

DOTTED = "lance_ns.lance.bridge.BridgedNamespace"


@pytest.fixture
def bridge(ns: Namespace) -> lance_namespace.LanceNamespace:
    return ns.as_lance()


def test_the_bridge_is_what_pylance_takes(bridge):
    assert isinstance(bridge, lance_namespace.LanceNamespace)


def test_pylance_creates_appends_overwrites_and_travels_in_time(bridge, rows):
    table = {"namespace_client": bridge, "table_id": ["ml", "t"]}
    lance.write_dataset(rows, mode="create", **table)
    lance.write_dataset(rows, mode="append", **table)
    lance.write_dataset(pa.table({"id": [9]}), mode="overwrite", **table)
    assert lance.dataset(**table).to_table().to_pydict() == {"id": [9]}
    assert lance.dataset(version=2, **table).count_rows() == 6
    assert lance.dataset(version=1, **table).count_rows() == 3


def test_creating_what_exists_raises_their_error_with_ours_as_its_cause(bridge, rows):
    table = {"namespace_client": bridge, "table_id": ["ml", "t"]}
    lance.write_dataset(rows, mode="create", **table)
    with pytest.raises(their_errors.TableAlreadyExistsError) as caught:
        lance.write_dataset(rows, mode="create", **table)
    assert isinstance(caught.value.__cause__, lance_ns.TableAlreadyExists)


def test_a_missing_table_says_so_in_the_words_that_lancedb_looks_for(bridge):
    with pytest.raises(their_errors.TableNotFoundError, match="Table not found"):
        lance.dataset(namespace_client=bridge, table_id=["ml", "nope"])


@pytest.mark.parametrize("code", list(lance_ns.ErrorCode))
def test_every_error_keeps_its_code_on_the_way_out(code):
    from lance_ns.errors import error_class
    from lance_ns.lance.bridge import _their_error

    theirs = _their_error(error_class(code)("what happened", hint="what to do"))
    assert int(theirs.code) == code
    assert "what happened" in str(theirs)


def test_requests_and_responses_are_that_packages_models(bridge):
    created = bridge.create_namespace(
        lance_namespace.CreateNamespaceRequest(id=["ml", "deep"], mode="exist_ok", properties={"a": "b"})
    )
    assert isinstance(created, lance_namespace.CreateNamespaceResponse)
    assert created.properties == {"a": "b"}
    listed = bridge.list_namespaces(lance_namespace.ListNamespacesRequest(id=["ml"], limit=1))
    assert (listed.namespaces, listed.page_token) == (["deep"], None)
    declared = bridge.declare_table(lance_namespace.DeclareTableRequest(id=["ml", "t"]))
    described = bridge.describe_table(lance_namespace.DescribeTableRequest(id=["ml", "t"], check_declared=True))
    assert (described.table, described.namespace, described.location) == ("t", ["ml"], declared.location)
    assert described.is_only_declared is True
    assert bridge.namespace_exists(lance_namespace.NamespaceExistsRequest(id=["ml"])) is not None
    assert bridge.table_exists(lance_namespace.TableExistsRequest(id=["ml", "t"])) is not None
    everything = bridge.list_all_tables(lance_namespace.ListTablesRequest())
    assert everything.tables == ["ml$t"]
    with pytest.raises(their_errors.NamespaceNotEmptyError):
        bridge.drop_namespace(lance_namespace.DropNamespaceRequest(id=["ml"]))
    bridge.deregister_table(lance_namespace.DeregisterTableRequest(id=["ml", "t"]))
    bridge.drop_namespace(lance_namespace.DropNamespaceRequest(id=["ml"], behavior="Cascade"))
    with pytest.raises(their_errors.NamespaceNotFoundError):
        bridge.describe_namespace(lance_namespace.DescribeNamespaceRequest(id=["ml"]))


def test_detailed_metadata_has_the_schema_in_their_form(ns, bridge, rows):
    ns.write("ml$t", rows)
    answer = bridge.describe_table(lance_namespace.DescribeTableRequest(id=["ml", "t"], load_detailed_metadata=True))
    assert answer.version == 1
    assert [(field.name, field.type.type) for field in answer.var_schema.fields] == [("id", "int64")]
    assert answer.stats.num_fragments == 1


def test_what_is_not_served_is_their_unsupported(bridge):
    with pytest.raises(their_errors.UnsupportedOperationError):
        bridge.rename_table(lance_namespace.RenameTableRequest(id=["ml", "t"], new_table_name="u"))
    with pytest.raises((their_errors.UnsupportedOperationError, NotImplementedError)):
        bridge.count_table_rows(lance_namespace.CountTableRowsRequest(id=["ml", "t"]))


def test_every_operation_of_ours_that_they_have_is_bridged():
    from lance_ns.models import REQUESTS

    theirs = {name for name in REQUESTS if hasattr(lance_namespace.LanceNamespace, name)}
    assert theirs == set(REQUESTS) - {"alter_table_properties"}
    assert all(name in vars(BridgedNamespace) for name in theirs)


def test_it_is_made_by_its_dotted_name(root, rows):
    bridge = lance_namespace.connect(DOTTED, {"backend": "dir", "root": str(root)})
    lance.write_dataset(rows, namespace_client=bridge, table_id=["t"], mode="create")
    assert lance_ns.connect("dir", root=root).dataset("t").count_rows() == 3


def test_a_wrong_property_is_named_when_it_is_made_by_its_dotted_name(root):
    with pytest.raises(ValueError, match="did you mean 'root'"):
        lance_namespace.connect(DOTTED, {"backend": "dir", "rot": str(root)})


def test_the_cache_key_differs_by_root_and_by_credentials_and_shows_neither(root):
    def key(**storage: str) -> str:
        properties = {f"storage.{name}": value for name, value in storage.items()}
        return lance_ns.connect("dir", properties, root=root).as_lance().namespace_id()

    plain, one, other = key(), key(aws_secret_access_key="canary-1"), key(aws_secret_access_key="canary-2")
    assert len({plain, one, other}) == 3
    assert one == key(aws_secret_access_key="canary-1")
    assert "canary" not in one
    assert str(root) not in plain


def test_it_pickles(bridge, rows):
    again = pickle.loads(pickle.dumps(bridge))
    lance.write_dataset(rows, namespace_client=again, table_id=["ml", "t"], mode="create")
    assert lance.dataset(namespace_client=bridge, table_id=["ml", "t"]).count_rows() == 3


def test_a_drop_through_the_bridge_deletes_data_only_when_it_was_made_to(ns, rows):
    request = lance_namespace.DropTableRequest(id=["ml", "t"])
    kept = ns.write("ml$t", rows).uri
    ns.as_lance().drop_table(request)
    assert lance.dataset(kept).count_rows() == 3
    deleted = ns.write("ml$t", rows).uri
    ns.as_lance(drop_deletes_data=True).drop_table(request)
    with pytest.raises(ValueError, match="not found"):
        lance.dataset(deleted)


def test_an_unknown_field_of_a_newer_contract_is_refused_not_ignored(bridge):
    class Newer:
        def to_dict(self):
            return {"id": ["ml"], "field_of_tomorrow": 1}

    with pytest.raises(their_errors.InvalidInputError, match="field_of_tomorrow"):
        bridge.describe_namespace(Newer())


def test_lancedb_works_through_it(ns, rows):
    import lancedb

    database = lancedb.connect_namespace(
        DOTTED, {"backend": "dir", "root": ns._config.root, "drop_deletes_data": "true"}
    )
    table = database.create_table("docs", pa.table({"id": [1, 2], "vector": [[0.0, 1.0], [1.0, 0.0]]}))
    table.add(pa.table({"id": [3], "vector": [[1.0, 1.0]]}))
    assert database.open_table("docs").count_rows() == 3
    assert "docs" in database.list_tables().tables
    with pytest.raises(their_errors.TableNotFoundError):
        database.open_table("nope")
    database.drop_table("docs")
    assert "docs" not in database.list_tables().tables
    database.create_table("docs", pa.table({"id": [7]}))
    assert ns.dataset("docs").to_table().to_pydict() == {"id": [7]}
