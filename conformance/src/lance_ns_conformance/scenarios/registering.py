"""Registering tables whose data is there already."""

from lance_ns.errors import ErrorCode
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.data import count, rows, written
from lance_ns_conformance.world import World

ANYWHERE = ["register_table", "declare_table.location"]
"""Registering at a location of the caller's choice, which some catalogs restrict to their own root."""


def placed(world: World, word: str, *ids: int) -> str:
    """The location of a dataset that no catalog knows."""
    import lance

    location = f"{world.scratch}/{word}"
    lance.write_dataset(rows(*ids), location)
    return location


@scenario(
    "a registered table opens with the data at its location",
    clauses=["contract.register.1", "contract.capabilities.5"],
    needs=ANYWHERE,
    dialect=True,
)
def opens(ns: Namespace, world: World) -> None:
    table, location = (*world.created(ns), "t"), placed(world, "there", 1, 2)
    answer = ns.register_table(table, location)
    assert answer.location is not None
    assert answer.location.removeprefix("file://") == location
    assert list(ns.list_tables(table[:-1])) == ["t"]
    assert ns.dataset(table).to_table()["id"].to_pylist() == [1, 2]


@scenario(
    "registering an existing table answers TableAlreadyExists and changes nothing",
    clauses=["contract.register.2"],
    needs=ANYWHERE,
    dialect=True,
)
def existing(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    with raises(ErrorCode.TABLE_ALREADY_EXISTS):
        ns.register_table(table, placed(world, "other", 9))
    assert ns.describe_table(table).location == location


@scenario(
    "mode Overwrite points an existing table to the new location, and leaves the data at the old one",
    clauses=["contract.register.3", "contract.register.4"],
    needs=[*ANYWHERE, "register_table.overwrite"],
)
def overwrite(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.register_table(table, placed(world, "other", 9), mode="overwrite")
    assert ns.dataset(table).to_table()["id"].to_pylist() == [9]
    assert count(location, ns) == 3


@scenario(
    "mode Overwrite registers a missing table",
    clauses=["contract.register.3"],
    needs=[*ANYWHERE, "register_table.overwrite"],
)
def overwrite_missing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.register_table(table, placed(world, "there", 1), mode="overwrite")
    assert ns.dataset(table).count_rows() == 1


@scenario(
    "registering without a location answers InvalidInput, and makes nothing",
    clauses=["contract.register.6"],
    needs=["register_table"],
)
def without_location(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with raises(ErrorCode.INVALID_INPUT):
        ns.register_table(table, "")
    with raises(ErrorCode.INVALID_INPUT):
        ns.register_table(table, None)  # type: ignore[arg-type]
    assert not ns.table_exists(table)


@scenario(
    "registering in a missing namespace answers NamespaceNotFound, and makes none",
    clauses=["contract.register.7"],
    needs=["register_table"],
    dialect=True,
)
def in_missing_namespace(ns: Namespace, world: World) -> None:
    id = world.namespace("absent")
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        ns.register_table((*id, "t"), f"{world.scratch}/there")
    assert not ns.namespace_exists(id)


@scenario(
    "an unknown mode of a registration answers InvalidInput", clauses=["contract.errors.1"], needs=["register_table"]
)
def unknown_mode(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with raises(ErrorCode.INVALID_INPUT):
        ns.register_table(table, f"{world.scratch}/there", mode="sometimes")
    assert not ns.table_exists(table)


@scenario("properties given to a registration are the table's", clauses=["contract.register.8"], needs=ANYWHERE)
def with_properties(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    table = (*world.created(ns), "t")
    ns.register_table(table, placed(world, "there", 1), properties={"owner": "search"})
    assert (ns.describe_table(table).properties or {}).get("owner") == "search"


@scenario(
    "a deregistered table can be registered again where its data is", clauses=["contract.register.9"], needs=ANYWHERE
)
def again(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.deregister_table(table)
    ns.register_table(table, location)
    assert ns.dataset(table).to_table()["id"].to_pylist() == [1, 2, 3]


@scenario("deregistering a registered table leaves its data", clauses=["contract.data-safety.1"], needs=ANYWHERE)
def deregistered(ns: Namespace, world: World) -> None:
    table, location = (*world.created(ns), "t"), placed(world, "there", 1, 2)
    ns.register_table(table, location)
    ns.deregister_table(table)
    assert not ns.table_exists(table)
    assert count(location, ns) == 2


@scenario(
    "of racing registrations exactly one succeeds, and the others find it taken",
    clauses=["contract.register.2"],
    needs=ANYWHERE,
    live_only=True,
)
def racing(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table, location = (*world.created(ns), "t"), placed(world, "there", 1)
    assert outcomes(lambda _: ns.register_table(table, location)) == {"ok": 1, "TableAlreadyExists": 7}
