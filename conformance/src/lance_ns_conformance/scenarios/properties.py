"""Properties of namespaces and tables: kept, null apart from empty, in any script and size."""

from typing import Any

from lance_ns.errors import ErrorCode, InvalidInput
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World

PLAIN = {"owner": "search", "team_id": "42"}
UNUSUAL = {"größe": "ünï 日本 😀", "equals": "a=b&c", "path": "/x%20/$y", "quotes": "'\"\\"}


@scenario(
    "the properties of a namespace are kept",
    clauses=[
        "contract.properties.3",
        "unity.describe-namespace.steps.3",
        "polaris.describe-namespace.steps.3",
        "iceberg.describe-namespace.steps.3",
        "glue.describe-namespace.steps.1",
    ],
    dialect=True,
)
def namespace_keeps(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    id = world.created(ns, properties=PLAIN)
    found = ns.describe_namespace(id).properties or {}
    assert {key: found.get(key) for key in PLAIN} == PLAIN


@scenario(
    "creating a namespace answers its properties",
    clauses=[
        "contract.create-modes.14",
        "unity.create-namespace.steps.3",
        "polaris.create-namespace.steps.3",
        "iceberg.create-namespace.steps.3",
    ],
    dialect=True,
)
def create_answers(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    answer = ns.create_namespace(world.namespace(), properties=PLAIN).properties or {}
    assert {key: answer.get(key) for key in PLAIN} == PLAIN


@scenario("a namespace without properties has none, which is not null", clauses=["contract.properties.1"], dialect=True)
def namespace_without(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    found = ns.describe_namespace(id).properties
    if world.expect.namespace_properties:
        assert found is not None, "null means that the backend keeps no properties at all"
    else:
        assert found is None


@scenario(
    "properties of a namespace are kept in any script",
    clauses=["contract.properties.3", "contract.properties.5"],
    dialect=True,
)
def namespace_unusual(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    world.needs_property_values()
    id = world.created(ns, properties=UNUSUAL)
    found = ns.describe_namespace(id).properties or {}
    assert {key: found.get(key) for key in UNUSUAL} == UNUSUAL


@scenario("an empty value of a property is kept as it is", clauses=["contract.properties.7"], dialect=True)
def empty_value(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    world.needs_property_values()
    id = world.created(ns, properties={"empty": ""})
    assert (ns.describe_namespace(id).properties or {}).get("empty") == ""


@scenario("a large property is kept whole", clauses=["contract.properties.6"], dialect=True)
def large_value(ns: Namespace, world: World) -> None:
    world.needs_namespace_properties()
    value = "0123456789" * 200
    id = world.created(ns, properties={"large": value})
    assert (ns.describe_namespace(id).properties or {}).get("large") == value


@scenario(
    "the properties of a table are kept",
    clauses=[
        "contract.properties.4",
        "unity.declare-table.steps.7",
        "unity.describe-table.steps.3",
        "hive3.describe-table.steps.2",
        "glue.describe-table.steps.1",
    ],
    dialect=True,
)
def table_keeps(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties=PLAIN)
    found = ns.describe_table(table).properties or {}
    assert {key: found.get(key) for key in PLAIN} == PLAIN


@scenario(
    "properties of a table are kept in any script",
    clauses=["contract.properties.4", "contract.properties.5"],
    dialect=True,
)
def table_unusual(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    world.needs_property_values()
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties=UNUSUAL)
    found = ns.describe_table(table).properties or {}
    assert {key: found.get(key) for key in UNUSUAL} == UNUSUAL


@scenario("the properties of one table are not another's", clauses=["contract.properties.4"])
def tables_apart(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    id = world.created(ns)
    ns.declare_table((*id, "a"), properties={"only": "a"})
    ns.declare_table((*id, "b"))
    assert "only" not in (ns.describe_table((*id, "b")).properties or {})


@scenario("an empty value of a table's property is kept as it is", clauses=["contract.properties.7"])
def table_empty_value(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    world.needs_property_values()
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"empty": ""})
    assert (ns.describe_table(table).properties or {}).get("empty") == ""


@scenario("a large property of a table is kept whole", clauses=["contract.properties.6"])
def table_large_value(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    value = "0123456789" * 200
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"large": value})
    assert (ns.describe_table(table).properties or {}).get("large") == value


@scenario("many properties are kept together", clauses=["contract.properties.3", "contract.properties.4"])
def many(ns: Namespace, world: World) -> None:
    given = {f"key.{number}-x": str(number) for number in range(40)}
    table = (*world.created(ns, properties=given), "t")
    ns.declare_table(table, properties=given)
    if world.expect.namespace_properties:
        found = ns.describe_namespace(table[:-1]).properties or {}
        assert {key: found.get(key) for key in given} == given
    if world.expect.table_properties:
        found = ns.describe_table(table).properties or {}
        assert {key: found.get(key) for key in given} == given


@scenario(
    "properties of a table without any are empty, or null where the backend keeps none",
    clauses=["contract.properties.1"],
)
def table_without(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    found = ns.describe_table(table).properties
    assert (found is None) is (not world.expect.table_properties), f"the properties are {found}"


@scenario("properties are null for all objects of a kind or for none", clauses=["contract.properties.2"])
def null_or_not(ns: Namespace, world: World) -> None:
    plain, rich = world.created(ns, "plain"), world.created(ns, "rich", properties=PLAIN)
    described = [ns.describe_namespace(id).properties for id in (plain, rich)]
    assert len({each is None for each in described}) == 1, f"namespaces answer {described}"
    ns.declare_table((*plain, "plain"))
    ns.declare_table((*plain, "rich"), properties=PLAIN)
    described = [ns.describe_table((*plain, name)).properties for name in ("plain", "rich")]
    assert len({each is None for each in described}) == 1, f"tables answer {described}"


@scenario("no properties and an empty mapping are the same", clauses=["contract.properties.9"])
def none_or_empty(ns: Namespace, world: World) -> None:
    without, empty = world.created(ns, "without"), world.created(ns, "empty", properties={})
    for id in (without, empty):
        found = ns.describe_namespace(id).properties or {}
        assert not found.keys() & PLAIN.keys()
        assert (ns.describe_namespace(id).properties is None) is (not world.expect.namespace_properties)
    ns.declare_table((*without, "without"))
    ns.declare_table((*without, "empty"), properties={})
    first, second = (ns.describe_table((*without, name)).properties for name in ("without", "empty"))
    assert first == second


@scenario("properties that are not strings answer InvalidInput, and nothing is made", clauses=["contract.properties.8"])
def not_strings(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    wrong: list[Any] = [{"a": 1}, {"a": None}, {1: "a"}, {"a": ["b"]}, "a=b", [("a", "b")]]
    for properties in wrong:
        with raises(ErrorCode.INVALID_INPUT):
            ns.create_namespace(world.namespace("other"), properties=properties)
        with raises(ErrorCode.INVALID_INPUT):
            ns.declare_table((*id, "t"), properties=properties)
    assert not ns.namespace_exists(world.namespace("other"))
    assert list(ns.list_tables(id)) == []


@scenario("properties are the same for another connection", clauses=["contract.properties.3", "contract.properties.4"])
def seen_by_another(ns: Namespace, world: World) -> None:
    table = (*world.created(ns, properties=PLAIN), "t")
    ns.declare_table(table, properties=PLAIN)
    with world.connect() as other:
        assert other.describe_namespace(table[:-1]).properties == ns.describe_namespace(table[:-1]).properties
        assert other.describe_table(table).properties == ns.describe_table(table).properties


@scenario("the properties of a namespace are not those of its child or neighbour", clauses=["contract.properties.3"])
def namespaces_apart(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"only": "here"})
    others = [world.created(ns, "other")]
    if world.child_possible():
        others.append((*id, "child"))
        ns.create_namespace(others[-1])
    for other in others:
        assert "only" not in (ns.describe_namespace(other).properties or {})


@scenario("a mapping that is changed after the call changes nothing", clauses=["contract.properties.3"])
def not_shared(ns: Namespace, world: World) -> None:
    given = dict(PLAIN)
    id = world.created(ns, properties=given)
    before = dict(ns.describe_namespace(id).properties or {})
    given["owner"] = "somebody else"
    assert dict(ns.describe_namespace(id).properties or {}) == before


@scenario(
    "a value of several thousand characters is kept whole, or refused with InvalidInput",
    clauses=["contract.properties.6"],
)
def very_large_value(ns: Namespace, world: World) -> None:
    value = "0123456789" * 600
    id = world.created(ns)
    try:
        ns.create_namespace(world.namespace("large"), properties={"large": value})
    except InvalidInput:
        assert not ns.namespace_exists(world.namespace("large"))
    else:
        if world.expect.namespace_properties:
            assert (ns.describe_namespace(world.namespace("large")).properties or {}).get("large") == value
    try:
        ns.declare_table((*id, "large"), properties={"large": value})
    except InvalidInput:
        assert not ns.table_exists((*id, "large"))
    else:
        if world.expect.table_properties:
            assert (ns.describe_table((*id, "large")).properties or {}).get("large") == value


@scenario(
    "declaring answers the properties of the table",
    clauses=["contract.properties.2", "unity.declare-table.steps.8", "polaris.declare-table.steps.7"],
)
def declare_answers(ns: Namespace, world: World) -> None:
    world.needs_table_properties()
    table = (*world.created(ns), "t")
    answer = ns.declare_table(table, properties=PLAIN).properties or {}
    assert {key: answer.get(key) for key in PLAIN} == PLAIN
