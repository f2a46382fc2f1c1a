"""Declaring, describing, listing, deregistering tables."""

from typing import Any

from lance_ns.derived import serve
from lance_ns.errors import ErrorCode
from lance_ns.models import (
    DeclareTableRequest,
    DeregisterTableRequest,
    DescribeTableRequest,
    ListTablesRequest,
    TableExistsRequest,
)
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.world import World

MISSING, EXISTS = ErrorCode.TABLE_NOT_FOUND, ErrorCode.TABLE_ALREADY_EXISTS


@scenario(
    "a declared table is described and listed, with a location",
    clauses=[
        "contract.declare.1",
        "contract.declare.4",
        "contract.exists.2",
        "decisions.default-locations.7",
        "unity.declare-table.steps.3",
        "polaris.declare-table.steps.4",
        "iceberg.declare-table.steps.6",
        "hive3.declare-table.steps.4",
        "glue.declare-table.steps.4",
        "polaris.table.2",
        "iceberg.table.2",
        "polaris.list-tables.steps.3",
        "iceberg.list-tables.steps.2",
    ],
    dialect=True,
)
def declared_is_there(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    declared = ns.declare_table(table)
    described = ns.describe_table(table)
    assert declared.location, "declaring answers no location"
    assert described.location == declared.location, "describe and declare disagree on the location"
    assert list(ns.list_tables(table[:-1])) == ["t"]
    assert ns.table_exists(table)


@scenario(
    "describing a missing table answers TableNotFound",
    clauses=[
        "contract.describe.2",
        "contract.exists.2",
        "unity.describe-table.errors.1",
        "polaris.describe-table.errors.1",
        "iceberg.describe-table.errors.1",
        "hive3.describe-table.errors.1",
        "glue.describe-table.errors.1",
    ],
    dialect=True,
)
def describe_missing(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with raises(MISSING):
        ns.describe_table((*id, "absent"))
    assert not ns.table_exists((*id, "absent"))


@scenario(
    "describing a table in a missing namespace answers TableNotFound",
    clauses=["contract.hierarchy.4", "decisions.describe-and-deregister-in-a-missing-namespace.1"],
    dialect=True,
)
def describe_in_missing_namespace(ns: Namespace, world: World) -> None:
    with raises(MISSING):
        ns.describe_table((*world.namespace("absent"), "t"))


@scenario(
    "declaring in a missing namespace answers NamespaceNotFound, and makes none",
    clauses=[
        "contract.hierarchy.3",
        "unity.declare-table.errors.1",
        "polaris.declare-table.errors.1",
        "iceberg.declare-table.errors.1",
        "hive3.declare-table.errors.1",
        "glue.declare-table.errors.1",
    ],
    dialect=True,
)
def declare_in_missing_namespace(ns: Namespace, world: World) -> None:
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        ns.declare_table((*world.namespace("absent"), "t"))
    assert not ns.namespace_exists(world.namespace("absent"))


@scenario(
    "declaring an existing table answers TableAlreadyExists and changes nothing",
    clauses=[
        "contract.declare.2",
        "contract.declare.3",
        "unity.declare-table.errors.2",
        "polaris.declare-table.errors.2",
        "iceberg.declare-table.errors.2",
        "hive3.declare-table.errors.2",
        "glue.declare-table.errors.2",
    ],
    dialect=True,
)
def declare_existing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    first = ns.declare_table(table)
    with raises(EXISTS):
        ns.declare_table(table)
    assert ns.describe_table(table).location == first.location


@scenario("two tables never share a location", clauses=["contract.default-locations.2"], dialect=True)
def locations_differ(ns: Namespace, world: World) -> None:
    first, second = world.created(ns, "first"), world.created(ns, "second")
    tables = [(*first, "t"), (*first, "u"), (*second, "t")]
    locations = {ns.declare_table(table).location for table in tables}
    assert len(locations) == len(tables)


@scenario(
    "a table is declared at the location that is given",
    clauses=[
        "contract.declare.5",
        "contract.capabilities.5",
        "decisions.default-locations.1",
        "unity.declare-table.steps.4",
        "polaris.declare-table.steps.3",
        "iceberg.declare-table.steps.2",
        "hive3.declare-table.steps.3",
        "glue.declare-table.steps.3",
    ],
    needs=["declare_table.location"],
    dialect=True,
)
def given_location(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    asked = f"{world.scratch}/somewhere/else"
    declared = ns.declare_table(table, location=asked)
    assert declared.location is not None
    assert declared.location.removeprefix("file://") == asked
    assert ns.describe_table(table).location == declared.location


@scenario(
    "lists of tables have names relative to their namespace",
    clauses=[
        "contract.names-in-lists.1",
        "contract.names-in-lists.5",
        "decisions.names.1",
        "polaris.list-tables.steps.3",
        "iceberg.list-tables.steps.2",
    ],
    dialect=True,
)
def relative_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in ("b", "a", "c"):
        ns.declare_table((*id, name))
    assert sorted(ns.list_tables(id)) == ["a", "b", "c"]


@scenario(
    "tables of a child namespace are not listed with its parent's", clauses=["contract.names-in-lists.4"], dialect=True
)
def not_the_childs(ns: Namespace, world: World) -> None:
    world.needs_nesting()
    id = world.created(ns)
    ns.create_namespace((*id, "child"))
    ns.declare_table((*id, "child", "inner"))
    ns.declare_table((*id, "outer"))
    assert list(ns.list_tables(id)) == ["outer"]
    assert list(ns.list_tables((*id, "child"))) == ["inner"]


@scenario("all tables below a namespace are listed with their identifiers", clauses=["contract.names-in-lists.8"])
def list_all(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "a"))
    expected = [(*id, "a")]
    if world.child_possible():
        ns.create_namespace((*id, "child"))
        ns.declare_table((*id, "child", "b"))
        expected.append((*id, "child", "b"))
    assert sorted(ns.list_all_tables(id)) == expected


@scenario(
    "a deregistered table is gone from the catalog",
    clauses=["contract.deregister.1", "contract.names-in-lists.10"],
    dialect=True,
)
def deregistered_is_gone(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    ns.deregister_table(table)
    assert list(ns.list_tables(table[:-1])) == []
    with raises(MISSING):
        ns.describe_table(table)


@scenario("deregistering answers where the data still is", clauses=["contract.deregister.2"])
def deregister_says_where(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    location = ns.declare_table(table).location
    answer = ns.call(DeregisterTableRequest(id=table))
    assert answer.location == location
    assert tuple(answer.id or ()) == table


@scenario(
    "deregistering a missing table answers TableNotFound",
    clauses=[
        "contract.deregister.3",
        "contract.hierarchy.5",
        "decisions.describe-and-deregister-in-a-missing-namespace.2",
        "unity.deregister-table.errors.1",
        "polaris.deregister-table.errors.1",
        "iceberg.deregister-table.errors.1",
        "hive3.deregister-table.errors.1",
        "glue.deregister-table.errors.1",
    ],
    dialect=True,
)
def deregister_missing(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with raises(MISSING):
        ns.deregister_table((*id, "absent"))
    with raises(MISSING):
        ns.deregister_table((*world.namespace("absent"), "t"))


@scenario("deregistering twice answers TableNotFound the second time", clauses=["contract.deregister.4"], dialect=True)
def deregister_twice(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    ns.deregister_table(table)
    with raises(MISSING):
        ns.deregister_table(table)


@scenario("a deregistered table can be declared again", clauses=["contract.deregister.6"], dialect=True)
def declare_again(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    ns.deregister_table(table)
    ns.declare_table(table)
    assert ns.table_exists(table)


@scenario("a table and a namespace are told apart", clauses=["contract.exists.7", "contract.names-in-lists.4"])
def table_is_no_namespace(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    assert not ns.namespace_exists((*id, "t"))
    if world.child_possible():
        ns.create_namespace((*id, "child"))
        assert not ns.table_exists((*id, "child"))
        assert list(ns.list_tables(id)) == ["t"]
        assert list(ns.list_namespaces(id)) == ["child"]


@scenario(
    "without details, version, URI, schema and stats are null",
    clauses=[
        "contract.detailed-metadata.3",
        "contract.declared-or-with-data.6",
        "decisions.detailed-metadata.3",
        "polaris.describe-table.steps.2",
        "iceberg.describe-table.steps.2",
    ],
)
def no_details_unasked(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    answer = ns.call(DescribeTableRequest(id=table))
    assert (answer.version, answer.table_uri, answer.schema, answer.stats) == (None, None, None, None)
    assert answer.is_only_declared is None, "nobody asked whether there is data"


@scenario(
    "storage options of a description are the connection's, without their prefix", clauses=["contract.describe.4"]
)
def storage_options(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    found = ns.describe_table(table).storage_options or {}
    assert {key: found.get(key) for key in ns.storage} == dict(ns.storage)


@scenario(
    "listing through a request gives one page with everything when no limit is set",
    clauses=["contract.limits.4", "contract.paging.3"],
    dialect=True,
)
def unlimited_page(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for number in range(5):
        ns.declare_table((*id, f"t{number}"))
    page = ns.call(ListTablesRequest(id=id))
    names = list(page.tables)
    while page.page_token is not None:
        page = ns.call(ListTablesRequest(id=id, page_token=page.page_token))
        names += page.tables
    assert sorted(names) == [f"t{number}" for number in range(5)]


@scenario(
    "of racing declares exactly one succeeds, and the others find it taken",
    clauses=["contract.concurrency.2"],
    live_only=True,
)
def racing_declares(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table = (*world.created(ns), "t")
    assert outcomes(lambda _: ns.declare_table(table)) == {"ok": 1, "TableAlreadyExists": 7}


@scenario(
    "threads that declare different tables on one connection lose none",
    clauses=["contract.concurrency.6"],
    live_only=True,
)
def many_declares(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    id = world.created(ns)
    assert outcomes(lambda number: ns.declare_table((*id, f"t{number}"))) == {"ok": 8}
    assert sorted(ns.list_tables(id)) == [f"t{number}" for number in range(8)]


@scenario("tables of one name in two namespaces are two tables", clauses=["contract.hierarchy.2"])
def same_name_elsewhere(ns: Namespace, world: World) -> None:
    first, second = world.created(ns, "first"), world.created(ns, "second")
    ns.declare_table((*first, "t"))
    assert not ns.table_exists((*second, "t"))
    kept = ns.declare_table((*second, "t")).location
    ns.deregister_table((*first, "t"))
    assert ns.describe_table((*second, "t")).location == kept


@scenario("a table whose name begins as another's is another table", clauses=["contract.identifiers.7"])
def prefix_of_another(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "table_one"))
    assert not ns.table_exists((*id, "table"))
    ns.declare_table((*id, "table"))
    ns.deregister_table((*id, "table"))
    assert list(ns.list_tables(id)) == ["table_one"]


@scenario(
    "names that differ in case are two tables, unless the catalog folds them",
    clauses=["contract.identifiers.7"],
    dialect=True,
)
def case_of_names(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    first = ns.declare_table((*id, "Mixed")).location
    if world.expect.folds_case:
        with raises(EXISTS):
            ns.declare_table((*id, "mixed"))
        assert list(ns.list_tables(id)) == ["mixed"]
        return
    assert ns.declare_table((*id, "mixed")).location != first
    assert sorted(ns.list_tables(id)) == ["Mixed", "mixed"]


@scenario("a listed table put after its namespace is found", clauses=["contract.names-in-lists.2", "decisions.names.2"])
def listed_is_found(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    declared = {ns.declare_table((*id, name)).location for name in ("one", "Two", "three_3")}
    assert {ns.describe_table((*id, name)).location for name in ns.list_tables(id)} == declared


@scenario(
    "a refused declare leaves the properties of the table as they were", clauses=["contract.declare.3"], dialect=True
)
def refused_declare_keeps(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"owner": "first"})
    before = ns.describe_table(table)
    with raises(EXISTS):
        ns.declare_table(table, properties={"owner": "second"})
    assert ns.describe_table(table) == before


@scenario(
    "a refused declare leaves the location of the table as it was",
    clauses=["contract.declare.3"],
    needs=["declare_table.location"],
)
def refused_declare_moves_nothing(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    before = ns.declare_table(table, location=f"{world.scratch}/first").location
    with raises(EXISTS):
        ns.declare_table(table, location=f"{world.scratch}/second")
    assert ns.describe_table(table).location == before


@scenario("a table is declared by a request alone", clauses=["contract.declare.1"])
def declare_by_request(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    answer = ns.call(DeclareTableRequest(id=table))
    assert answer.location == ns.call(DescribeTableRequest(id=table)).location


@scenario(
    "a table declared again after deregistering has none of the old properties", clauses=["contract.deregister.6"]
)
def declare_anew(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table, properties={"owner": "first"})
    ns.deregister_table(table)
    ns.declare_table(table)
    assert "owner" not in (ns.describe_table(table).properties or {})


@scenario(
    "what one connection declares or deregisters, another sees at once",
    clauses=["contract.declare.1", "contract.deregister.1"],
)
def seen_by_another(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with world.connect() as other:
        assert not other.table_exists(table)
        location = ns.declare_table(table).location
        assert other.describe_table(table).location == location
        other.deregister_table(table)
    assert not ns.table_exists(table)


@scenario("the request form of exists answers TableNotFound", clauses=["contract.exists.4"])
def exists_request(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with raises(MISSING):
        serve(ns, TableExistsRequest(id=table))
    ns.declare_table(table)
    serve(ns, TableExistsRequest(id=table))


@scenario("the URI of a table is described when it is asked for", clauses=["contract.describe.7"])
def table_uri(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    assert ns.describe_table(table, with_table_uri=True).table_uri


@scenario("a version below zero, or that is no number, answers InvalidInput", clauses=["contract.describe.6"])
def bad_version(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    wrong: list[Any] = [-1, "1", 1.0, True]
    for version in wrong:
        with raises(ErrorCode.INVALID_INPUT):
            ns.describe_table(table, version=version)


@scenario("a declared table has no version", clauses=["contract.exists.8", "contract.detailed-metadata.5"])
def no_version_yet(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    assert not ns.table_exists(table, version=1)
    with raises(ErrorCode.TABLE_VERSION_NOT_FOUND):
        ns.describe_table(table, version=1)


@scenario("asked for details, a declared table says that it is only declared", clauses=["contract.detailed-metadata.2"])
def details_of_declared(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    answer = ns.describe_table(table, load_detailed_metadata=True)
    assert (answer.is_only_declared, answer.version, answer.stats) == (True, None, None)


@scenario(
    "storage options are those of the connection that describes, not of the one that declared",
    clauses=["contract.describe.4", "decisions.storage-options.1"],
)
def storage_options_of_another(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with connected_with(world, {"storage.conformance": "marked"}) as other:
        assert (other.describe_table(table).storage_options or {}).get("conformance") == "marked"
    assert "conformance" not in (ns.describe_table(table).storage_options or {})


@scenario("dropping a missing table answers TableNotFound", clauses=["contract.errors.1"])
def drop_missing(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for delete in (False, True):
        with raises(MISSING):
            ns.drop_table((*id, "absent"), delete_data=delete)


@scenario("dropping a declared table takes it out of the catalog", clauses=["contract.deregister.1"])
def drop_declared(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for delete in (False, True):
        ns.declare_table((*id, "t"))
        ns.drop_table((*id, "t"), delete_data=delete)
        assert list(ns.list_tables(id)) == []


@scenario(
    "tables lie directly below the base, or that answers InvalidInput",
    clauses=[
        "contract.hierarchy.1",
        "decisions.depth.2",
        "unity.declare-table.steps.1",
        "unity.list-tables.steps.1",
        "polaris.declare-table.steps.1",
        "polaris.list-tables.steps.1",
        "polaris.describe-table.steps.3",
        "polaris.deregister-table.steps.1",
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
    ],
    dialect=True,
)
def at_the_base(ns: Namespace, world: World) -> None:
    base = world.expect.base
    table = (*base, world.name("t"))
    if world.expect.tables_at_base:
        ns.declare_table(table)
        assert world.shown(table[-1]) in ns.list_tables(base)
        ns.deregister_table(table)
        assert not ns.table_exists(table)
        return
    if not base and world.expect.max_depth is None:
        world.skip("nothing is said of tables at the base of this catalog")
    for call in (ns.declare_table, ns.describe_table, ns.deregister_table, lambda _: list(ns.list_tables(base))):
        with raises(ErrorCode.INVALID_INPUT):
            call(table)
    assert not ns.table_exists(table)


@scenario(
    "threads that describe and list on one connection get the right answers",
    clauses=["contract.concurrency.6"],
    live_only=True,
)
def many_readers(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    id = world.created(ns)
    locations = [ns.declare_table((*id, f"t{number}")).location for number in range(8)]

    def read(number: int) -> None:
        assert ns.describe_table((*id, f"t{number}")).location == locations[number]
        assert len(list(ns.list_tables(id))) == len(locations)

    assert outcomes(read) == {"ok": 8}


@scenario(
    "of racing deregistrations exactly one succeeds, and the others find it gone",
    clauses=["contract.concurrency.4"],
    live_only=True,
)
def racing_deregistrations(ns: Namespace, world: World) -> None:
    from lance_ns_conformance.together import outcomes

    table = (*world.created(ns), "t")
    ns.declare_table(table)
    found = outcomes(lambda _: ns.deregister_table(table))
    assert found == {"ok": 1, "TableNotFound": 7}, found


@scenario("a description names the table and its namespace", clauses=["contract.describe.1"])
def description_names(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    found = ns.describe_table(table)
    assert found.table == "t"
    assert tuple(found.namespace or ()) == table[:-1]
