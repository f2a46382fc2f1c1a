"""What an operation costs, counted in requests and connections: a regression shows without a clock."""

from collections.abc import Callable
from typing import Any

import pytest
from iceberg_catalog import Catalog
from small_server import SmallServer

NAMES = [f"t{number:02}" for number in range(12)]
TABLE, NAMESPACE = ("w", "n", "t"), ("w", "n")
OPERATIONS: dict[str, tuple[Callable[[Any], Any], list[str]]] = {
    "describe a table": (lambda ns: ns.describe_table(TABLE), ["GET"]),
    "whether a table exists": (lambda ns: ns.table_exists(TABLE), ["GET"]),
    "declare a table": (lambda ns: ns.declare_table(TABLE), ["HEAD", "POST"]),
    "register a table": (lambda ns: ns.register_table(TABLE, "/lake/t"), ["HEAD", "POST"]),
    "deregister a table": (lambda ns: ns.deregister_table(TABLE), ["GET", "DELETE"]),
    "rename a table": (lambda ns: ns.rename_table(TABLE, "u"), ["GET", "POST"]),
    "move a table": (lambda ns: ns.rename_table(TABLE, "t", new_namespace_id=("w", "m")), ["GET", "HEAD", "POST"]),
    "alter a table": (lambda ns: ns.alter_table_properties(TABLE, {"a": "b"}), ["GET", "POST"]),
    "describe a namespace": (lambda ns: ns.describe_namespace(NAMESPACE), ["GET"]),
    "whether a namespace exists": (lambda ns: ns.namespace_exists(NAMESPACE), ["HEAD"]),
    "create a namespace": (lambda ns: ns.create_namespace(NAMESPACE), ["POST"]),
    "create one below another": (lambda ns: ns.create_namespace(("w", "n", "m")), ["HEAD", "POST"]),
    "drop a namespace": (lambda ns: ns.drop_namespace(NAMESPACE), ["GET", "DELETE"]),
    "list the namespaces of a warehouse": (lambda ns: list(ns.list_namespaces("w")), ["GET"]),
    "list the root": (lambda ns: list(ns.list_namespaces()), []),
    "list tables": (lambda ns: list(ns.list_tables(NAMESPACE)), ["GET", *["GET"] * len(NAMES)]),
}


@pytest.fixture
def server(serve) -> SmallServer:
    return serve(Catalog(defaults={"prefix": "p"}, tables=NAMES))


def test_connecting_sends_nothing(server, connect):
    connect(server)

    assert (server.asked, server.accepted) == ([], 0)


def test_the_first_operation_asks_for_the_configuration_and_no_later_one(server, connect):
    ns = connect(server)

    for _ in range(3):
        ns.describe_table(TABLE)

    assert [each.target.partition("?")[0].rpartition("/")[2] for each in server.asked] == ["config", "t", "t", "t"]


@pytest.mark.parametrize(("operation", "expected"), OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_sends_no_more_requests_than_it_needs(server, connect, operation, expected):
    ns = connect(server)
    ns.describe_namespace(NAMESPACE)  # the configuration is known from then on
    before = len(server.asked)

    operation(ns)

    assert [each.method for each in server.asked[before:]] == expected


def test_a_page_asks_about_few_tables_behind_it(server, connect):
    ns = connect(server)

    page = ns.list_tables_page(NAMESPACE, limit=3)

    assert page.tables == NAMES[:3]
    assert len([each for each in server.asked if "/tables/" in each.target]) <= 8


def test_operations_one_after_the_other_share_one_connection(server, connect):
    ns = connect(server)

    for operation, _ in OPERATIONS.values():
        if operation is not OPERATIONS["list tables"][0]:
            operation(ns)

    assert server.accepted == 1


def test_a_listing_opens_no_more_connections_than_it_asks_about_tables_at_once(server, connect):
    list(connect(server).list_tables(NAMESPACE))

    assert server.accepted <= 8
