"""Whatever names contain, every request addresses exactly what they name, or none is sent."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_server import Asked, Reply, SmallServer

import lance_ns
from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns.identifiers import levels

PREFIX = ["", "api", "2.1", "unity-catalog"]

hostile = st.sampled_from(
    ["%2F", "%2e", "a.b", ".a", "a.", "a/b", "../x", "?x=1", "#", "&force=true", ";p", "a\\b", "//", "+", " ", "@"]
)
names = st.one_of(hostile, st.text(min_size=1, max_size=12))


def acceptable(name: str) -> bool:
    try:
        return bool(levels([name]))
    except InvalidInput:
        return False


names = names.filter(acceptable)


@pytest.fixture(scope="module")
def server() -> Iterator[SmallServer]:
    with SmallServer(lambda _: Reply(404, {"error_code": "NOT_FOUND", "message": "none"})) as running:
        yield running


@pytest.fixture(scope="module")
def ns(server: SmallServer) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("unity", endpoint=server.url, catalog="main", root="/lake", max_retries=0) as connection:
        yield connection


def named(asked: Asked) -> tuple[str, str, list[str]]:
    """What a request addresses: the collection, and the levels that its path or its query names, decoded once."""
    path, _, query = asked.target.partition("?")
    segments = path.split("/")
    assert segments[:4] == PREFIX
    if len(segments) == 6:
        assert not query or query == "force=true"
        return asked.method, segments[4], [unquote(level, errors="strict") for level in segments[5].split(".")]
    assert len(segments) == 5
    if asked.method == "POST":
        keys = ("catalog_name", "schema_name", "name")
        return asked.method, segments[4], [asked.json[key] for key in keys if key in asked.json]
    asks = parse_qs(query, strict_parsing=True, keep_blank_values=True)
    assert set(asks) <= {"catalog_name", "schema_name", "max_results", "omit_columns", "omit_properties"}
    return asked.method, segments[4], [asks[key][0] for key in ("catalog_name", "schema_name")]


def sent(server: SmallServer, call: Callable[[], Any]) -> list[tuple[str, str, list[str]]]:
    before = len(server.asked)
    with suppress(LanceNsError):
        call()
    return [named(asked) for asked in server.asked[before:]]


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=names)
def test_a_call_on_a_namespace_addresses_that_namespace(ns, server, schema):
    id = ["main", schema]
    for call, method, collection in (
        (ns.describe_namespace, "GET", "schemas"),
        (ns.namespace_exists, "GET", "schemas"),
        (ns.create_namespace, "POST", "schemas"),
        (ns.drop_namespace, "GET", "tables"),
        (ns.list_tables_page, "GET", "tables"),
    ):
        expected = [] if "." in schema else [(method, collection, id)]
        assert sent(server, lambda call=call: call(id)) == expected


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=names, name=names)
def test_a_call_on_a_table_addresses_that_table(ns, server, schema, name):
    id = ["main", schema, name]
    for call, method in (
        (ns.describe_table, "GET"),
        (ns.deregister_table, "GET"),
        (ns.table_exists, "GET"),
        (ns.declare_table, "POST"),
    ):
        expected = [] if "." in schema + name else [(method, "tables", id)]
        assert sent(server, lambda call=call: call(id)) == expected


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schema=names, name=names)
def test_a_default_location_never_leaves_the_root(ns, server, schema, name):
    before = len(server.asked)
    with suppress(LanceNsError):
        ns.declare_table(["main", schema, name])
    for asked in server.asked[before:]:
        location = unquote(asked.json["storage_location"])
        assert location.startswith("file:///lake/main/")
        assert not {"..", "."} & set(location.split("/"))
        assert len(location.removeprefix("file:///lake/").split("/")) == 3
