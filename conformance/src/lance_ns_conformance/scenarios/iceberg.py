"""What is Iceberg's own: warehouses, prefixes, separators, and the Iceberg table beside every Lance table."""

import json
from pathlib import Path
from typing import Any, Protocol, cast

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with, failure
from lance_ns_conformance.scenarios.rest import configured, towards
from lance_ns_conformance.stand_in import Asked, Reply
from lance_ns_conformance.world import World

ICEBERG = ("iceberg",)
DUMMY = [{"id": 1, "name": "dummy", "required": False, "type": "string"}]


class IcebergClient(NativeClient, Protocol):
    """What these scenarios ask of a plain Iceberg client beyond the common."""

    def load(self, id: Levels) -> Any:
        """The server's answer to loading a table."""

    def load_namespace(self, id: Levels) -> Any:
        """The server's answer to loading a namespace, None when there is none."""


def iceberg(world: World) -> IcebergClient:
    """A plain client of the catalog."""
    if world.native is None:
        world.skip("needs a client of the catalog that is not ours")
    return cast("IcebergClient", world.native)


def path(location: str) -> str:
    """A location without the scheme that servers put before local paths."""
    return location.removeprefix("file://").removeprefix("file:")


@scenario(
    "a declared table is an Iceberg table with one optional string column, dummy, the given properties and table_type",
    backends=ICEBERG,
    dialect=True,
    clauses=[
        "iceberg.background.1",
        "iceberg.table.1",
        "iceberg.table.3",
        "iceberg.table.4",
        "iceberg.declare-table.steps.1",
        "iceberg.declare-table.steps.4",
        "iceberg.declare-table.steps.5",
        "iceberg.describe-table.steps.3",
    ],
)
def companion(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    declared = ns.declare_table(table, properties={"owner": "ann"})
    metadata = iceberg(world).load(table)["metadata"]
    fields = [
        schema["fields"] for schema in metadata["schemas"] if schema["schema-id"] == metadata["current-schema-id"]
    ]
    assert fields == [DUMMY]
    assert metadata["location"] == declared.location == ns.describe_table(table).location
    assert metadata["properties"]["table_type"] == "lance"
    assert metadata["properties"]["owner"] == "ann"


@scenario(
    "a namespace of ours is one of the catalog's, with its levels and properties, and gone after the drop",
    backends=ICEBERG,
    dialect=True,
    clauses=[
        "iceberg.namespace.7",
        "iceberg.create-namespace.steps.1",
        "iceberg.create-namespace.steps.2",
        "iceberg.describe-namespace.steps.1",
        "iceberg.drop-namespace.steps.3",
        "iceberg.warehouse.1",
        "decisions.iceberg.1",
        "decisions.iceberg.3",
    ],
)
def namespaces_of_the_catalog(ns: Namespace, world: World) -> None:
    id = (*world.created(ns, properties={"team": "ml"}), "inner")
    ns.create_namespace(id, properties={"team": "vision"})
    for each, team in ((id[:-1], "ml"), (id, "vision")):
        found = iceberg(world).load_namespace(each)
        assert found["namespace"] == [*each[1:]]
        assert found["properties"]["team"] == team
    ns.drop_namespace(id)
    assert iceberg(world).load_namespace(id) is None
    assert iceberg(world).load_namespace(id[:-1]) is not None


@scenario(
    "a deregistered table is gone for other clients too",
    backends=ICEBERG,
    dialect=True,
    clauses=["iceberg.deregister-table.steps.1"],
)
def gone_for_others(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    assert iceberg(world).holds(table)
    ns.deregister_table(table)
    assert not iceberg(world).holds(table)


@scenario(
    "Iceberg tables without table_type, or with another, are no Lance tables; in any spelling, lance is one",
    backends=ICEBERG,
    dialect=True,
    clauses=[
        "iceberg.lance-table-identification.1",
        "iceberg.lance-table-identification.2",
        "iceberg.lance-table-identification.3",
        "iceberg.list-tables.steps.1",
        "iceberg.describe-table.errors.2",
        "iceberg.deregister-table.steps.3",
        "decisions.listings.1",
    ],
)
def identification(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    native = iceberg(world)
    foreign = native.make_foreign(id, "other")
    try:
        native.make_lance((*id, "shouted"), f"{world.scratch}/shouted", "LANCE")
        assert list(ns.list_tables(id)) == ["shouted"]
        assert ns.deregister_table((*id, "shouted")).location
        for name in foreign:
            for call in (ns.describe_table, ns.deregister_table):
                with raises(ErrorCode.INVALID_INPUT):
                    call((*id, name))
            assert native.holds((*id, name))
    finally:
        for name in foreign:
            native.remove((*id, name))


@scenario(
    "without a location a table lies below root: warehouse, levels, name; without root below the working directory",
    backends=ICEBERG,
    clauses=[
        "iceberg.declare-table.steps.3",
        "iceberg.namespace-implementation-configuration-properties.properties.15",
        "iceberg.namespace-implementation-configuration-properties.properties.16",
        "decisions.default-locations.3",
    ],
)
def default_locations(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with connected_with(world, {"root": f"{world.scratch}/elsewhere"}) as other:
        location = other.declare_table((*id, "t")).location
    assert path(str(location)) == f"{world.scratch}/elsewhere/{'/'.join(id)}/t"
    creations: list[bytes] = []

    def remember(asked: Asked) -> Reply:
        creations.extend([asked.body] if asked.method == "POST" else [])
        return Reply(204) if asked.method == "HEAD" else configured(Reply(418))(asked)

    with towards(world, remember, root=None) as (rootless, _), raises(ErrorCode.INTERNAL):
        rootless.declare_table((*id, "t"))
    assert json.loads(creations[0])["location"] == f"{Path.cwd()}/{'/'.join(id)}/t"


@scenario(
    "listing the root gives the configured warehouse, and without one answers InvalidInput",
    backends=ICEBERG,
    clauses=[
        "iceberg.list-namespaces.steps.4",
        "iceberg.list-namespaces.steps.5",
        "iceberg.namespace-implementation-configuration-properties.properties.4",
        "decisions.iceberg.2",
        "decisions.depth.5",
        "decisions.depth.6",
    ],
)
def root_listing(ns: Namespace, world: World) -> None:
    assert list(ns.list_namespaces()) == [world.expect.base[0]]
    id = world.created(ns)
    with connected_with(world, {"warehouse": None}) as other:
        with raises(ErrorCode.INVALID_INPUT):
            other.list_namespaces_page()
        assert other.namespace_exists(id), "calls below a warehouse do not need the property"
    with connected_with(world, {"warehouse": "another"}) as other:
        assert list(other.list_namespaces()) == ["another"]
        assert other.namespace_exists(id), "the first level says which warehouse is meant"


@scenario(
    "levels stay apart on the way to the server: a namespace of two levels is no namespace with a longer name",
    backends=ICEBERG,
    dialect=True,
    clauses=["iceberg.namespace.4", "iceberg.warehouse.3"],
)
def levels_stay_apart(ns: Namespace, world: World) -> None:
    id = (*world.created(ns), "inner")
    ns.create_namespace(id)
    ns.declare_table((*id, "t"))
    assert list(ns.list_namespaces(id[:-1])) == ["inner"]
    assert list(ns.list_namespaces(id)) == []
    assert list(ns.list_tables(id)) == ["t"]
    assert iceberg(world).load_namespace(id)["namespace"] == [*id[1:]]


@scenario(
    "messages show identifiers with dots between their levels",
    backends=("iceberg", "polaris"),
    clauses=["iceberg.namespace.6", "decisions.delimiter.2"],
)
def shown_with_dots(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "absent")
    assert ".".join(table) in failure(lambda: ns.describe_table(table)).message


@scenario(
    "a description's storage options hold the table's properties, and the connection's storage properties win",
    backends=("iceberg", "polaris"),
    clauses=["iceberg.describe-table.steps.4", "decisions.storage-options.2", "decisions.storage-options.3"],
)
def storage_options(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with connected_with(world, {"storage.region": "of-the-connection"}) as other:
        other.declare_table(table, properties={"region": "of-the-table", "flavour": "sweet"})
        options = other.describe_table(table).storage_options or {}
    assert options["flavour"] == "sweet"
    assert options["region"] == "of-the-connection"


@scenario(
    "the server's own prefix, or the one given as a property, is used as it is for every path, and no prefix where "
    "the server has no such routes",
    backends=ICEBERG,
    clauses=[
        "decisions.iceberg.4",
        "decisions.iceberg.6",
        "decisions.iceberg.8",
        "iceberg.namespace-implementation-configuration-properties.properties.5",
    ],
)
def prefixes(ns: Namespace, world: World) -> None:
    def asked_for(config: dict[str, Any], prefix: str | None = None) -> str:
        def answer(asked: Asked) -> Reply:
            if "/config?" in asked.path:
                return Reply(body={"defaults": {}, "overrides": {}, **config})
            if asked.path.startswith("/v1/lance/"):
                return Reply(400, {"error": {"message": "No route", "type": "BadRequestException", "code": 400}})
            return Reply(404, {"error": {"message": "none", "type": "NoSuchNamespaceException", "code": 404}})

        with towards(world, answer, prefix=prefix) as (other, server):
            with raises(ErrorCode.NAMESPACE_NOT_FOUND):
                other.describe_namespace((*world.expect.base, "n"))
            return server.seen[-1].path

    assert asked_for({"defaults": {"prefix": "main%7Cwh"}}) == "/v1/main%7Cwh/namespaces/n"
    assert asked_for({"defaults": {"prefix": "main%7Cwh"}}, "mine") == "/v1/mine/namespaces/n"
    assert asked_for({}) == "/v1/namespaces/n"


@scenario(
    "a warehouse whose configuration could not be had is asked for again by the next call",
    backends=ICEBERG,
    clauses=["decisions.iceberg.10"],
)
def configuration_is_asked_for_again(ns: Namespace, world: World) -> None:
    failing = [True]

    def answer(asked: Asked) -> Reply:
        if "/config?" in asked.path:
            return Reply(500) if failing[0] else Reply(body={"overrides": {"prefix": "p"}})
        return Reply(body={"namespace": ["n"], "properties": {"found": "yes"}})

    with towards(world, answer) as (other, _):
        with raises(ErrorCode.INTERNAL):
            other.describe_namespace((*world.expect.base, "n"))
        failing[0] = False
        assert other.describe_namespace((*world.expect.base, "n")).properties == {"found": "yes"}


@scenario(
    "a credential of client id and secret is exchanged for a token, and calls are made with that",
    backends=ICEBERG,
    clauses=["iceberg.namespace-implementation-configuration-properties.properties.7"],
)
def credential(ns: Namespace, world: World) -> None:
    def answer(asked: Asked) -> Reply:
        if asked.path.endswith("/v1/oauth/tokens"):
            known = b"client_id=ann" in asked.body and b"client_secret=se%3Acret" in asked.body
            return Reply(body={"access_token": "fresh", "expires_in": 60}) if known else Reply(401)
        if asked.headers.get("Authorization") != "Bearer fresh":
            return Reply(401)
        if "/config?" in asked.path:
            return Reply(body={"overrides": {"prefix": "p"}})
        return Reply(body={"namespace": ["n"], "properties": {}})

    with towards(world, answer, auth_token=None, credential="ann:se:cret") as (other, server):
        for _ in range(2):
            other.describe_namespace((*world.expect.base, "n"))
        assert sum(asked.path.endswith("/v1/oauth/tokens") for asked in server.seen) == 1
