"""The bridge: the connection as pylance, LanceDB and others see it."""

from collections.abc import Callable
from typing import Any

from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import scenario
from lance_ns_conformance.scenarios.data import count, rows, written
from lance_ns_conformance.world import World


@scenario("pylance overwrites a table through the bridge", clauses=["contract.bridge.2"])
def overwrites(ns: Namespace, world: World) -> None:
    import lance

    table, _ = written(ns, world)
    client: dict[str, Any] = {"namespace_client": ns.as_lance(), "table_id": list(table)}
    lance.write_dataset(rows(4), mode="append", **client)
    assert ns.dataset(table).count_rows() == 4
    lance.write_dataset(rows(9), mode="overwrite", **client)
    assert lance.dataset(**client).to_table()["id"].to_pylist() == [9]


@scenario("a table of the facade opens through the bridge with the same rows", clauses=["contract.bridge.4"])
def same_rows(ns: Namespace, world: World) -> None:
    import lance

    table, _ = written(ns, world)
    through = lance.dataset(namespace_client=ns.as_lance(), table_id=list(table))
    assert through.to_table().equals(ns.dataset(table).to_table())


@scenario("errors come through the bridge with the same code", clauses=["contract.bridge.3"])
def codes(ns: Namespace, world: World) -> None:
    import lance_namespace as theirs

    client, id = ns.as_lance(), list(world.created(ns))
    absent = list(world.namespace("absent"))
    ns.declare_table((*id, "t"))
    calls: dict[int, Callable[[], Any]] = {
        1: lambda: client.describe_namespace(theirs.DescribeNamespaceRequest(id=absent)),
        2: lambda: client.create_namespace(theirs.CreateNamespaceRequest(id=id)),
        3: lambda: client.drop_namespace(theirs.DropNamespaceRequest(id=id)),
        4: lambda: client.describe_table(theirs.DescribeTableRequest(id=[*id, "absent"])),
        5: lambda: client.declare_table(theirs.DeclareTableRequest(id=[*id, "t"])),
        13: lambda: client.list_tables(theirs.ListTablesRequest(id=id, page_token="junk")),  # noqa: S106
    }
    for code, call in calls.items():
        found = None
        try:
            call()
        except Exception as error:  # noqa: BLE001  # their errors have no common base of ours
            found = getattr(error, "code", error)
        assert found == code, f"expected code {code}, got {found!r}"


@scenario("namespaces and tables are made, listed and removed through the bridge", clauses=["contract.bridge.4"])
def lifecycle(ns: Namespace, world: World) -> None:
    import lance_namespace as theirs

    client, id = ns.as_lance(), list(world.namespace())
    client.create_namespace(theirs.CreateNamespaceRequest(id=id))
    location = client.declare_table(theirs.DeclareTableRequest(id=[*id, "t"])).location
    assert ns.describe_table((*id, "t")).location == location
    assert client.list_tables(theirs.ListTablesRequest(id=id)).tables == ["t"]
    client.deregister_table(theirs.DeregisterTableRequest(id=[*id, "t"]))
    assert list(ns.list_tables(id)) == []
    client.drop_namespace(theirs.DropNamespaceRequest(id=id))
    assert not ns.namespace_exists(id)


@scenario("pages come through the bridge, each name once", clauses=["contract.paging.1"])
def pages(ns: Namespace, world: World) -> None:
    import lance_namespace as theirs

    client, id = ns.as_lance(), list(world.created(ns))
    for name in ("a", "b", "c"):
        ns.declare_table((*id, name))
    names: list[str] = []
    token = None
    for _ in range(4):
        page = client.list_tables(theirs.ListTablesRequest(id=id, limit=1, page_token=token))
        names += page.tables
        token = page.page_token
        if token is None:
            break
    assert sorted(names) == ["a", "b", "c"]


@scenario("dropping a table through the bridge deletes no data", clauses=["contract.data-safety.6"])
def drop_keeps_data(ns: Namespace, world: World) -> None:
    import lance_namespace as theirs

    table, location = written(ns, world)
    ns.as_lance().drop_table(theirs.DropTableRequest(id=list(table)))
    assert not ns.table_exists(table)
    assert count(location, ns) == 3
