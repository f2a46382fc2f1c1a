"""Renaming tables, and moving them to another namespace."""

from typing import Any

from lance_ns.errors import ErrorCode
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.data import written
from lance_ns_conformance.world import World

RENAME = ["rename_table"]
MOVE = ["rename_table", "rename_table.new_namespace_id"]


@scenario(
    "a renamed table is found by its new name only",
    clauses=["contract.rename.1", "contract.capabilities.5"],
    needs=RENAME,
    dialect=True,
)
def new_name(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "old")
    ns.declare_table(table)
    ns.rename_table(table, "new")
    assert list(ns.list_tables(table[:-1])) == ["new"]
    assert not ns.table_exists(table)
    with raises(ErrorCode.TABLE_NOT_FOUND):
        ns.describe_table(table)


@scenario("renaming keeps location and data", clauses=["contract.rename.2"], needs=RENAME)
def keeps_data(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.rename_table(table, "new")
    renamed = (*table[:-1], "new")
    assert ns.describe_table(renamed).location == location
    assert ns.dataset(renamed).to_table()["id"].to_pylist() == [1, 2, 3]


@scenario("renaming keeps properties", clauses=["contract.rename.2"], needs=RENAME, dialect=True)
def keeps_properties(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "old")
    ns.declare_table(table, properties={"owner": "search"})
    before = ns.describe_table(table).properties
    ns.rename_table(table, "new")
    assert ns.describe_table((*table[:-1], "new")).properties == before


@scenario("renaming a missing table answers TableNotFound", clauses=["contract.rename.3"], needs=RENAME, dialect=True)
def missing(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for table in ((*id, "absent"), (*world.namespace("absent"), "t")):
        with raises(ErrorCode.TABLE_NOT_FOUND):
            ns.rename_table(table, "new")
    assert list(ns.list_tables(id)) == []


@scenario(
    "renaming to a name that is taken answers TableAlreadyExists and changes nothing",
    clauses=["contract.rename.4"],
    needs=RENAME,
    dialect=True,
)
def taken(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    locations = {name: ns.declare_table((*id, name)).location for name in ("one", "two")}
    with raises(ErrorCode.TABLE_ALREADY_EXISTS):
        ns.rename_table((*id, "one"), "two")
    assert {name: ns.describe_table((*id, name)).location for name in ns.list_tables(id)} == locations


@scenario(
    "renaming to a name that cannot be addressed answers InvalidInput and changes nothing",
    clauses=["contract.identifiers.2", "contract.identifiers.3"],
    needs=RENAME,
)
def impossible(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    wrong: list[Any] = ["", ".", "..", "a\nb", "x" * 300, None]
    for name in wrong:
        with raises(ErrorCode.INVALID_INPUT):
            ns.rename_table(table, name)
    assert list(ns.list_tables(table[:-1])) == ["t"]


@scenario("the old name of a renamed table is free again", clauses=["contract.rename.1"], needs=RENAME)
def old_name_is_free(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "old"), properties={"owner": "first"})
    ns.rename_table((*id, "old"), "new")
    ns.declare_table((*id, "old"))
    assert sorted(ns.list_tables(id)) == ["new", "old"]
    assert "owner" not in (ns.describe_table((*id, "old")).properties or {})


@scenario(
    "a table is moved to another namespace with its data", clauses=["contract.rename.5"], needs=MOVE, dialect=True
)
def moved(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    other = world.created(ns, "other")
    ns.rename_table(table, "moved", new_namespace_id=other)
    assert list(ns.list_tables(table[:-1])) == []
    assert list(ns.list_tables(other)) == ["moved"]
    assert ns.describe_table((*other, "moved")).location == location
    assert ns.dataset((*other, "moved")).count_rows() == 3


@scenario(
    "moving a table to a missing namespace answers NamespaceNotFound and changes nothing",
    clauses=["contract.rename.6"],
    needs=MOVE,
    dialect=True,
)
def moved_to_missing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        ns.rename_table(table, "t", new_namespace_id=world.namespace("absent"))
    assert ns.table_exists(table)


@scenario(
    "moving a table to a name that is taken answers TableAlreadyExists and changes nothing",
    clauses=["contract.rename.4", "contract.rename.5"],
    needs=MOVE,
    dialect=True,
)
def moved_to_taken(ns: Namespace, world: World) -> None:
    first, second = world.created(ns, "first"), world.created(ns, "second")
    ns.declare_table((*first, "t"))
    kept = ns.declare_table((*second, "t")).location
    with raises(ErrorCode.TABLE_ALREADY_EXISTS):
        ns.rename_table((*first, "t"), "t", new_namespace_id=second)
    assert ns.table_exists((*first, "t"))
    assert ns.describe_table((*second, "t")).location == kept
