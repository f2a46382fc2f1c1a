"""Hostile names: whatever an identifier holds, requests for it address exactly what it names, or are never sent."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import uuid4

import pytest
import urllib3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from iceberg_catalog import Catalog
from small_server import Asked, SmallServer

import lance_ns
from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns.identifiers import MAX_LEVEL_LENGTH, levels
from lance_ns_iceberg import mapping

PREFIX = "main%7Cw"
NASTY = [
    *["a", "tables", "namespaces", "rename", "properties", "config", "v1", "x" * MAX_LEVEL_LENGTH],
    *["..a", "a..", "...", "a.b", "a/b", "../../x", "a\\b", "a%2Fb", "%2e%2e", "%", "%1F", "a%1Fb", "%00"],
    *["a b", " a", "a ", "+", "a+b", "?x=1", "#x", "a?b#c", "a&b=c", "a;b", "a:b", "a@b", "a|b", "a,b", "a::b"],
    *["//evil.example/x", "http://evil.example/", "'", '"', "<a>", "{a}", "[a]", "~", "-", "_", "$", "a$b"],
    *["ä", "日本", "🦀", "e\u0301", "\u202ea", "\u2028", "\ufeff"],
]
SEPARATORS = ["%1F", "%2E", ".", "%20", "a", "%2F", "|", "-", "::", "%"]

Resource = tuple[str, ...]


def acceptable(level: str) -> bool:
    try:
        levels([level])
    except InvalidInput:
        return False
    return True


texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(acceptable)
names = st.sampled_from(NASTY) | texts
namespaces = st.lists(names, min_size=1, max_size=3)


# --- what a request addresses --------------------------------------------------------------------------------------


def addressed(asked: Asked, separator: str) -> set[Resource]:
    """The resources that a server finds in a request, by whichever way it takes a path apart."""
    url = urlsplit(asked.target)
    query = parse_qs(url.query, keep_blank_values=True, strict_parsing=bool(url.query))
    assert url.scheme == url.netloc == url.fragment == ""
    assert all(" " < char < "\x7f" for char in asked.target)
    if url.path == "/v1/config":
        return {("warehouse", *query["warehouse"])}
    parts = url.path.split("/")
    assert parts[:3] == ["", "v1", PREFIX]
    rest = parts[3:]
    if rest == ["tables", "rename"]:
        ends = (asked.json["source"], asked.json["destination"])
        return {("table", *each["namespace"], each["name"]) for each in ends}
    assert rest[0] == "namespaces"
    if len(rest) == 1:
        if asked.method == "POST":
            return {("namespace", *asked.json["namespace"])}
        return {("namespace", *query["parent"][0].split(unquote(separator)))} if "parent" in query else {("top",)}
    encoded = [unquote(level) for level in rest[1].split(separator)]
    decoded = unquote(rest[1]).split(unquote(separator))
    assert encoded == decoded
    if rest[2:] in ([], ["properties"]):
        return {("namespace", *encoded)}
    assert rest[2] == "tables"
    assert len(rest) <= 4
    if len(rest) == 4:
        return {("table", *encoded, unquote(rest[3]))}
    found = {("namespace", *encoded)}
    return found | {("table", *encoded, asked.json["name"])} if asked.method == "POST" else found


# --- what may be addressed by an operation -------------------------------------------------------------------------

Call = Callable[[lance_ns.Namespace, list[str]], Any]

NAMESPACE_CALLS: dict[str, Call] = {
    "create": lambda ns, n: ns.create_namespace(n, properties={"a": "b"}),
    "overwrite": lambda ns, n: ns.create_namespace(n, mode="overwrite", properties={"a": "b"}),
    "describe": lambda ns, n: ns.describe_namespace(n),
    "exists": lambda ns, n: ns.namespace_exists(n),
    "drop": lambda ns, n: ns.drop_namespace(n),
    "list namespaces": lambda ns, n: list(ns.list_namespaces(n)),
    "list tables": lambda ns, n: list(ns.list_tables(n)),
}
TABLE_CALLS: dict[str, Call] = {
    "declare": lambda ns, t: ns.declare_table(t),
    "register": lambda ns, t: ns.register_table(t, "/lake/t"),
    "register again": lambda ns, t: ns.register_table(t, "/lake/t", mode="overwrite"),
    "describe": lambda ns, t: ns.describe_table(t),
    "exists": lambda ns, t: ns.table_exists(t),
    "alter": lambda ns, t: ns.alter_table_properties(t, {"a": "b"}),
    "deregister": lambda ns, t: ns.deregister_table(t),
}


class Watched:
    """Connections to a catalog for every separator, and what their requests address."""

    def __init__(self, stack: ExitStack) -> None:
        self.catalog = Catalog(defaults={"prefix": PREFIX}, tables=["t", "..", "", "x/y"])
        self._server = stack.enter_context(SmallServer(self.catalog))
        self._stack = stack
        self._connections: dict[str, lance_ns.Namespace] = {}

    def __call__(self, separator: str, call: Callable[[lance_ns.Namespace], Any]) -> set[Resource]:
        """What all the requests of a call address."""
        if separator not in self._connections:
            given = {"endpoint": self._server.url, "warehouse": "w", "root": "/lake", "max_retries": 0}
            self._connections[separator] = self._stack.enter_context(lance_ns.connect("iceberg", given))
        self.catalog.overrides = {"namespace-separator": separator}
        self._server.asked.clear()
        with suppress(LanceNsError):
            call(self._connections[separator])
        written = {"|": "%7C", "::": "%3A%3A", "%": "%25"}.get(separator, separator)
        return {each for asked in self._server.asked for each in addressed(asked, written)}


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with ExitStack() as stack:
        yield Watched(stack)


hostile = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def is_refused(levels: list[str], separator: str) -> bool:
    return any("." in level or unquote(separator) in level for level in levels)


@pytest.mark.parametrize("call", NAMESPACE_CALLS)
@hostile
@given(id=namespaces, warehouse=names, separator=st.sampled_from(SEPARATORS), exists=st.booleans())
def test_requests_for_a_namespace_address_it_and_its_parents_only(watched, call, id, warehouse, separator, exists):
    watched.catalog.exists = exists

    found = watched(separator, lambda ns: NAMESPACE_CALLS[call](ns, [warehouse, *id])) - {("warehouse", warehouse)}

    parents = {("namespace", *id[:-1])} if len(id) > 1 and call in ("create", "overwrite") else set()
    listed = {("table", *id, name) for name in ("t", "x/y")} if call == "list tables" else set()
    assert found <= {("namespace", *id)} | parents | listed
    assert bool(found) is not is_refused(id, separator)


@pytest.mark.parametrize("call", TABLE_CALLS)
@hostile
@given(id=namespaces, name=names, warehouse=names, separator=st.sampled_from(SEPARATORS), exists=st.booleans())
def test_requests_for_a_table_address_it_and_its_namespace_only(watched, call, id, name, warehouse, separator, exists):
    watched.catalog.exists = exists

    found = watched(separator, lambda ns: TABLE_CALLS[call](ns, [warehouse, *id, name])) - {("warehouse", warehouse)}

    assert found <= {("namespace", *id), ("table", *id, name)}
    assert bool(found) is not is_refused(id, separator)


@hostile
@given(
    id=namespaces,
    name=names,
    to=namespaces | st.none(),
    new=names,
    separator=st.sampled_from(SEPARATORS),
    exists=st.booleans(),
)
def test_requests_for_a_new_name_address_the_old_one_and_it_only(watched, id, name, to, new, separator, exists):
    watched.catalog.exists = exists
    parent = None if to is None else ["w", *to]

    found = watched(separator, lambda ns: ns.rename_table(["w", *id, name], new, new_namespace_id=parent))

    target = id if to is None else to
    old, place, renamed = ("table", *id, name), ("namespace", *target), ("table", *target, new)
    assert found - {("warehouse", "w")} <= {old, place, renamed}
    assert not is_refused(target, separator) or target == id or renamed not in found


@hostile
@given(id=st.lists(names, max_size=1))
def test_what_is_no_namespace_and_no_table_is_asked_of_nobody(watched, id):
    watched.catalog.exists = True
    for call in (*NAMESPACE_CALLS.values(), *TABLE_CALLS.values()):
        if id and call is NAMESPACE_CALLS["list namespaces"]:
            continue  # that lists the warehouse
        assert watched("%1F", lambda ns, call=call: call(ns, id)) == set()


# --- on a real server ----------------------------------------------------------------------------------------------


@pytest.mark.live("iceberg")
def test_a_table_that_its_server_cannot_address_does_not_hide_the_others(live_server, tmp_path):
    """Another client makes it; on this server nobody can load or drop it ever after."""
    server = live_server("iceberg")
    given = {key: value for key, value in server.properties.items() if key != "backend"}
    space = (given["warehouse"], f"n{uuid4().hex[:8]}")
    with lance_ns.connect("iceberg", {**given, "root": str(tmp_path)}) as ns:
        ns.create_namespace(space)
        ns.declare_table((*space, "t"))
        made = mapping.creation("a/b", str(tmp_path / "unaddressable"), {})
        reply = urllib3.request("POST", f"{server.endpoint}/v1/namespaces/{space[1]}/tables", json=made)
        assert reply.status == 200

        assert list(ns.list_tables(space)) == ["t"]
        assert not ns.table_exists((*space, "a/b"))
        with pytest.raises(InvalidInput):
            ns.declare_table((*space, "a/b"))
        ns.deregister_table((*space, "t"))
