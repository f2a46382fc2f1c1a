"""What is Hive's own: catalogs above databases, fields beside properties, external tables, and the metastore's lock."""

from typing import Any, Protocol, cast

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels, same_place
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.scenarios.rest import every_operation
from lance_ns_conformance.stand_in import Reply, StandIn
from lance_ns_conformance.together import outcomes
from lance_ns_conformance.world import World

HIVE = ("hive3",)
FIELDS = {
    "database.description": "what it is for",
    "database.owner": "ann",
    "database.owner-type": "GROUP",
}


class HiveClient(NativeClient, Protocol):
    """What these scenarios ask of the metastore beyond the common."""

    @property
    def metastore(self) -> Any:
        """All its calls."""

    def table(self, id: Levels) -> Any:
        """What it has of a table, None when there is none."""


def hive(world: World) -> HiveClient:
    """The metastore's own calls."""
    return cast("HiveClient", world.needs_native())


def catalog(ns: Namespace, world: World) -> str:
    """The name of a catalog that was created just now."""
    name = world.name("cat")
    ns.drop_namespace([name], mode="skip", behavior="cascade")
    ns.create_namespace([name], properties={"catalog.location-uri": f"{world.scratch}/{name}"})
    return name


@scenario(
    "the root holds the catalogs, a catalog its databases and no others, each listed in order and page by page",
    backends=HIVE,
    dialect=True,
    clauses=[
        "hive3.namespace.1",
        "hive3.namespace.2",
        "hive3.list-namespaces.steps.1",
        "hive3.list-namespaces.steps.2",
        "hive3.list-namespaces.steps.3",
        "hive3.list-namespaces.steps.4",
        "decisions.depth.8",
    ],
)
def levels(ns: Namespace, world: World) -> None:
    name = catalog(ns, world)
    try:
        assert name in ns.list_namespaces()
        assert "hive" in ns.list_namespaces()
        for database in ("b", "a"):
            ns.create_namespace([name, database])
        assert list(ns.list_namespaces([name])) == ["a", "b", "default"]
        page = ns.list_namespaces_page([name], limit=2)
        assert page.namespaces == ["a", "b"]
        assert ns.list_namespaces_page([name], limit=2, page_token=page.page_token).namespaces == ["default"]
        assert "a" not in ns.list_namespaces(["hive"])
    finally:
        ns.drop_namespace([name], behavior="cascade")


@scenario(
    "a catalog has a name, a description and a location, and room for nothing else",
    backends=HIVE,
    dialect=True,
    clauses=["hive3.namespace.10", "hive3.create-namespace.steps.2", "hive3.describe-namespace.steps.1"],
)
def catalogs(ns: Namespace, world: World) -> None:
    name = world.name("cat")
    location = f"{world.scratch}/{name}"
    ns.create_namespace([name], properties={"catalog.description": "ours", "catalog.location-uri": location})
    try:
        found = ns.describe_namespace([name]).properties or {}
        assert found["catalog.description"] == "ours"
        assert same_place(found["catalog.location-uri"], location)
        stored = hive(world).metastore.get_catalog(name)
        assert (stored.name, stored.description) == (name, "ours")
        with raises(ErrorCode.INVALID_INPUT):
            ns.create_namespace([world.name("other")], properties={"team": "ml"})
        ns.create_namespace([name], mode="overwrite", properties={"catalog.description": "theirs"})
        assert (ns.describe_namespace([name]).properties or {})["catalog.description"] == "theirs"
    finally:
        ns.drop_namespace([name])


@scenario(
    "a database keeps its properties among its parameters, and description, location, owner and its kind in fields",
    backends=HIVE,
    dialect=True,
    clauses=[
        *(f"hive3.namespace.{number}" for number in range(5, 10)),
        "hive3.create-namespace.steps.3",
        "hive3.describe-namespace.steps.2",
    ],
)
def databases(ns: Namespace, world: World) -> None:
    location = f"{world.scratch}/place"
    id = world.created(ns, properties={**FIELDS, "database.location-uri": location, "team": "ml"})
    stored = hive(world).metastore.get_database(*id)
    assert stored.parameters == {"team": "ml"}
    assert (stored.description, stored.owner_name, stored.owner_type) == ("what it is for", "ann", 3)
    assert same_place(stored.location_uri, location)
    found = ns.describe_namespace(id).properties or {}
    assert found.items() >= {**FIELDS, "team": "ml"}.items()
    assert same_place(found["database.location-uri"], location)
    with raises(ErrorCode.INVALID_INPUT):
        ns.create_namespace(world.namespace("bad"), properties={"database.owner-type": "nobody"})


@scenario(
    "creating a database in a missing catalog, and listing one, answers NamespaceNotFound",
    backends=HIVE,
    dialect=True,
    clauses=["hive3.create-namespace.errors.2", "hive3.list-namespaces.errors.1"],
)
def missing_catalog(ns: Namespace, world: World) -> None:
    absent = world.name("absent")
    for call in (
        lambda: ns.create_namespace([absent, "d"]),
        lambda: list(ns.list_namespaces([absent])),
        lambda: list(ns.list_tables([absent, "d"])),
        lambda: ns.declare_table([absent, "d", "t"]),
    ):
        with raises(ErrorCode.NAMESPACE_NOT_FOUND):
            call()


@scenario(
    "Restrict refuses a catalog with databases, and one with an empty default alone is dropped, for all clients",
    backends=HIVE,
    dialect=True,
    clauses=[
        "hive3.drop-namespace.steps.2",
        "hive3.drop-namespace.steps.3",
        "hive3.drop-namespace.steps.5",
        "decisions.drop.7",
    ],
)
def dropped_catalogs(ns: Namespace, world: World) -> None:
    name = catalog(ns, world)
    try:
        ns.create_namespace([name, "d"])
        with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
            ns.drop_namespace([name])
        ns.drop_namespace([name, "d"])
        ns.declare_table([name, "default", "t"])
        with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
            ns.drop_namespace([name])
        ns.deregister_table([name, "default", "t"])
    except BaseException:
        ns.drop_namespace([name], behavior="cascade")
        raise
    ns.drop_namespace([name])
    assert name not in hive(world).metastore.get_catalogs()


@scenario(
    "a declared table is an external one of the metastore, with our mark, its properties and its location",
    backends=HIVE,
    dialect=True,
    clauses=[
        "hive3.table.1",
        "hive3.table.3",
        "hive3.table.4",
        "hive3.declare-table.steps.2",
        "hive3.declare-table.steps.5",
        "hive3.deregister-table.steps.2",
    ],
)
def external(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    declared = ns.declare_table(table, properties={"owner": "ann"})
    stored = hive(world).table(table)
    assert stored.table_type == "EXTERNAL_TABLE"
    assert stored.parameters["EXTERNAL"].upper() == "TRUE"
    assert (stored.parameters["table_type"], stored.parameters["owner"]) == ("lance", "ann")
    assert same_place(stored.sd.location, str(declared.location))
    with raises(ErrorCode.INVALID_INPUT):
        ns.declare_table((*table[:-1], "u"), properties={"external.table.purge": "true"})
    ns.alter_table_properties(table, updates={"owner": "bob"})
    assert hive(world).table(table).table_type == "EXTERNAL_TABLE", "an alter must not make it a managed one"
    ns.deregister_table(table)
    assert hive(world).table(table) is None


@scenario(
    "a table without a location lies below root, else below its database",
    backends=HIVE,
    clauses=[
        "decisions.default-locations.2",
        "decisions.default-locations.4",
        "hive3.namespace-implementation-configuration-properties.properties.3",
        "hive3.namespace-implementation-configuration-properties.properties.4",
        "hive3.namespace-implementation-configuration-properties.properties.5",
        "hive3.list-tables.steps.3",
    ],
)
def default_locations(ns: Namespace, world: World) -> None:
    above = f"{world.scratch}/above"
    id = world.created(ns, properties={"database.location-uri": above})
    with connected_with(world, {"root": f"{world.scratch}/r", "storage.region": "eu"}) as rooted:
        location = str(rooted.declare_table((*id, "b")).location)
        assert same_place(location, f"{world.scratch}/r/{'/'.join(id)}/b")
        assert rooted.describe_table((*id, "b")).storage_options == {"region": "eu"}
    with connected_with(world, {"root": None}) as rootless:
        assert same_place(str(rootless.declare_table((*id, "a")).location), f"{above}/a")
    assert list(ns.list_tables(id)) == ["a", "b"]


@scenario(
    "a metastore that cannot be reached gives ServiceUnavailable, whatever it is asked",
    backends=HIVE,
    live_only=True,
    clauses=[
        "decisions.hive.1",
        *(
            f"hive3.{operation}.errors.{number}"
            for operation, number in {
                "create-namespace": 3,
                "list-namespaces": 2,
                "describe-namespace": 2,
                "drop-namespace": 3,
                "declare-table": 3,
                "list-tables": 2,
                "describe-table": 3,
                "deregister-table": 3,
            }.items()
        ),
    ],
)
def unreachable(ns: Namespace, world: World) -> None:
    with connected_with(world, {"uri": nobody(), "connect_timeout": 1}) as other:
        for call in every_operation(world, other).values():
            with raises(ErrorCode.SERVICE_UNAVAILABLE):
                call()


@scenario(
    "of several addresses one that answers is enough",
    backends=HIVE,
    live_only=True,
    clauses=["decisions.hive.2"],
)
def several_addresses(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    uri = str(world.properties()["uri"])
    for both in (f"{nobody()},{uri}", f"{uri},{nobody()}"):
        with connected_with(world, {"uri": both, "connect_timeout": 1}) as other:
            assert other.namespace_exists(id)


@scenario(
    "without uri the metastore is the one that hive-site.xml names",
    backends=HIVE,
    live_only=True,
    clauses=["decisions.hive.3"],
)
def hive_site(ns: Namespace, world: World) -> None:
    import os

    id = world.created(ns)
    entry = "<property><name>hive.metastore.uris</name><value>{}</value></property>"
    site = f"<configuration>{entry.format(world.properties()['uri'])}</configuration>"
    (world.scratch / "hive-site.xml").write_text(site, encoding="utf-8")
    before = os.environ.get("HIVE_CONF_DIR")
    os.environ["HIVE_CONF_DIR"] = str(world.scratch)
    try:
        with connected_with(world, {"uri": None}) as other:
            assert other.namespace_exists(id)
    finally:
        if before is None:
            del os.environ["HIVE_CONF_DIR"]
        else:
            os.environ["HIVE_CONF_DIR"] = before


@scenario(
    "more threads than connections all get their answers",
    backends=HIVE,
    live_only=True,
    clauses=["hive3.namespace-implementation-configuration-properties.properties.2"],
)
def more_threads_than_connections(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with connected_with(world, {"client.pool-size": 2}) as narrow:
        assert outcomes(lambda _: narrow.describe_table(table), 16) == {"ok": 16}


@scenario(
    "of several writers that change a table's properties at once none loses an update",
    backends=HIVE,
    live_only=True,
    needs=["alter_table_properties"],
    clauses=["decisions.hive.4"],
)
def no_lost_update(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with world.connect() as other:
        who = [ns, other] * 4
        changed = outcomes(lambda number: who[number].alter_table_properties(table, updates={f"k{number}": "v"}), 8)
    assert changed == {"ok": 8}
    properties = ns.describe_table(table).properties or {}
    assert {key for key in properties if key.startswith("k")} == {f"k{number}" for number in range(8)}


def nobody() -> str:
    """An address at which nobody listens."""
    with StandIn(lambda _: Reply()) as server:
        return f"thrift://127.0.0.1:{server.port}"
