"""Whatever names contain, every request addresses exactly what they name."""

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

SEPARATOR = "%1F"
PREFIX = ["api", "catalog", "v1", "lake"]
GENERIC_PREFIX = ["api", "catalog", "polaris", "v1", "lake"]

hostile = st.sampled_from(
    ["%2F", "%1F", "%2e%2e", "a/b", "../x", "?x=1", "#", ";p", "a\\b", "//", "+", " ", "a.b", "@"]
)
names = st.one_of(hostile, st.text(min_size=1, max_size=12))
identifiers = st.lists(names, min_size=1, max_size=3)


@pytest.fixture(scope="module")
def server() -> Iterator[SmallServer]:
    def answer(asked: Asked) -> Reply:
        if "/config?" in asked.target:
            return Reply(body={"overrides": {"prefix": "lake"}})
        return Reply(404, {"error": {"message": "none", "type": "NoSuchTableException", "code": 404}})

    with SmallServer(answer) as running:
        yield running


@pytest.fixture(scope="module")
def ns(server: SmallServer) -> Iterator[lance_ns.Namespace]:
    given = {"auth_token": "token", "max_retries": 0, "root": "/lake"}
    with lance_ns.connect("polaris", given, endpoint=server.url) as connection:
        yield connection


def named(asked: Asked) -> list[Any]:
    """What a request addresses: each segment of the path decoded once, a namespace split into its levels."""
    path, _, query = asked.target.partition("?")
    segments = path.split("/")[1:]
    at = segments.index("namespaces") + 1
    decoded: list[Any] = [unquote(segment, errors="strict") for segment in segments]
    if at < len(segments):
        decoded[at] = [unquote(level, errors="strict") for level in segments[at].split(SEPARATOR)]
    if query:
        decoded.append({key: value[0].split("\x1f") for key, value in parse_qs(query, strict_parsing=True).items()})
    return decoded


def sent(server: SmallServer, call: Callable[[], Any]) -> list[Asked]:
    before = len(server.asked)
    with suppress(LanceNsError):
        call()
    return [asked for asked in server.asked[before:] if "/config?" not in asked.target]


def acceptable(id: list[str]) -> bool:
    try:
        return bool(levels(id))
    except InvalidInput:
        return False


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(namespace=identifiers.filter(acceptable))
def test_a_call_on_a_namespace_addresses_that_namespace(ns, server, namespace):
    id = ["lake", *namespace]
    exactly = [*PREFIX, "namespaces", namespace]
    for call in (ns.describe_namespace, ns.drop_namespace, ns.namespace_exists):
        assert [named(each) for each in sent(server, lambda call=call: call(id))] == [exactly]
    assert [named(each) for each in sent(server, lambda: ns.list_namespaces_page(id))] == [
        [*PREFIX, "namespaces", {"parent": namespace}]
    ]
    (creation,) = (each for each in sent(server, lambda: ns.create_namespace(id)) if each.method == "POST")
    assert (named(creation), creation.json["namespace"]) == ([*PREFIX, "namespaces"], namespace)
    listing = [*GENERIC_PREFIX, "namespaces", namespace, "generic-tables"]
    assert [named(each) for each in sent(server, lambda: ns.list_tables_page(id))] == [listing]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(namespace=identifiers.filter(acceptable), name=names.filter(lambda name: acceptable([name])))
def test_a_call_on_a_table_addresses_that_table(ns, server, namespace, name):
    id = ["lake", *namespace, name]
    exactly = [*GENERIC_PREFIX, "namespaces", namespace, "generic-tables", name]
    as_iceberg = [*PREFIX, "namespaces", namespace, "tables", name]
    for call in (ns.describe_table, ns.deregister_table, ns.table_exists):
        asked = [(each.method, named(each)) for each in sent(server, lambda call=call: call(id))]
        assert asked[0] == ("GET", exactly)
        assert asked[1:] in ([], [("HEAD", as_iceberg)])
    (creation,) = sent(server, lambda: ns.declare_table(id))
    assert (named(creation), creation.json["name"]) == (exactly[:-1], name)
    assert creation.json["base-location"].startswith("/lake/lake/")
    assert ".." not in creation.json["base-location"].split("/")
