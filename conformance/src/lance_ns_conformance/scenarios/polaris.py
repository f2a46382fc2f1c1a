"""What is Polaris' own: catalogs as first levels, generic tables, and names shared with Iceberg tables."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, cast

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.scenarios.rest import configured, towards
from lance_ns_conformance.stand_in import Asked, Reply
from lance_ns_conformance.world import World

POLARIS = ("polaris",)


class PolarisClient(NativeClient, Protocol):
    """What these scenarios ask of a plain Polaris client beyond the common."""

    def load(self, id: Levels) -> Any:
        """What the server says of a generic table."""

    def load_namespace(self, id: Levels) -> Any:
        """What the server says of a namespace."""

    def catalog(self, name: str) -> AbstractContextManager[None]:
        """A further catalog, for as long as it is used."""


def polaris(world: World) -> PolarisClient:
    """A plain client of the catalog."""
    return cast("PolarisClient", world.needs_native())


@scenario(
    "a declared table is a generic table of format lance, with its location, the given properties and table_type",
    backends=POLARIS,
    dialect=True,
    clauses=[
        "polaris.background.1",
        "polaris.table.1",
        "polaris.table.3",
        "polaris.table.4",
        "polaris.lance-table-identification.5",
        "polaris.declare-table.steps.2",
        "polaris.declare-table.steps.6",
        "polaris.describe-table.steps.4",
        "polaris.describe-table.steps.5",
        "decisions.storage-options.2",
    ],
)
def generic_table(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    location = f"{world.scratch}/somewhere/t"
    ns.declare_table(table, location=location, properties={"owner": "ann"})
    held = polaris(world).load(table)
    assert held["name"] == "t"
    assert held["format"] == "lance"
    assert held["base-location"] == location
    assert held["properties"] == {"owner": "ann", "table_type": "lance"}
    described = ns.describe_table(table)
    assert described.location == location
    assert {**(described.storage_options or {})}.items() >= held["properties"].items()


@scenario(
    "a property doc is the description that the catalog holds, and comes back as that property",
    backends=POLARIS,
    dialect=True,
    clauses=["polaris.table.5", "polaris.declare-table.steps.5"],
)
def description(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"doc": "all that was said", "owner": "ann"})
    held = polaris(world).load(table)
    assert held["doc"] == "all that was said"
    assert "doc" not in held["properties"]
    assert (ns.describe_table(table).properties or {})["doc"] == "all that was said"
    ns.declare_table((*table[:-1], "silent"))
    assert "doc" not in (ns.describe_table((*table[:-1], "silent")).properties or {})


@scenario(
    "a namespace of ours is one of the catalog's, with its levels and properties",
    backends=POLARIS,
    dialect=True,
    clauses=["polaris.namespace.6", "polaris.create-namespace.steps.2"],
)
def namespaces_of_the_catalog(ns: Namespace, world: World) -> None:
    id = (*world.created(ns, properties={"team": "ml"}), "inner.most")
    ns.create_namespace(id, properties={"team": "vision"})
    for each, team in ((id[:-1], "ml"), (id, "vision")):
        found = polaris(world).load_namespace(each)
        assert found["namespace"] == [*each[1:]]
        assert found["properties"]["team"] == team


@scenario(
    "generic tables of format lance are Lance tables, in any spelling and without any property; those of another "
    "format and Iceberg tables are not",
    backends=POLARIS,
    dialect=True,
    clauses=[
        "polaris.lance-table-identification.1",
        "polaris.lance-table-identification.2",
        "polaris.lance-table-identification.3",
        "polaris.lance-table-identification.6",
        "polaris.list-tables.steps.2",
        "polaris.describe-table.errors.2",
        "polaris.deregister-table.steps.3",
        "decisions.listings.1",
    ],
)
def identification(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    native = polaris(world)
    foreign = native.make_foreign(id, "other")
    try:
        for spelling in ("lance", "LANCE", "Lance"):
            native.make_lance((*id, f"t_{spelling}"), f"{world.scratch}/{spelling}", spelling)
        assert list(ns.list_tables(id)) == ["t_LANCE", "t_Lance", "t_lance"]
        for name in list(ns.list_tables(id)):
            assert ns.describe_table((*id, name)).location == f"{world.scratch}/{name.removeprefix('t_')}"
            ns.deregister_table((*id, name))
        for name in foreign:
            for call in (ns.describe_table, ns.deregister_table):
                with raises(ErrorCode.INVALID_INPUT):
                    call((*id, name))
            assert not ns.table_exists((*id, name))
            assert native.holds((*id, name))
    finally:
        for name in foreign:
            native.remove((*id, name))


@scenario(
    "a deregistered table is gone for other clients too",
    backends=POLARIS,
    dialect=True,
    clauses=["polaris.deregister-table.steps.2"],
)
def gone_for_others(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    assert polaris(world).holds(table)
    ns.deregister_table(table)
    assert not polaris(world).holds(table)


@scenario(
    "the root cannot be listed, and a catalog alone can be listed but neither created, described nor dropped",
    backends=POLARIS,
    dialect=True,
    clauses=[
        "polaris.namespace.2",
        "polaris.list-namespaces.steps.1",
        "polaris.create-namespace.steps.1",
        "polaris.describe-namespace.steps.1",
        "polaris.drop-namespace.steps.2",
        "decisions.depth.7",
    ],
)
def depths(ns: Namespace, world: World) -> None:
    catalog = world.expect.base
    calls: list[Callable[[], Any]] = [
        ns.list_namespaces_page,
        lambda: ns.create_namespace(catalog),
        lambda: ns.create_namespace(catalog, mode="exist_ok"),
        lambda: ns.describe_namespace(catalog),
        lambda: ns.drop_namespace(catalog),
        lambda: ns.drop_namespace(catalog, mode="skip"),
        lambda: ns.list_tables_page(catalog),
    ]
    for call in calls:
        with raises(ErrorCode.INVALID_INPUT):
            call()
    assert world.created(ns)[-1] in ns.list_namespaces(catalog)


@scenario(
    "the first level of an identifier says which catalog is meant, and one connection reaches several",
    backends=POLARIS,
    clauses=["polaris.catalog.1", "polaris.catalog.2"],
)
def several_catalogs(ns: Namespace, world: World) -> None:
    here = world.created(ns)
    other = world.name("catalog")
    there = (other, here[-1])
    with polaris(world).catalog(other):
        assert not ns.namespace_exists(there)
        ns.create_namespace(there, properties={"where": "there"})
        ns.declare_table((*there, "t"))
        assert list(ns.list_namespaces((other,))) == [here[-1]]
        assert list(ns.list_tables(there)) == ["t"]
        assert list(ns.list_tables(here)) == []
        assert "where" not in (ns.describe_namespace(here).properties or {})
        ns.deregister_table((*there, "t"))
        ns.drop_namespace(there)
        assert ns.namespace_exists(here)


@scenario(
    "calls in a catalog that does not exist answer that the namespace, or the table, is missing",
    backends=POLARIS,
    dialect=True,
    clauses=["polaris.catalog.1", "decisions.describe-and-deregister-in-a-missing-namespace.1"],
)
def missing_catalog(ns: Namespace, world: World) -> None:
    id = (world.name("absent"), "ns")
    for call in (
        lambda: ns.create_namespace(id),
        lambda: ns.describe_namespace(id),
        lambda: ns.drop_namespace(id),
        lambda: ns.list_namespaces_page(id[:1]),
        lambda: ns.list_namespaces_page(id),
        lambda: ns.list_tables_page(id),
        lambda: ns.declare_table((*id, "t")),
    ):
        with raises(ErrorCode.NAMESPACE_NOT_FOUND):
            call()
    for look in (ns.describe_table, ns.deregister_table):
        with raises(ErrorCode.TABLE_NOT_FOUND):
            look((*id, "t"))


@scenario(
    "with qualified_names namespaces are listed with the catalog in front and dots between levels, page by page too",
    backends=POLARIS,
    clauses=["polaris.list-namespaces.steps.4", "decisions.names.3"],
)
def qualified_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in ("a", "b", "c"):
        ns.create_namespace((*id, name))
    with connected_with(world, {"qualified_names": True}) as other:
        assert list(other.list_namespaces(id)) == [".".join((*id, name)) for name in ("a", "b", "c")]
        assert ".".join(id) in other.list_namespaces(id[:1])
        first = other.list_namespaces_page(id, limit=2)
        assert first.namespaces == [".".join((*id, name)) for name in ("a", "b")]
        second = other.list_namespaces_page(id, limit=2, page_token=first.page_token)
        assert (second.namespaces, second.page_token) == ([".".join((*id, "c"))], None)
    assert list(ns.list_namespaces(id)) == ["a", "b", "c"]


@scenario(
    "without a location a table lies below root, else below its namespace's location, else the working directory",
    backends=POLARIS,
    clauses=[
        "polaris.declare-table.steps.4",
        "decisions.default-locations.2",
        "decisions.default-locations.4",
        "decisions.default-locations.5",
        "decisions.default-locations.6",
    ],
)
def default_locations(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with connected_with(world, {"root": f"{world.scratch}/elsewhere"}) as other:
        location = other.declare_table((*id, "below_root")).location
        assert location == f"{world.scratch}/elsewhere/{'/'.join(id)}/below_root"

    creations: list[Any] = []

    def declared_in(namespace: dict[str, str]) -> str:
        def answer(asked: Asked) -> Reply:
            if asked.method == "POST":
                creations.append(json.loads(asked.body))
                return Reply(418)
            return configured(Reply(body={"namespace": [*id[1:]], "properties": namespace}))(asked)

        with towards(world, answer, root=None) as (rootless, _), raises(ErrorCode.INTERNAL):
            rootless.declare_table((*id, "t"))
        return str(creations[-1]["base-location"])

    assert declared_in({"location": "s3://lake/of/the/namespace/"}) == "s3://lake/of/the/namespace/t"
    assert declared_in({}) == f"{Path.cwd()}/{'/'.join(id)}/t"


@scenario(
    "a namespace whose name would lead elsewhere in a URI gives its tables no default location",
    backends=POLARIS,
    clauses=["contract.data-safety.1"],
)
def misleading_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with connected_with(world, {"root": None}) as rootless:
        for name in ("a#b", "a?b", "up/../../away", "%41"):
            inner = (*id, name)
            ns.create_namespace(inner)
            with raises(ErrorCode.INVALID_INPUT):
                rootless.declare_table((*inner, "t"))
            assert list(rootless.list_tables(inner)) == []
            given = rootless.declare_table((*inner, "t"), location=f"{world.scratch}/t").location
            assert given == f"{world.scratch}/t"


@scenario(
    "a location that is neither a URI nor an absolute path answers InvalidInput, and nothing is made",
    backends=POLARIS,
    clauses=["polaris.declare-table.steps.3"],
)
def locations_are_checked(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for location in ("", "relative/path", "./here", "s3:", "~/home", " /spaced"):
        with raises(ErrorCode.INVALID_INPUT):
            ns.declare_table((*id, "t"), location=location)
        with raises(ErrorCode.INVALID_INPUT):
            ns.register_table((*id, "t"), location)
    assert list(ns.list_tables(id)) == []
    ns.declare_table((*id, "t"), location="s3://bucket/lake/t")
    assert ns.describe_table((*id, "t")).location == "s3://bucket/lake/t"


@scenario(
    "a name that the server refuses answers InvalidInput, and nothing is made",
    backends=POLARIS,
    dialect=True,
    clauses=["contract.errors.1"],
)
def refused_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in ("a b", "a%b", "a\\b", "a|b"):
        with raises(ErrorCode.INVALID_INPUT):
            ns.create_namespace((*id, name))
        assert not ns.namespace_exists((*id, name))
    for call in (
        lambda: ns.create_namespace((*id, "reserved"), properties={"polaris.x": "y"}),
        lambda: ns.declare_table((*id, "reserved"), properties={"polaris.x": "y"}),
    ):
        with raises(ErrorCode.INVALID_INPUT):
            call()
    assert list(ns.list_namespaces(id)) == []
    assert list(ns.list_tables(id)) == []


@scenario(
    "prefix and separator are what the server's configuration says, in the paths of tables too",
    backends=POLARIS,
    clauses=["decisions.polaris-wire.3"],
)
def prefix_and_separator(ns: Namespace, world: World) -> None:
    def answer(asked: Asked) -> Reply:
        if "/config?" in asked.path:
            return Reply(body={"defaults": {}, "overrides": {"prefix": "pre%7Cfix", "namespace-separator": "%2E"}})
        return Reply(418)

    catalog = world.expect.base[0]
    with towards(world, answer) as (other, server):
        for call in (
            lambda: other.describe_namespace((catalog, "a", "b/c")),
            lambda: other.list_namespaces_page((catalog, "a", "b/c")),
            lambda: other.describe_table((catalog, "a", "b/c", "t u")),
        ):
            with raises(ErrorCode.INTERNAL):
                call()
        assert [asked.path for asked in server.seen] == [
            f"/api/catalog/v1/config?warehouse={catalog}",
            "/api/catalog/v1/pre%7Cfix/namespaces/a%2Eb%2Fc",
            "/api/catalog/v1/pre%7Cfix/namespaces?parent=a.b%2Fc",
            "/api/catalog/polaris/v1/pre%7Cfix/namespaces/a%2Eb%2Fc/generic-tables/t%20u",
        ]


@scenario(
    "a server without generic tables answers table calls with an error, never with an empty list",
    backends=POLARIS,
    clauses=["polaris.background.2"],
)
def without_generic_tables(ns: Namespace, world: World) -> None:
    def answer(asked: Asked) -> Reply:
        missing = {"message": "Unable to find matching target resource method", "type": "NotFoundException"}
        return configured(Reply(404, {"error": {**missing, "code": 404}}))(asked)

    id = world.namespace()
    with towards(world, answer) as (other, _):
        for call in (
            lambda: other.list_tables_page(id),
            lambda: other.describe_table((*id, "t")),
            lambda: other.declare_table((*id, "t")),
            lambda: other.deregister_table((*id, "t")),
            lambda: other.table_exists((*id, "t")),
        ):
            with raises(ErrorCode.INTERNAL):
                call()
