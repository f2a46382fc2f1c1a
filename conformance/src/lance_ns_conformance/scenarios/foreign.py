"""Tables that others made: those that are no Lance tables are left alone, those that are belong to us as well."""

from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.data import count, written
from lance_ns_conformance.scenarios.paging import pages
from lance_ns_conformance.scenarios.registering import placed
from lance_ns_conformance.world import World

NOT_LANCE, TAKEN = ErrorCode.INVALID_INPUT, ErrorCode.TABLE_ALREADY_EXISTS
SPELLINGS = {"shouted": "LANCE", "titled": "Lance", "plain": "lance"}

IDENTIFIED = [
    "glue.lance-table-identification.1",
    "glue.lance-table-identification.2",
    "glue.lance-table-identification.4",
    "hive3.lance-table-identification.1",
    "hive3.lance-table-identification.2",
    "hive3.lance-table-identification.4",
    "iceberg.lance-table-identification.1",
    "iceberg.lance-table-identification.3",
    "polaris.lance-table-identification.2",
    "polaris.lance-table-identification.3",
    "unity.lance-table-identification.1",
    "unity.lance-table-identification.2",
    "unity.lance-table-identification.4",
]


def with_foreign(ns: Namespace, world: World) -> tuple[Levels, dict[Levels, str]]:
    """A namespace that holds a table of every kind that is no Lance table, and those tables with what they are."""
    native = world.needs_native()
    id = world.created(ns)
    made = {(*id, name): what for name, what in native.make_foreign(id, "other").items()}
    world.foreign += made
    assert made, "the plugin's client made no table that is no Lance table"
    return id, made


def held(world: World, tables: dict[Levels, str]) -> None:
    """The catalog still has each of some tables."""
    for table, what in tables.items():
        assert world.needs_native().holds(table), f"{what} is gone from the catalog"


@scenario(
    "a table that is no Lance table is not listed, page by page either",
    clauses=[
        "contract.names-in-lists.9",
        "decisions.listings.1",
        "decisions.listings.3",
        "glue.list-tables.steps.1",
        "hive3.list-tables.steps.2",
        "iceberg.list-tables.steps.1",
        "polaris.list-tables.steps.2",
        "unity.list-tables.steps.3",
        *IDENTIFIED,
    ],
    dialect=True,
)
def not_listed(ns: Namespace, world: World) -> None:
    id, _ = with_foreign(ns, world)
    assert list(ns.list_tables(id)) == []
    for name in ("a", "z"):
        ns.declare_table((*id, name))
    assert sorted(ns.list_tables(id)) == ["a", "z"]
    assert sorted(ns.list_all_tables(id)) == [(*id, "a"), (*id, "z")]
    for limit in (1, 2, 3):
        assert sorted(pages(ns.list_tables_page, id, limit)) == ["a", "z"], f"pages of {limit}"


@scenario(
    "describing a table that is no Lance table answers InvalidInput, and it does not exist as a table",
    clauses=[
        "contract.describe.3",
        "contract.exists.6",
        "glue.describe-table.errors.2",
        "hive3.describe-table.errors.2",
        "iceberg.describe-table.errors.2",
        "polaris.describe-table.errors.2",
        "unity.describe-table.errors.2",
        *IDENTIFIED,
    ],
    dialect=True,
)
def not_described(ns: Namespace, world: World) -> None:
    _, tables = with_foreign(ns, world)
    for table, what in tables.items():
        with raises(NOT_LANCE):
            ns.describe_table(table)
        assert not ns.table_exists(table), f"{what} exists as a Lance table"


@scenario(
    "deregistering or dropping a table that is no Lance table answers InvalidInput, and the catalog still has it",
    clauses=[
        "contract.deregister.5",
        "decisions.deregister.1",
        "decisions.deregister.2",
        "glue.deregister-table.errors.2",
        "hive3.deregister-table.errors.2",
        "iceberg.deregister-table.steps.3",
        "polaris.deregister-table.steps.3",
        "unity.deregister-table.errors.2",
    ],
    dialect=True,
)
def not_deregistered(ns: Namespace, world: World) -> None:
    _, tables = with_foreign(ns, world)
    for table in tables:
        with raises(NOT_LANCE):
            ns.deregister_table(table)
        for delete in (False, True):
            with raises(NOT_LANCE):
                ns.drop_table(table, delete_data=delete)
    held(world, tables)


@scenario(
    "declaring a name that a table of another format has answers TableAlreadyExists, and leaves that table alone",
    clauses=["contract.declare.7"],
    dialect=True,
)
def not_declared_over(ns: Namespace, world: World) -> None:
    id, tables = with_foreign(ns, world)
    for table in tables:
        with raises(TAKEN):
            ns.declare_table(table)
        with raises(NOT_LANCE):
            ns.describe_table(table)
    assert list(ns.list_tables(id)) == []
    held(world, tables)


@scenario(
    "a namespace that holds nothing but tables of other formats is neither dropped nor overwritten",
    clauses=["contract.drop-behaviors.3", "contract.create-modes.8", "decisions.create-mode-overwrite.2"],
    dialect=True,
)
def not_empty(ns: Namespace, world: World) -> None:
    id, tables = with_foreign(ns, world)
    with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
        ns.drop_namespace(id)
    with raises(ErrorCode.NAMESPACE_NOT_EMPTY):
        ns.create_namespace(id, mode="overwrite")
    held(world, tables)


@scenario(
    "a table of another format is not renamed, and its name is taken for those that are",
    clauses=["contract.rename.8", "contract.rename.4"],
    needs=["rename_table"],
    dialect=True,
)
def not_renamed(ns: Namespace, world: World) -> None:
    id, tables = with_foreign(ns, world)
    location = ns.declare_table((*id, "mine")).location
    for table in tables:
        with raises(NOT_LANCE):
            ns.rename_table(table, "renamed")
        with raises(TAKEN):
            ns.rename_table((*id, "mine"), table[-1])
    assert list(ns.list_tables(id)) == ["mine"]
    assert ns.describe_table((*id, "mine")).location == location
    held(world, tables)


@scenario(
    "altering a table of another format answers InvalidInput",
    clauses=["contract.alter-properties.4"],
    needs=["alter_table_properties"],
    dialect=True,
)
def not_altered(ns: Namespace, world: World) -> None:
    id, tables = with_foreign(ns, world)
    for table in tables:
        for updates in ({"owner": "search"}, {"table_type": "lance"}):
            with raises(NOT_LANCE):
                ns.alter_table_properties(table, updates)
    assert list(ns.list_tables(id)) == [], "a table was made a Lance table by altering it"


@scenario(
    "registering over a table of another format is refused, and leaves that table alone",
    clauses=["contract.register.2"],
    needs=["register_table"],
    dialect=True,
)
def not_registered_over(ns: Namespace, world: World) -> None:
    _, tables = with_foreign(ns, world)
    modes = ["create", *(["overwrite"] if "register_table.overwrite" in ns.capabilities else [])]
    for table in tables:
        for mode in modes:
            with raises(TAKEN, NOT_LANCE):
                ns.register_table(table, f"{world.scratch}/there", mode=mode)
        with raises(NOT_LANCE):
            ns.describe_table(table)
    held(world, tables)


@scenario(
    "a Lance table that another client made is listed, described and deregistered, however its mark is spelled",
    clauses=[
        "glue.lance-table-identification.3",
        "hive3.lance-table-identification.3",
        "iceberg.lance-table-identification.2",
        "unity.lance-table-identification.3",
        "polaris.lance-table-identification.1",
        "polaris.lance-table-identification.6",
    ],
    dialect=True,
)
def made_by_others(ns: Namespace, world: World) -> None:
    native, id = world.needs_native(), world.created(ns)
    for name, spelling in SPELLINGS.items():
        native.make_lance((*id, name), f"{world.scratch}/{name}", spelling)
    assert sorted(ns.list_tables(id)) == sorted(SPELLINGS)
    for name, spelling in SPELLINGS.items():
        location = ns.describe_table((*id, name)).location or ""
        assert location.removeprefix("file://") == f"{world.scratch}/{name}", f"{spelling} lies at {location}"
        assert ns.table_exists((*id, name))
        ns.deregister_table((*id, name))
        assert not native.holds((*id, name)), f"{spelling} is still in the catalog"
    assert list(ns.list_tables(id)) == []


@scenario(
    "the data of a Lance table that another client made is read, and stays when it is deregistered",
    clauses=["contract.data-safety.1"],
    dialect=True,
)
def data_of_others(ns: Namespace, world: World) -> None:
    native, id = world.needs_native(), world.created(ns)
    location = placed(world, "theirs", 1, 2)
    native.make_lance((*id, "t"), location, "lance")
    assert ns.dataset((*id, "t")).to_table()["id"].to_pylist() == [1, 2]
    ns.deregister_table((*id, "t"))
    assert count(location, ns) == 2


@scenario(
    "a table of ours is there for other clients, and gone for them once it is deregistered",
    clauses=["contract.declare.1", "contract.deregister.1"],
    dialect=True,
)
def ours_for_others(ns: Namespace, world: World) -> None:
    native = world.needs_native()
    table, location = written(ns, world)
    assert native.holds(table), "another client does not find what was declared"
    ns.deregister_table(table)
    assert not native.holds(table), "another client still finds what was deregistered"
    assert count(location, ns) == 3
