"""What goes over the wire: how many calls an operation makes, what is asked for, what is sent again and what is not."""

import threading
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from small_server import HANG_UP, Asked, Reply, SmallServer

from lance_ns import errors
from lance_ns.models import DescribeTableRequest, Identity, ListTablesRequest

API = "/api/2.1/unity-catalog"
MISSING = Reply(404, {"error_code": "TABLE_NOT_FOUND", "message": "none"})


def described(name: str = "t", **difference: Any) -> dict[str, Any]:
    return {
        "name": name,
        "table_type": "EXTERNAL",
        "data_source_format": "TEXT",
        "columns": [],
        "storage_location": f"file:///lake/main/s/{name}",
        "properties": {"table_type": "lance"},
        **difference,
    }


class Unity:
    """A server that has one schema with tables in it, in pages of at most a hundred."""

    def __init__(self, tables: list[dict[str, Any]]) -> None:
        self.tables = tables

    def __call__(self, asked: Asked) -> Reply:
        url = urlsplit(asked.target)
        query = {key: value[0] for key, value in parse_qs(url.query).items()}
        collection, _, name = url.path.removeprefix(f"{API}/").partition("/")
        if asked.method == "DELETE":
            return Reply(200, "200 OK")
        if asked.method in ("POST", "PATCH"):
            return Reply(body=asked.json if "name" in asked.json else {"name": name})
        if name:
            found = {"name": "s", "properties": {}} if collection == "schemas" else described(name.rpartition(".")[2])
            return Reply(body=found)
        entries = [{"name": "s"}] if collection == "schemas" else self.tables
        names = [entry["name"] for entry in entries]
        begin = names.index(query["page_token"]) + 1 if "page_token" in query else 0
        size = min(int(query["max_results"]), 100)
        page = entries[begin : begin + size]
        return Reply(body={collection: page, "next_page_token": page[-1]["name"] if len(page) == size else None})


def asked_of(server: SmallServer) -> list[str]:
    return [f"{each.method} {each.target.removeprefix(API)}" for each in server.asked]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda ns: ns.create_namespace("main$s"), ["POST /schemas"]),
        (lambda ns: ns.describe_namespace("main$s"), ["GET /schemas/main.s"]),
        (lambda ns: list(ns.list_namespaces()), []),
        (lambda ns: list(ns.list_namespaces("main")), ["GET /schemas?catalog_name=main&max_results=100"]),
        (
            lambda ns: list(ns.list_tables("main$s")),
            ["GET /tables?catalog_name=main&schema_name=s&max_results=100&omit_columns=true"],
        ),
        (
            lambda ns: ns.drop_namespace("main$s"),
            [
                "GET /tables?catalog_name=main&schema_name=s&max_results=1&omit_columns=true&omit_properties=true",
                "DELETE /schemas/main.s",
            ],
        ),
        (
            lambda ns: ns.drop_namespace("main$s", behavior="cascade"),
            [
                "GET /tables?catalog_name=main&schema_name=s&max_results=100&omit_columns=true&omit_properties=true",
                "DELETE /schemas/main.s?force=true",
            ],
        ),
        (lambda ns: ns.declare_table("main$s$t"), ["POST /tables"]),
        (lambda ns: ns.register_table("main$s$t", "/lake/t"), ["POST /tables"]),
        (lambda ns: ns.describe_table("main$s$t"), ["GET /tables/main.s.t"]),
        (lambda ns: ns.table_exists("main$s$t"), ["GET /tables/main.s.t"]),
        (lambda ns: ns.deregister_table("main$s$t"), ["GET /tables/main.s.t", "DELETE /tables/main.s.t"]),
    ],
    ids=lambda each: each[0] if isinstance(each, list) and each else "call",
)
def test_an_operation_makes_these_calls_and_no_more(serve, connect, call, expected):
    server = serve(Unity([]))
    call(connect(server))
    assert asked_of(server) == expected


def test_nothing_is_sent_for_another_catalog_or_a_depth_that_there_is_not(serve, connect):
    server = serve(Unity([]))
    ns = connect(server)
    for call in (
        lambda: ns.create_namespace("other$s"),
        lambda: ns.describe_table("other$s$t"),
        lambda: ns.create_namespace("main"),
        lambda: ns.list_tables_page("main"),
        lambda: ns.describe_table("main$t"),
        lambda: ns.describe_table("main$s$t$u"),
        lambda: ns.list_namespaces_page("main$s"),
        lambda: ns.describe_table(["main", "s", "a.b"]),
    ):
        with pytest.raises(errors.LanceNsError):
            call()
    assert server.asked == []


def test_every_page_of_the_server_is_followed_and_foreign_tables_are_left_out_without_loading_any(serve, connect):
    tables = [described(f"t{at:04}", properties={"table_type": "lance"} if at % 3 else {}) for at in range(1000)]
    server = serve(Unity(tables))
    ns = connect(server)
    assert list(ns.list_tables("main$s")) == [each["name"] for at, each in enumerate(tables) if at % 3]
    assert len(server.asked) == 11, "ten full pages, and the empty one that says so"
    pages, token = [], None
    while token is not None or not pages:
        page = ns.list_tables_page("main$s", limit=70, page_token=token)
        pages.append(page.tables)
        token = page.page_token
    assert [name for page in pages for name in page] == [each["name"] for at, each in enumerate(tables) if at % 3]
    assert {len(page) for page in pages[:-1]} == {70}


def test_a_listing_of_ten_thousand_tables_keeps_no_more_than_a_page_of_them(serve, connect):
    def peak(count: int) -> int:
        """The most memory that following a listing to its end takes, names given back at once."""
        tables = [described(f"t{at:05}") for at in range(count)]
        ns = connect(serve(Unity(tables)))
        list(ns.list_tables_page("main$s", limit=1).tables)
        tracemalloc.start()
        try:
            assert sum(1 for _ in ns.list_tables("main$s")) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(10_000) < 2 * peak(500)


def test_the_columns_of_a_table_are_turned_into_a_schema_only_when_that_is_wanted(serve, connect):
    column = {"name": "id", "type_json": '"long"', "position": 0}
    ns = connect(serve(lambda _: Reply(body=described(columns=[column]))))
    assert ns.call(DescribeTableRequest(id=["main", "s", "t"])).schema is None
    wanted = ns.call(DescribeTableRequest(id=["main", "s", "t"], with_columns=True)).schema
    assert wanted == {"fields": [{"name": "id", "nullable": True, "type": {"type": "int64"}}]}


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_failed_request_is_sent_again_as_often_as_max_retries_says(serve, connect, retries, monkeypatch):
    monkeypatch.setattr("lance_ns.rest.client.pause", lambda *_: True)
    server = serve(lambda _: Reply(503))
    ns = connect(server, max_retries=retries)
    with pytest.raises(errors.ServiceUnavailable):
        ns.describe_table("main$s$t")
    assert len(server.asked) == 1 + retries


class Lossy:
    """A server whose answer to a certain request is lost, once it was done or not."""

    def __init__(self, method: str, after: Callable[[Asked], Reply]) -> None:
        self._method = method
        self._after = after

    def __call__(self, asked: Asked) -> Any:
        return HANG_UP if asked.method == self._method else self._after(asked)


def test_a_create_whose_answer_was_lost_is_read_back_and_not_sent_twice(serve, connect):
    server = serve(Lossy("POST", lambda _: Reply(body=described())))
    assert connect(server).declare_table("main$s$t").location == "file:///lake/main/s/t"
    assert asked_of(server) == ["POST /tables", "GET /tables/main.s.t"]


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (MISSING, errors.ServiceUnavailable),
        (Reply(body=described(storage_location="file:///elsewhere")), errors.TableAlreadyExists),
        (Reply(body=described(properties={})), errors.TableAlreadyExists),
    ],
    ids=["nothing", "another", "a table of another format"],
)
def test_a_create_whose_answer_was_lost_never_succeeds_with_what_somebody_else_made(serve, connect, found, kind):
    server = serve(Lossy("POST", lambda _: found))
    with pytest.raises(kind):
        connect(server).declare_table("main$s$t")
    assert sum(each.method == "POST" for each in server.asked) == 1


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        ({"name": "s", "properties": {"a": "1"}}, None),
        ({"name": "s", "properties": {"a": "2"}}, errors.NamespaceAlreadyExists),
        (None, errors.ServiceUnavailable),
    ],
    ids=["ours", "another's", "nothing"],
)
def test_a_namespace_whose_answer_was_lost_is_read_back(serve, connect, found, kind):
    missing = Reply(404, {"error_code": "SCHEMA_NOT_FOUND", "message": "none"})
    ns = connect(serve(Lossy("POST", lambda _: missing if found is None else Reply(body=found))))
    if kind is None:
        assert ns.create_namespace("main$s", properties={"a": "1"}).properties == {"a": "1"}
    else:
        with pytest.raises(kind):
            ns.create_namespace("main$s", properties={"a": "1"})


@pytest.mark.parametrize(("stored", "done"), [({"a": "1"}, True), ({"a": "1", "old": "x"}, False)])
def test_replaced_properties_whose_answer_was_lost_are_read_back(serve, connect, stored, done):
    def answer(asked: Asked) -> Any:
        if asked.method == "POST":
            return Reply(400, {"error_code": "SCHEMA_ALREADY_EXISTS", "message": "there"})
        if "/tables?" in asked.target:
            return Reply(body={"tables": []})
        return Reply(body={"name": "s", "properties": stored})

    ns = connect(serve(Lossy("PATCH", answer)))
    if done:
        ns.create_namespace("main$s", mode="overwrite", properties={"a": "1"})
    else:
        with pytest.raises(errors.ServiceUnavailable):
            ns.create_namespace("main$s", mode="overwrite", properties={"a": "1"})


def test_a_listing_whose_pages_do_not_advance_is_an_error(serve, connect):
    ns = connect(serve(lambda _: Reply(body={"tables": [described()], "next_page_token": "again"})))
    with pytest.raises(errors.Internal, match="does not advance"):
        list(ns.list_tables("main$s"))


def test_an_error_in_the_middle_of_a_listing_is_raised(serve, connect):
    tables = Unity([described(f"t{at:03}") for at in range(300)])
    ns = connect(serve(lambda asked: Reply(500) if "page_token" in asked.target else tables(asked)))
    with pytest.raises(errors.Internal):
        list(ns.list_tables("main$s"))


def test_the_token_of_a_request_goes_with_all_calls_of_that_operation_and_no_other(serve, connect):
    server = serve(Unity([described(f"t{at:03}") for at in range(150)]))
    ns = connect(server, auth_token="own")
    ns.call(ListTablesRequest(id=["main", "s"], limit=150, identity=Identity(auth_token="for-this-one")))
    ns.describe_table("main$s$t")
    assert [each.token for each in server.asked] == ["for-this-one", "for-this-one", "own"]


class Careless:
    """A server that looks first and writes later, as the official one does: creations at once all succeed."""

    def __init__(self) -> None:
        self.asked_twice = threading.Event()
        self.under_way = 0
        self.made = False

    def __call__(self, asked: Asked) -> Reply:
        there = self.made
        self.under_way += 1
        if self.under_way > 1:
            self.asked_twice.set()
        elif not there:
            self.asked_twice.wait(1)  # long enough for others to come in, if they are let
        self.under_way -= 1
        self.made = True
        exists = Reply(400, {"error_code": "TABLE_ALREADY_EXISTS", "message": "there"})
        return exists if there else Reply(body=asked.json)


def outcomes(calls: Iterator[Callable[[], Any]]) -> Counter[str]:
    def outcome(call: Callable[[], Any]) -> str:
        try:
            call()
        except errors.LanceNsError as error:
            return type(error).__name__
        return "ok"

    with ThreadPoolExecutor(16) as pool:
        return Counter(pool.map(outcome, calls))


def test_connections_of_one_process_never_create_one_name_at_the_same_time(serve, connect):
    careless = Careless()
    server = serve(careless)
    connections = [connect(server) for _ in range(4)]
    found = outcomes(lambda ns=ns: ns.declare_table("main$s$t") for ns in connections * 8)
    assert found == {"ok": 1, "TableAlreadyExists": 31}
    assert not careless.asked_twice.is_set()
