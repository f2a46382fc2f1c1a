"""Listing all tables below a namespace, at every depth."""

from lance_ns.derived import serve
from lance_ns.errors import ErrorCode
from lance_ns.identifiers import Levels
from lance_ns.models import ListAllTablesRequest
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World


def grown(ns: Namespace, world: World) -> tuple[Levels, list[Levels]]:
    """A namespace and all tables below it, some of them deeper where that is possible."""
    id = world.created(ns)
    tables = [(*id, "a"), (*id, "b")]
    if world.child_possible():
        for child in ("x", "y"):
            ns.create_namespace((*id, child))
            tables.append((*id, child, "a"))
    for table in tables:
        ns.declare_table(table)
    return id, sorted(tables)


@scenario("tables of every depth come once each when all are listed", clauses=["contract.names-in-lists.8"])
def every_depth(ns: Namespace, world: World) -> None:
    id, tables = grown(ns, world)
    assert sorted(ns.list_all_tables(id)) == tables


@scenario(
    "pages of all tables of every size cover each exactly once",
    clauses=["contract.names-in-lists.8", "contract.paging.1"],
)
def pages(ns: Namespace, world: World) -> None:
    id, tables = grown(ns, world)
    for limit in range(1, len(tables) + 2):
        names: list[str] = []
        token = ""
        for _ in range(len(tables) + 1):
            page = serve(ns, ListAllTablesRequest(id=id, limit=limit, page_token=token))
            assert len(page.tables) <= limit, f"a page of at most {limit} holds {len(page.tables)}"
            names += page.tables
            token = page.page_token or ""
            if not token:
                break
        assert sorted(names) == sorted("$".join(table) for table in tables), f"pages of {limit}"


@scenario(
    "what lies beside a namespace is not listed with all that lies below it", clauses=["contract.names-in-lists.8"]
)
def not_beside(ns: Namespace, world: World) -> None:
    id, tables = grown(ns, world)
    beside = world.created(ns, world.name("ns"))
    ns.declare_table((*beside, "t"))
    assert sorted(ns.list_all_tables(id)) == tables
    assert list(ns.list_all_tables(beside)) == [(*beside, "t")]


@scenario("below an empty namespace all tables are none", clauses=["contract.names-in-lists.6"])
def empty(ns: Namespace, world: World) -> None:
    assert list(ns.list_all_tables(world.created(ns))) == []


@scenario(
    "listing all tables of a missing namespace answers NamespaceNotFound",
    clauses=[
        "contract.names-in-lists.7",
    ],
)
def missing(ns: Namespace, world: World) -> None:
    with raises(ErrorCode.NAMESPACE_NOT_FOUND):
        list(ns.list_all_tables(world.namespace("absent")))


@scenario("a deregistered table is not among all tables", clauses=["contract.names-in-lists.10"])
def deregistered(ns: Namespace, world: World) -> None:
    id, tables = grown(ns, world)
    gone = tables[-1]
    ns.deregister_table(gone)
    assert sorted(ns.list_all_tables(id)) == tables[:-1]


@scenario(
    "all tables with data are listed without those that are only declared", clauses=["contract.declared-or-with-data.2"]
)
def with_data(ns: Namespace, world: World) -> None:
    import pyarrow as pa

    id, _ = grown(ns, world)
    ns.write((*id, "b"), pa.table({"id": [1]}))
    assert list(ns.list_all_tables(id, include_declared=False)) == [(*id, "b")]
