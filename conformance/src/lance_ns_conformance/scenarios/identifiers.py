"""Identifiers: hostile names are kept exactly or refused, and never lead anywhere else."""

from collections.abc import Callable
from typing import Any

from lance_ns.errors import ErrorCode, InvalidInput
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.world import World

HOSTILE = ["with space", "per%20cent", "%2e%2e", "a/b", "a\\b", "a.b", "ünï", "日本", "a#b", "a?b", "a:b", "a'b", 'a"b',
           "a&b=c", "-x", ".hidden", "a+b", "$", "a$b", "😀", "../evil", "a/../../../evil"]  # fmt: skip
IMPOSSIBLE = [".", "..", "", "a\x00b", "a\nb", "x" * 300]


@scenario(
    "a table with a hostile name is kept exactly, or refused with InvalidInput",
    clauses=["contract.identifiers.7", "contract.identifiers.8"],
    dialect=True,
)
def hostile_tables(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    kept = []
    for name in HOSTILE:
        try:
            ns.declare_table((*id, name))
        except InvalidInput:
            continue
        kept.append(world.shown(name))
        assert ns.describe_table((*id, name)).location, name
    assert sorted(ns.list_tables(id)) == sorted(set(kept))


@scenario(
    "a namespace with a hostile name is kept exactly, or refused with InvalidInput",
    clauses=[
        "contract.identifiers.7",
        "contract.identifiers.8",
        "polaris.describe-namespace.steps.2",
        "iceberg.describe-namespace.steps.2",
    ],
    dialect=True,
)
def hostile_namespaces(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    kept = []
    for name in HOSTILE:
        try:
            ns.create_namespace((*id, name))
        except InvalidInput:
            continue
        kept.append(world.shown(name))
        assert ns.namespace_exists((*id, name)), name
    assert sorted(ns.list_namespaces(id)) == sorted(set(kept))


@scenario(
    "names that cannot be addressed answer InvalidInput, and nothing is made",
    clauses=["contract.identifiers.2", "contract.identifiers.3", "contract.identifiers.4", "contract.identifiers.5"],
)
def impossible(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in IMPOSSIBLE:
        for call in (ns.declare_table, ns.describe_table, ns.deregister_table):
            with raises(ErrorCode.INVALID_INPUT):
                call((*id, name))
    assert list(ns.list_tables(id)) == []


@scenario(
    "default locations of hostile names stay below that of a plain one",
    clauses=["contract.default-locations.1"],
    dialect=True,
)
def locations_stay(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    plain = (ns.declare_table((*id, "plain")).location or "").rpartition("/")[0]
    for name in HOSTILE:
        try:
            location = ns.declare_table((*id, name)).location or ""
        except InvalidInput:
            continue
        assert location.startswith(plain), f"{name!r} lies at {location}"
        assert "/../" not in location, f"{name!r} lies at {location}"


@scenario(
    "an identifier is a string with the delimiter, or a sequence of levels",
    clauses=[
        "contract.identifiers.1",
        "contract.identifiers.2",
        "decisions.delimiter.1",
        "unity.table.2",
        "hive3.table.2",
        "glue.table.2",
    ],
)
def written_forms(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    assert ns.table_exists("$".join((*id, "t")))
    assert ns.table_exists([*id, "t"])
    with raises(ErrorCode.INVALID_INPUT):
        ns.describe_table("$".join((*id, "", "t")))


@scenario(
    "calls at a depth that the catalog does not have answer InvalidInput",
    clauses=[
        "contract.hierarchy.1",
        "contract.exists.5",
        "decisions.depth.2",
        "decisions.depth.3",
        "unity.namespace.4",
        "unity.create-namespace.steps.1",
        "hive3.namespace.3",
        "hive3.create-namespace.steps.1",
        "glue.namespace.3",
        "glue.create-namespace.steps.2",
    ],
)
def too_deep(ns: Namespace, world: World) -> None:
    depth = world.expect.max_depth
    if depth is None:
        world.skip("namespaces of this catalog nest as deep as one likes")
    deep = (*world.expect.base, *(f"l{level}" for level in range(depth + 1)))
    with raises(ErrorCode.INVALID_INPUT):
        ns.create_namespace(deep)
    assert not ns.namespace_exists(deep)
    assert not ns.table_exists((*deep, "t"))


@scenario("the root is no table", clauses=["contract.root.5"])
def root_is_no_table(ns: Namespace, world: World) -> None:
    for call in (ns.describe_table, ns.deregister_table, ns.declare_table):
        with raises(ErrorCode.INVALID_INPUT):
            call(world.expect.base[:0])


@scenario(
    "a string names the same thing as its levels, in every call",
    clauses=[
        "contract.identifiers.1",
        "decisions.delimiter.1",
        "unity.namespace.5",
        "unity.table.2",
        "hive3.namespace.4",
        "hive3.table.2",
        "glue.table.2",
    ],
)
def strings_everywhere(ns: Namespace, world: World) -> None:
    id = world.namespace()
    written, table = "$".join(id), "$".join((*id, "t"))
    ns.create_namespace(written)
    assert ns.describe_namespace(written) == ns.describe_namespace(id)
    location = ns.declare_table(table).location
    assert ns.describe_table((*id, "t")).location == location
    assert list(ns.list_tables(written)) == ["t"]
    assert list(ns.list_all_tables(written)) == [(*id, "t")]
    ns.deregister_table(table)
    ns.drop_namespace(written)
    assert not ns.namespace_exists(id)


@scenario("a string with an empty level answers InvalidInput", clauses=["contract.identifiers.2"])
def empty_levels(ns: Namespace, world: World) -> None:
    written = "$".join(world.created(ns))
    for wrong in (f"${written}", f"{written}$", f"{written}$$t", "$$"):
        for call in (ns.describe_namespace, ns.create_namespace, ns.drop_namespace, ns.declare_table):
            with raises(ErrorCode.INVALID_INPUT):
                call(wrong)
    assert list(ns.list_tables(written)) == []


@scenario("a level that is no string answers InvalidInput", clauses=["contract.identifiers.6"])
def levels_of_other_types(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    wrong: list[Any] = [5, None, b"bytes", ["list"], 1.5, True]
    for level in wrong:
        for call in (ns.describe_namespace, ns.create_namespace, ns.declare_table, ns.describe_table):
            with raises(ErrorCode.INVALID_INPUT):
                call((*id, level))
    assert list(ns.list_tables(id)) == []


@scenario("an identifier that is no sequence answers InvalidInput", clauses=["contract.identifiers.6"])
def no_sequence(ns: Namespace, world: World) -> None:
    wrong: list[Any] = [5, b"bytes", {"a": 1}, object()]
    for id in wrong:
        with raises(ErrorCode.INVALID_INPUT):
            ns.describe_table(id)
        with raises(ErrorCode.INVALID_INPUT):
            ns.create_namespace(id)


@scenario(
    "namespaces with names that cannot be addressed answer InvalidInput, and nothing is made",
    clauses=["contract.identifiers.2", "contract.identifiers.3", "contract.identifiers.4", "contract.identifiers.5"],
)
def impossible_namespaces(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in IMPOSSIBLE:
        for call in (ns.create_namespace, ns.describe_namespace, ns.drop_namespace):
            with raises(ErrorCode.INVALID_INPUT):
                call((*id, name))
    if world.child_possible():
        assert list(ns.list_namespaces(id)) == []


@scenario(
    "a name of 256 characters answers InvalidInput, one of 255 is kept whole or refused",
    clauses=["contract.identifiers.5"],
    dialect=True,
)
def longest_name(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with raises(ErrorCode.INVALID_INPUT):
        ns.declare_table((*id, "x" * 256))
    kept = _kept(ns, id, ["x" * 255])
    assert list(ns.list_tables(id)) == kept


@scenario(
    "a long name is kept whole, apart from one that differs in its last character",
    clauses=["contract.identifiers.7", "contract.identifiers.8"],
)
def long_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    kept = _kept(ns, id, ["n" * 99 + end for end in "ab"])
    assert sorted(ns.list_tables(id)) == kept


@scenario(
    "words and numbers that mean something elsewhere are plain names, or refused with InvalidInput",
    clauses=["contract.identifiers.7", "contract.identifiers.8"],
)
def words(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    kept = _kept(
        ns, id, ["select", "table", "null", "none", "true", "default", "0", "007", "1e5", "con", "_versions", "data"]
    )
    assert sorted(ns.list_tables(id)) == sorted(kept)


@scenario(
    "names in many scripts are kept exactly, or refused with InvalidInput",
    clauses=["contract.identifiers.7", "contract.identifiers.8"],
    dialect=True,
)
def scripts(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    kept = _kept(ns, id, ["äöü", "данные", "数据", "データ", "بيانات", "डेटा", "𝒟"])
    assert sorted(ns.list_tables(id)) == sorted(kept)


@scenario("names that look alike are never taken for each other", clauses=["contract.identifiers.7"], dialect=True)
def lookalikes(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for real, likeness in (
        ("\u00e9", "e\u0301"),
        ("plain", " plain"),
        ("other", "other "),
        ("a%2Fb", "a/b"),
        ("x_y", "x-y"),
    ):
        try:
            ns.declare_table((*id, real))
        except InvalidInput:
            continue
        assert not ns.table_exists((*id, likeness)), f"{likeness!r} was taken for {real!r}"


@scenario(
    "a level that looks like two is not taken for two",
    clauses=["contract.identifiers.7", "polaris.namespace.5", "iceberg.namespace.5", "decisions.polaris-wire.2"],
    dialect=True,
)
def one_level_or_two(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "a"))
    ns.create_namespace((*id, "a", "b"))
    ns.declare_table((*id, "a", "t"))
    for between in (".", "/", "%1F", "%2E", "$", ":"):
        assert not ns.namespace_exists((*id, f"a{between}b")), f"a{between}b was taken for two levels"
        assert not ns.table_exists((*id, f"a{between}t")), f"a{between}t was taken for two levels"


@scenario(
    "a table with a hostile name is deregistered as itself, or refused with InvalidInput",
    clauses=["contract.identifiers.7"],
)
def hostile_tables_deregistered(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "kept"))
    for name in HOSTILE:
        try:
            ns.declare_table((*id, name))
        except InvalidInput:
            continue
        ns.deregister_table((*id, name))
    assert list(ns.list_tables(id)) == ["kept"]


@scenario(
    "every call at a depth that the catalog does not have answers InvalidInput",
    clauses=[
        "unity.declare-table.steps.1",
        "unity.list-tables.steps.1",
        "unity.describe-table.steps.1",
        "unity.deregister-table.steps.1",
        "hive3.declare-table.steps.1",
        "hive3.list-tables.steps.1",
        "hive3.describe-table.steps.1",
        "hive3.deregister-table.steps.1",
        "glue.declare-table.steps.1",
        "glue.list-tables.steps.2",
        "glue.describe-table.steps.2",
        "glue.deregister-table.steps.3",
        "contract.hierarchy.1",
        "contract.exists.5",
        "decisions.depth.2",
        "decisions.depth.3",
        "unity.namespace.4",
        "unity.list-namespaces.steps.4",
        "unity.describe-namespace.steps.1",
        "unity.drop-namespace.steps.1",
        "hive3.namespace.3",
        "hive3.list-namespaces.steps.5",
        "glue.namespace.3",
        "glue.list-namespaces.steps.2",
    ],
)
def every_call_too_deep(ns: Namespace, world: World) -> None:
    depth = world.expect.max_depth
    if depth is None:
        world.skip("namespaces of this catalog nest as deep as one likes")
    id = world.created(ns)
    for level in range(2, depth + 1):
        id = (*id, f"l{level}")
        ns.create_namespace(id)
    ns.declare_table((*id, "t"))
    deep = (*id, "deep")
    calls: list[Callable[[], Any]] = [
        lambda: list(ns.list_namespaces(id)),
        lambda: ns.create_namespace(deep),
        lambda: ns.describe_namespace(deep),
        lambda: ns.drop_namespace(deep),
        lambda: list(ns.list_tables(deep)),
        lambda: ns.declare_table((*deep, "t")),
        lambda: ns.describe_table((*deep, "t")),
        lambda: ns.deregister_table((*deep, "t")),
    ]
    for call in calls:
        with raises(ErrorCode.INVALID_INPUT):
            call()
    assert list(ns.list_tables(id)) == ["t"]


@scenario(
    "another delimiter splits strings there, and leaves the usual one alone",
    clauses=["contract.identifiers.9", "decisions.delimiter.3"],
)
def another_delimiter(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    with connected_with(world, {}, delimiter="::") as other:
        assert other.table_exists("::".join((*id, "t")))
        assert not other.table_exists("$".join((*id, "t")))
        assert other.table_exists((*id, "t"))


def _kept(ns: Namespace, id: Levels, names: list[str]) -> list[str]:
    """Those of some names that could be declared, each of which is described as itself."""
    kept: dict[str, str | None] = {}
    for name in names:
        try:
            kept[name] = ns.declare_table((*id, name)).location
        except InvalidInput:
            continue
    for name, location in kept.items():
        assert ns.describe_table((*id, name)).location == location, f"{name!r} is described as another table"
    return list(kept)


@scenario(
    "a namespace with a hostile name is described and dropped as itself, or refused with InvalidInput",
    clauses=[
        "contract.identifiers.7",
        "polaris.describe-namespace.steps.2",
        "polaris.drop-namespace.steps.3",
        "iceberg.describe-namespace.steps.2",
        "iceberg.drop-namespace.steps.2",
    ],
    dialect=True,
)
def hostile_namespaces_dropped(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "kept"))
    for name in HOSTILE:
        try:
            ns.create_namespace((*id, name))
        except InvalidInput:
            continue
        ns.describe_namespace((*id, name))
        ns.drop_namespace((*id, name))
        assert not ns.namespace_exists((*id, name)), name
    assert list(ns.list_namespaces(id)) == ["kept"]
