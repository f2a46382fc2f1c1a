"""Altering the properties of tables."""

from typing import Any

from lance_ns.errors import ErrorCode, InvalidInput
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.data import written
from lance_ns_conformance.world import World

ALTER = ["alter_table_properties"]


def with_properties(ns: Namespace, world: World) -> Levels:
    """A table with three properties."""
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"kept": "1", "changed": "2", "removed": "3"})
    return table


@scenario(
    "updates are set, removals are gone, and other properties stay",
    clauses=["contract.alter-properties.1", "contract.capabilities.5"],
    needs=ALTER,
    dialect=True,
)
def set_and_removed(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    ns.alter_table_properties(table, {"changed": "two", "added": "4"}, removals=["removed"])
    found = ns.describe_table(table).properties or {}
    names = ("kept", "changed", "removed", "added")
    assert [found.get(name) for name in names] == ["1", "two", None, "4"]


@scenario(
    "altering answers the properties that the table has now", clauses=["contract.alter-properties.2"], needs=ALTER
)
def answers(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    answer = ns.alter_table_properties(table, {"changed": "two"}, removals=["removed"]).properties or {}
    assert [answer.get(name) for name in ("kept", "changed", "removed")] == ["1", "two", None]


@scenario(
    "altering a missing table answers TableNotFound", clauses=["contract.alter-properties.3"], needs=ALTER, dialect=True
)
def missing(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for table in ((*id, "absent"), (*world.namespace("absent"), "t")):
        with raises(ErrorCode.TABLE_NOT_FOUND):
            ns.alter_table_properties(table, {"a": "b"})
    assert list(ns.list_tables(id)) == []


@scenario("removing a property that is not there succeeds", clauses=["contract.alter-properties.5"], needs=ALTER)
def remove_absent(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    before = ns.describe_table(table).properties
    ns.alter_table_properties(table, removals=["absent"])
    assert ns.describe_table(table).properties == before


@scenario("altering nothing changes nothing", clauses=["contract.alter-properties.1"], needs=ALTER)
def nothing(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    before = ns.describe_table(table)
    ns.alter_table_properties(table)
    ns.alter_table_properties(table, {})
    assert ns.describe_table(table) == before


@scenario(
    "no change of its properties makes a table lose its mark",
    clauses=["contract.alter-properties.6"],
    needs=ALTER,
    dialect=True,
)
def keeps_mark(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    changes: list[dict[str, Any]] = [{"updates": {"table_type": "other"}}, {"removals": ["table_type"]}]
    for change in changes:
        try:
            ns.alter_table_properties(table, **change)
        except InvalidInput:
            continue  # refusing is as good
        assert list(ns.list_tables(table[:-1])) == ["t"]
        ns.describe_table(table)


@scenario("altering leaves location and data alone", clauses=["contract.alter-properties.7"], needs=ALTER)
def keeps_location(ns: Namespace, world: World) -> None:
    table, location = written(ns, world)
    ns.alter_table_properties(table, {"owner": "search"})
    assert ns.describe_table(table).location == location
    assert ns.dataset(table).count_rows() == 3


@scenario(
    "altering with properties that are not strings answers InvalidInput and changes nothing",
    clauses=["contract.properties.8"],
    needs=ALTER,
)
def not_strings(ns: Namespace, world: World) -> None:
    table = with_properties(ns, world)
    before = ns.describe_table(table).properties
    wrong: list[Any] = [{"a": 1}, {"a": None}, {1: "a"}, "a=b"]
    for updates in wrong:
        with raises(ErrorCode.INVALID_INPUT):
            ns.alter_table_properties(table, updates)
    with raises(ErrorCode.INVALID_INPUT):
        ns.alter_table_properties(table, removals="kept")
    assert ns.describe_table(table).properties == before


@scenario(
    "updates are kept in any script, and empty ones too",
    clauses=["contract.properties.5", "contract.properties.7"],
    needs=ALTER,
)
def unusual(ns: Namespace, world: World) -> None:
    world.needs_property_values()
    table = with_properties(ns, world)
    given = {"größe": "ünï 日本 😀", "empty": "", "quotes": "'\"\\"}
    ns.alter_table_properties(table, given)
    found = ns.describe_table(table).properties or {}
    assert {key: found.get(key) for key in given} == given


@scenario(
    "of updates made at once none is lost: each is there, or answered ConcurrentModification",
    clauses=["contract.alter-properties.8"],
    needs=ALTER,
    live_only=True,
)
def racing(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table = with_properties(ns, world)
    done = []

    def alter(number: int) -> None:
        ns.alter_table_properties(table, {f"by{number}": "1"})
        done.append(f"by{number}")

    assert outcomes(alter).keys() <= {"ok", "ConcurrentModification"}
    found = ns.describe_table(table).properties or {}
    assert done, "nobody succeeded"
    assert {"kept", *done} <= found.keys(), f"lost: {', '.join(sorted({'kept', *done} - found.keys()))}"
