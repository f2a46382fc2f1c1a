"""What is Unity's own: one catalog, its schemas, external tables with a mark, and columns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, cast

from lance_ns.derived import serve
from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.models import DescribeTableRequest, TableExistsRequest
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with, failure, refused
from lance_ns_conformance.scenarios.rest import every_operation, towards
from lance_ns_conformance.stand_in import Asked, Reply
from lance_ns_conformance.world import World

UNITY = ("unity",)
API = "/api/2.1/unity-catalog"


class UnityClient(NativeClient, Protocol):
    """What these scenarios ask of a plain client of Unity Catalog beyond the common."""

    def load(self, id: Levels) -> Any:
        """What the server says of a table, None when there is none."""

    def load_schema(self, id: Levels) -> Any:
        """What the server says of a schema, None when there is none."""

    def make_catalog(self, name: str) -> None:
        """Make another catalog."""

    def make_schema(self, id: Levels) -> None:
        """Make a schema."""

    def make_managed(self, id: Levels) -> str | None:
        """Make a managed table that is marked as Lance: its location, or None where the server cannot have one."""

    def remove_managed(self, id: Levels) -> None:
        """Take a managed table out again, and what it needed."""

    def remove_catalog(self, name: str) -> None:
        """Take a catalog out again, with all that it holds."""


def unity(world: World) -> UnityClient:
    """A plain client of the catalog."""
    return cast("UnityClient", world.needs_native())


def path(location: object) -> str:
    """A location without the scheme that the server puts before local paths."""
    return str(location).removeprefix("file://")


def types_of(columns: list[dict[str, Any]]) -> dict[str, str]:
    """The types of columns, by their names."""
    return {column["name"]: column["type_text"] for column in columns}


# --- the catalog ------------------------------------------------------------------------------------------------------


@scenario(
    "connecting without a catalog answers InvalidInput",
    backends=UNITY,
    clauses=["unity.namespace-implementation-configuration-properties.properties.2"],
)
def catalog_is_required(ns: Namespace, world: World) -> None:
    assert refused(world, {"catalog": None}).code is ErrorCode.INVALID_INPUT


@scenario(
    "listing the root gives the configured catalog and nothing else, and listing that gives its schemas in order",
    backends=UNITY,
    dialect=True,
    clauses=[
        "unity.namespace.1",
        "unity.list-namespaces.steps.1",
        "unity.list-namespaces.steps.3",
        "decisions.depth.4",
    ],
)
def root_and_schemas(ns: Namespace, world: World) -> None:
    assert list(ns.list_namespaces()) == [*world.expect.base]
    made = [world.created(ns, word)[-1] for word in ("m", "z", "a", "M", "_", "b-c")]
    listed = list(ns.list_namespaces(world.expect.base))
    assert [name for name in listed if name in made] == sorted(made)


@scenario(
    "tables are listed in order, also across the pages",
    backends=UNITY,
    dialect=True,
    clauses=["unity.list-tables.steps.4"],
)
def tables_in_order(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    made = ["m", "z", "a", "M", "_", "b-c", "a0", "A"]
    for name in made:
        ns.declare_table((*id, name))
    assert list(ns.list_tables(id)) == sorted(made)
    first = ns.list_tables_page(id, limit=3)
    second = ns.list_tables_page(id, limit=10, page_token=first.page_token)
    assert [*first.tables, *second.tables] == sorted(made)


@scenario(
    "another catalog than the configured one is never served, though the server has it",
    backends=UNITY,
    clauses=[
        "unity.namespace.2",
        "unity.namespace.6",
        "unity.create-namespace.errors.1",
        "unity.list-namespaces.errors.1",
        "unity.describe-namespace.steps.2",
        "unity.drop-namespace.steps.2",
        "unity.declare-table.steps.2",
        "unity.list-tables.steps.2",
        "unity.describe-table.steps.2",
        "unity.deregister-table.steps.2",
        *(f"decisions.unity-with-another-catalog.{number}" for number in (1, 2, 3, 4, 5, 6, 7, 12)),
    ],
)
def another_catalog(ns: Namespace, world: World) -> None:
    native = unity(world)
    other = world.name("other")
    native.make_catalog(other)
    try:
        id, table = (other, "s"), (other, "s", "t")
        native.make_schema(id)
        native.make_lance(table, f"{world.scratch}/t", "lance")
        expected: dict[ErrorCode, list[Callable[[], Any]]] = {
            ErrorCode.INVALID_INPUT: [lambda: ns.create_namespace((other, "new"))],
            ErrorCode.NAMESPACE_NOT_FOUND: [
                lambda: ns.list_namespaces_page((other,)),
                lambda: ns.describe_namespace(id),
                lambda: ns.drop_namespace(id),
                lambda: ns.drop_namespace(id, behavior="cascade"),
                lambda: ns.list_tables_page(id),
                lambda: ns.declare_table((*id, "new")),
                lambda: ns.register_table((*id, "new"), f"{world.scratch}/t"),
            ],
            ErrorCode.TABLE_NOT_FOUND: [
                lambda: ns.describe_table(table),
                lambda: ns.deregister_table(table),
                lambda: ns.drop_table(table),
                lambda: serve(ns, TableExistsRequest(id=table)),
            ],
        }
        for code, calls in expected.items():
            for call in calls:
                with raises(code):
                    call()
        assert not ns.namespace_exists(id)
        assert not ns.table_exists(table)
        assert native.holds(table), "nothing of it was touched"
        assert other not in list(ns.list_namespaces())
    finally:
        native.remove_catalog(other)


# --- schemas and tables, as the catalog holds them --------------------------------------------------------------------


@scenario(
    "a namespace is a schema of the catalog with its properties, and gone for other clients after the drop",
    backends=UNITY,
    dialect=True,
    clauses=[
        "unity.namespace.3",
        "unity.namespace.7",
        "unity.create-namespace.steps.2",
        "unity.drop-namespace.steps.4",
    ],
)
def schemas_of_the_catalog(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"team": "ml", "empty": ""})
    schema = unity(world).load_schema(id)
    assert (schema["catalog_name"], schema["name"]) == id
    assert schema["properties"] == {"team": "ml", "empty": ""}
    ns.drop_namespace(id)
    assert unity(world).load_schema(id) is None


@scenario(
    "the properties of a schema are replaced, and may all be taken away, while its comment stays",
    backends=UNITY,
    dialect=True,
    clauses=["decisions.create-mode-overwrite.1"],
)
def properties_are_replaced(ns: Namespace, world: World) -> None:
    id = world.namespace()
    unity(world).make_schema(id)
    for properties in ({"a": "1", "b": "2"}, {"b": "3"}, {}, {}):
        ns.create_namespace(id, mode="overwrite", properties=properties)
        assert ns.describe_namespace(id).properties == properties
        assert unity(world).load_schema(id)["comment"] == "made by another client"


@scenario(
    "a declared table is an external table of the format TEXT with the mark of Lance, its properties and no columns, "
    "and gone for other clients when it is deregistered",
    backends=UNITY,
    dialect=True,
    clauses=[
        "unity.table.1",
        "unity.table.3",
        "unity.table.4",
        "unity.table.6",
        "unity.lance-table-identification.6",
        "unity.declare-table.steps.6",
        "unity.deregister-table.steps.3",
    ],
)
def tables_of_the_catalog(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    declared = ns.declare_table(table, properties={"owner": "ann", "table_type": "delta"})
    found = unity(world).load(table)
    assert (found["catalog_name"], found["schema_name"], found["name"]) == table
    assert (found["table_type"], found["data_source_format"]) == ("EXTERNAL", "TEXT")
    assert found["properties"] == {"owner": "ann", "table_type": "lance"} == declared.properties
    assert found["storage_location"] == declared.location == ns.describe_table(table).location
    assert not found.get("columns")
    ns.deregister_table(table)
    assert unity(world).load(table) is None


@scenario(
    "a schema is not dropped by force when data would be deleted: that of a managed table goes with its entry",
    backends=UNITY,
    clauses=["contract.data-safety.2"],
)
def managed_tables_are_spared(ns: Namespace, world: World) -> None:
    native = unity(world)
    id = world.namespace()
    location = native.make_managed((*id, "theirs"))
    if location is None:
        world.skip("this server is not set up for managed tables")
    try:
        ns.declare_table((*id, "ours"))
        assert list(ns.list_tables(id)) == ["ours"], "a managed table is no Lance table, whatever its mark"
        for call in (ns.describe_table, ns.deregister_table):
            with raises(ErrorCode.INVALID_INPUT):
                call((*id, "theirs"))
        for behavior in ("restrict", "cascade"):
            with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
                ns.drop_namespace(id, behavior=behavior)
        assert native.holds((*id, "theirs"))
        assert native.holds((*id, "ours"))
    finally:
        native.remove_managed((*id, "theirs"))


# --- locations and storage --------------------------------------------------------------------------------------------


@scenario(
    "without a location a table lies below root: catalog, schema, name; without root below the working directory",
    backends=UNITY,
    dialect=True,
    clauses=[
        "unity.declare-table.steps.5",
        "unity.namespace-implementation-configuration-properties.properties.14",
        "unity.namespace-implementation-configuration-properties.properties.15",
        "decisions.default-locations.3",
    ],
)
def default_locations(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with connected_with(world, {"root": f"{world.scratch}/elsewhere"}) as other:
        location = other.declare_table((*id, "t")).location
    assert path(location) == f"{world.scratch}/elsewhere/{'/'.join(id)}/t"
    with towards(world, lambda _: Reply(418), root=None) as (rootless, server):
        with raises(ErrorCode.INTERNAL):
            rootless.declare_table((*id, "t"))
        asked = json.loads(server.seen[-1].body)
    assert asked["storage_location"] == Path.cwd().joinpath(*id, "t").as_uri()


@scenario(
    "a relative location is the client's, not the server's, and declare answers as describe does",
    backends=UNITY,
    clauses=["decisions.default-locations.7"],
)
def relative_locations(ns: Namespace, world: World) -> None:
    with towards(world, lambda _: Reply(418)) as (other, server):
        for location, sent in {
            "below/t": Path.cwd().joinpath("below", "t").as_uri(),
            "/with a space/ü": "file:///with%20a%20space/%C3%BC",
            "file:///as/it/is": "file:///as/it/is",
            "s3://bucket/t": "s3://bucket/t",
        }.items():
            with raises(ErrorCode.INTERNAL):
                other.declare_table((*world.namespace(), "t"), location=location)
            assert json.loads(server.seen[-1].body)["storage_location"] == sent


@scenario(
    "a location with spaces and letters of any script is declared, and its data written and read",
    backends=UNITY,
    dialect=True,
    clauses=["unity.table.3"],
)
def unusual_locations(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    table = (*world.created(ns), "t")
    place = world.scratch / "with a space" / "größe"
    ns.write(table, pa.table({"id": [1, 2]}), location=str(place))
    assert place.is_dir()
    assert ns.dataset(table).count_rows() == 2


@scenario(
    "storage properties come back as storage options without their prefix, and there are none without any",
    backends=UNITY,
    clauses=["unity.namespace-implementation-configuration-properties.properties.16"],
)
def storage_options(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with connected_with(world, {"storage.region": "north"}) as other:
        assert other.declare_table(table, properties={"flavour": "sweet"}).storage_options == {"region": "north"}
        assert other.describe_table(table).storage_options == {"region": "north"}
    assert ns.describe_table(table).storage_options == {}


# --- columns ----------------------------------------------------------------------------------------------------------


@scenario(
    "the schema given to a declare, a registration or a write becomes columns; through the bridge there are none",
    backends=UNITY,
    dialect=True,
    needs=["register_table"],
    clauses=[
        "unity.table.5",
        *(f"decisions.unity-with-another-catalog.{number}" for number in (8, 9, 10, 11)),
    ],
)
def columns(ns: Namespace, world: World) -> None:
    import lance
    import pyarrow as pa

    id = world.created(ns)
    vectors = pa.field("vector", pa.list_(pa.float32(), 2))
    data = pa.table({"id": [1], "vector": [[0.5, 1.0]]}, schema=pa.schema([("id", pa.int64()), vectors]))
    expected = {"id": "bigint", "vector": "array<float>"}
    ns.declare_table((*id, "declared"), schema=data.schema)
    ns.write((*id, "written"), data)
    ns.create_table((*id, "created"), data)
    ns.register_table((*id, "registered"), f"{world.scratch}/registered", schema=data.schema)
    for name in ("declared", "written", "created", "registered"):
        assert types_of(unity(world).load((*id, name))["columns"]) == expected, name
    lance.write_dataset(data, namespace_client=ns.as_lance(), table_id=[*id, "bridged"], mode="create")
    assert not unity(world).load((*id, "bridged")).get("columns")


@scenario(
    "the columns of a table come back as its schema when details are asked for, of every type as it was given",
    backends=UNITY,
    dialect=True,
    clauses=["unity.table.5", "unity.describe-table.steps.4", "decisions.unity-with-another-catalog.8"],
)
def columns_come_back(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    from lance_ns.lance.schema import to_json

    table = (*world.created(ns), "t")
    schema = pa.schema(
        [
            pa.field("Id", pa.int64(), nullable=False),
            pa.field("flag", pa.bool_()),
            *(pa.field(f"n{bits}", kind) for bits, kind in enumerate([pa.int8(), pa.int16(), pa.int32()])),
            *(pa.field(f"u{bits}", kind) for bits, kind in enumerate([pa.uint8(), pa.uint16(), pa.uint32()])),
            pa.field("u64", pa.uint64()),
            *(pa.field(f"f{bits}", kind) for bits, kind in enumerate([pa.float16(), pa.float32(), pa.float64()])),
            pa.field("amount", pa.decimal128(12, 3)),
            pa.field("huge", pa.decimal256(60, 2)),
            *(pa.field(f"text{at}", kind) for at, kind in enumerate([pa.string(), pa.large_string()])),
            *(pa.field(f"raw{at}", kind) for at, kind in enumerate([pa.binary(), pa.large_binary(), pa.binary(16)])),
            pa.field("day", pa.date32()),
            pa.field("at", pa.timestamp("us", tz="UTC")),
            pa.field("local", pa.timestamp("ns")),
            *(pa.field(f"time{at}", kind) for at, kind in enumerate([pa.time32("s"), pa.time64("us")])),
            pa.field("took", pa.duration("us")),
            pa.field("nothing", pa.null()),
            pa.field("label", pa.dictionary(pa.int16(), pa.string())),
            pa.field("vector", pa.list_(pa.float32(), 8)),
            pa.field("tags", pa.large_list(pa.field("item", pa.string(), nullable=False))),
            pa.field("point", pa.struct([pa.field("X", pa.float64()), pa.field("größe", pa.list_(pa.int8()))])),
            pa.field("counts", pa.map_(pa.string(), pa.int64())),
            pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
        ]
    )
    ns.declare_table(table, schema=schema)
    assert [column["name"] for column in unity(world).load(table)["columns"]] == schema.names
    assert ns.describe_table(table, load_detailed_metadata=True).schema == to_json(schema)
    assert ns.call(DescribeTableRequest(id=table)).schema is None, "nobody asked for it"


@scenario(
    "columns that another client wrote in its own way are read as far as they can be",
    backends=UNITY,
    clauses=["unity.table.5"],
)
def columns_of_others(ns: Namespace, world: World) -> None:
    def answer(asked: Asked) -> Reply:
        return Reply(
            body={
                "name": "t",
                "table_type": "EXTERNAL",
                "storage_location": f"file://{world.scratch}/t",
                "properties": {"table_type": "lance"},
                "columns": [
                    {"name": "text", "type_text": "BIGINT", "position": 2},
                    {"name": "bare", "type_json": '"double"', "position": 1, "nullable": False},
                    {"name": "odd", "type_json": "{not json", "type_text": "geometry(4326)", "position": 3},
                    {"name": "name", "type_name": "VARIANT", "position": "last"},
                    {},
                    "nonsense",
                ],
            }
        )

    with towards(world, answer) as (other, _):
        found = other.call(DescribeTableRequest(id=(*world.namespace(), "t"), with_columns=True)).schema
    kinds = {field["name"]: (field["type"]["type"], field["nullable"]) for field in (found or {})["fields"]}
    assert kinds == {
        "bare": ("float64", False),
        "text": ("int64", True),
        "odd": ("geometry(4326)", True),
        "name": ("variant", True),
        "": ("unknown", True),
    }


# --- the way to the server --------------------------------------------------------------------------------------------


@scenario(
    "calls go to the usual path of the API, or to the one that is given, and without a token carry none",
    backends=UNITY,
    clauses=[
        "unity.namespace-implementation-configuration-properties.properties.4",
        "unity.namespace-implementation-configuration-properties.properties.5",
        "unity.namespace-implementation-configuration-properties.properties.6",
    ],
)
def api_path(ns: Namespace, world: World) -> None:
    for given, expected in {None: API, "/custom/api/": "/custom/api", "custom": "/custom", "/": ""}.items():
        with towards(world, lambda _: Reply(418), auth_token=None, api_path=given) as (other, server):
            for call in every_operation(world, other).values():
                with raises(ErrorCode.INTERNAL):
                    call()
            assert all(asked.path.startswith((f"{expected}/schemas", f"{expected}/tables")) for asked in server.seen)
            assert not any("Authorization" in asked.headers for asked in server.seen)


@scenario(
    "a route that the server does not have is an error of the connection, never a missing namespace or table",
    backends=UNITY,
    dialect=True,
    clauses=["contract.data-safety.10"],
)
def wrong_path(ns: Namespace, world: World) -> None:
    with connected_with(world, {"api_path": "/api/0.0/nothing"}) as lost:
        for operation, call in every_operation(world, lost).items():
            error = failure(call)
            assert error.code is ErrorCode.INTERNAL, f"{operation}: {error}"
            assert "api_path" in str(error), "the error says where to look"


@scenario(
    "an empty page without its list is an empty listing only when the schema, or the catalog, is there",
    backends=UNITY,
    clauses=["contract.names-in-lists.7", "contract.data-safety.10"],
)
def listing_without_a_list(ns: Namespace, world: World) -> None:
    there = [True]

    def answer(asked: Asked) -> Reply:
        if "?" in asked.path:
            return Reply(body={})
        missing = Reply(404, {"errorCode": "RESOURCE_NOT_FOUND", "message": "The requested resource does not exist."})
        return Reply(body={"name": "x"}) if there[0] else missing

    with towards(world, answer) as (other, _):
        listings: list[Callable[[], Any]] = [
            lambda: list(other.list_tables(world.namespace())),
            lambda: list(other.list_namespaces(world.expect.base)),
        ]
        for listing in listings:
            there[0] = True
            assert listing() == []
            there[0] = False
            with raises(ErrorCode.NAMESPACE_NOT_FOUND):
                listing()
