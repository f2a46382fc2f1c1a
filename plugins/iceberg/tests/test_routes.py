"""Where requests go: the configuration of a warehouse, its prefix, its separator, and what is asked how often."""

import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, quote, urlsplit
from uuid import UUID

import pytest
from iceberg_catalog import LANCE, Catalog, no_such
from small_server import HANG_UP, Answer, Asked, Reply

from lance_ns.errors import (
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceNotFound,
    ServiceUnavailable,
    TableNotFound,
)


def paths(server) -> list[str]:
    return [urlsplit(each.target).path for each in server.asked]


# --- prefix --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "overrides", "defaults", "base"),
    [
        ({"prefix": "mine"}, {"prefix": "over"}, {"prefix": "default"}, "/v1/mine"),
        ({"prefix": "a/b"}, {}, {}, "/v1/a/b"),
        ({"prefix": "/mine/"}, {}, {}, "/v1/mine"),
        ({"prefix": ""}, {"prefix": "over"}, {}, "/v1"),
        ({}, {"prefix": "over"}, {"prefix": "default"}, "/v1/over"),
        ({}, {}, {"prefix": "default"}, "/v1/default"),
        ({}, {"prefix": ""}, {"prefix": "default"}, "/v1/default"),
        ({}, {}, {"prefix": "main%7Cw"}, "/v1/main%7Cw"),
        ({"prefix": "main%7Cw"}, {}, {}, "/v1/main%7Cw"),
        ({}, {}, {}, "/v1/w"),
    ],
)
def test_a_prefix_is_the_propertys_then_the_servers_then_the_warehouses_name(
    serve, connect, given, overrides, defaults, base
):
    server = serve(Catalog(overrides=overrides, defaults=defaults))

    connect(server, **given).describe_namespace(["w", "n"])

    assert paths(server)[-1] == f"{base}/namespaces/n"


@pytest.mark.parametrize("refusal", [400, 404])
def test_a_server_without_prefixes_is_asked_without_one(serve, connect, refusal):
    catalog = Catalog()

    def answer(asked: Asked) -> Answer:
        return Reply(refusal) if asked.target.startswith("/v1/w/") else catalog(asked)

    server = serve(answer)
    ns = connect(server)

    ns.describe_namespace(["w", "n"])
    ns.describe_namespace(["w", "n"])

    assert paths(server) == ["/v1/config", "/v1/w/namespaces", "/v1/namespaces/n", "/v1/namespaces/n"]


@pytest.mark.parametrize("failure", [Reply(500), Reply(503), Reply(403), HANG_UP, Reply(200, "<html>")])
def test_a_server_that_cannot_say_whether_it_has_prefixes_is_asked_again(serve, connect, failure):
    catalog = Catalog()
    failures = [failure]

    def answer(asked: Asked) -> Answer:
        return failures.pop() if failures and asked.target.startswith("/v1/w/") else catalog(asked)

    server = serve(answer)
    ns = connect(server)

    with pytest.raises(LanceNsError):
        ns.describe_namespace(["w", "n"])
    ns.describe_namespace(["w", "n"])

    assert paths(server)[-1] == "/v1/w/namespaces/n"


@pytest.mark.parametrize("warehouse", ["a/b", "a b", "a%2Fb", "a?b#c", "ä", "s3://bucket/path"])
def test_the_name_of_a_warehouse_is_one_parameter_and_one_segment(serve, connect, warehouse):
    server = serve(Catalog())

    connect(server).describe_namespace([warehouse, "n"])

    asked = urlsplit(server.asked[0].target)
    assert (asked.path, parse_qs(asked.query)) == ("/v1/config", {"warehouse": [warehouse]})
    assert paths(server)[-1] == f"/v1/{quote(warehouse, safe='')}/namespaces/n"


# --- separator -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "between", "decoded"),
    [
        (None, "%1F", "\x1f"),
        ("%1F", "%1F", "\x1f"),
        ("%2E", "%2E", "."),
        (".", ".", "."),
        ("|", "%7C", "|"),
        ("%", "%25", "%"),
        ("%ZZ", "%25ZZ", "%ZZ"),
        ("::", "%3A%3A", "::"),
    ],
)
def test_the_separator_is_the_servers(serve, connect, said, between, decoded):
    server = serve(Catalog(overrides={"namespace-separator": said} if said else {}, defaults={"prefix": "p"}))
    ns = connect(server)

    ns.describe_namespace(["w", "a", "b"])
    list(ns.list_namespaces(["w", "a", "b"]))

    assert paths(server)[1] == f"/v1/p/namespaces/a{between}b"
    listing = next(each for each in server.asked if "parent" in each.target)
    assert parse_qs(urlsplit(listing.target).query)["parent"] == [f"a{decoded}b"]


# --- how often -----------------------------------------------------------------------------------------------------


def test_a_warehouse_is_asked_for_once_by_however_many_threads(serve, connect):
    server = serve(Catalog(defaults={"prefix": "p"}))
    ns = connect(server)
    together = threading.Barrier(8)

    def work(number: int) -> None:
        together.wait(timeout=30)
        for warehouse in ("one", "two"):
            ns.describe_namespace([warehouse, f"n{number}"])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))

    configs = [each.target for each in server.asked if each.target.startswith("/v1/config")]
    assert sorted(configs) == ["/v1/config?warehouse=one", "/v1/config?warehouse=two"]
    assert len(server.asked) == 2 + 16


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (Reply(503), ServiceUnavailable),
        (HANG_UP, ServiceUnavailable),
        (Reply(500), Internal),
        (Reply(200, "<html>"), Internal),
        (Reply(200, []), Internal),
        (no_such("Warehouse"), NamespaceNotFound),
    ],
)
def test_a_configuration_that_failed_is_asked_for_again(serve, connect, failure, error):
    catalog = Catalog(defaults={"prefix": "p"})
    failures = [failure]
    server = serve(lambda asked: failures.pop() if failures else catalog(asked))
    ns = connect(server)

    with pytest.raises(error):
        ns.describe_namespace(["w", "n"])
    ns.describe_namespace(["w", "n"])

    assert paths(server) == ["/v1/config", "/v1/config", "/v1/p/namespaces/n"]


@pytest.mark.parametrize("config", [{}, {"defaults": None, "overrides": None}, {"defaults": {"prefix": 7}}, {"x": 1}])
def test_a_configuration_that_says_nothing_is_one_all_the_same(serve, connect, config):
    catalog = Catalog()
    server = serve(lambda asked: Reply(body=config) if asked.target.startswith("/v1/config") else catalog(asked))

    connect(server).describe_namespace(["w", "n"])

    assert paths(server)[-1] == "/v1/w/namespaces/n"


def test_in_an_unknown_warehouse_there_is_nothing(serve, connect):
    server = serve(lambda _: no_such("Warehouse"))
    ns = connect(server)

    for call in (
        lambda: ns.describe_namespace(["no", "n"]),
        lambda: ns.create_namespace(["no", "n"]),
        lambda: list(ns.list_namespaces(["no"])),
        lambda: list(ns.list_tables(["no", "n"])),
        lambda: ns.declare_table(["no", "n", "t"]),
        lambda: ns.register_table(["no", "n", "t"], "/lake/t"),
    ):
        with pytest.raises(NamespaceNotFound):
            call()
    for call in (
        lambda: ns.describe_table(["no", "n", "t"]),
        lambda: ns.deregister_table(["no", "n", "t"]),
        lambda: ns.alter_table_properties(["no", "n", "t"], {"a": "b"}),
        lambda: ns.rename_table(["no", "n", "t"], "u"),
    ):
        with pytest.raises(TableNotFound):
            call()
    assert not ns.namespace_exists(["no", "n"])
    assert not ns.table_exists(["no", "n", "t"])
    ns.drop_namespace(["no", "n"])
    assert set(paths(server)) == {"/v1/config"}


# --- single requests -----------------------------------------------------------------------------------------------


def test_keys_go_with_changes_where_the_server_remembers_them(serve, connect):
    for said, expected in (({"idempotency-key-lifetime": "PT30M"}, 5), ({}, 0)):
        server = serve(Catalog(defaults={"prefix": "p"}, overrides=said))
        ns = connect(server)

        ns.create_namespace(["w", "n"])
        ns.declare_table(["w", "n", "t"])
        ns.alter_table_properties(["w", "n", "t"], {"a": "b"})
        ns.rename_table(["w", "n", "t"], "u")
        ns.create_namespace(["w", "n"])

        keys = [each.headers["idempotency-key"] for each in server.asked if "idempotency-key" in each.headers]
        assert len(keys) == len(set(keys)) == expected
        assert all(UUID(key).version == 7 for key in keys)
        assert all(each.method == "POST" for each in server.asked if "idempotency-key" in each.headers)


def test_a_server_is_never_asked_to_purge(serve, connect):
    server = serve(Catalog(defaults={"prefix": "p"}))

    connect(server).deregister_table(["w", "n", "t"])

    deletions = [each.target for each in server.asked if each.method == "DELETE"]
    assert deletions == ["/v1/p/namespaces/n/tables/t?purgeRequested=false"]


def test_credentials_are_asked_for_only_when_they_are_wanted(serve, connect):
    loaded = {**LANCE, "config": {"s3.access-key-id": "id", "s3.secret-access-key": "c4n4ry"}}
    catalog = Catalog(defaults={"prefix": "p"})
    server = serve(lambda asked: Reply(body=loaded) if "/tables/" in asked.target else catalog(asked))
    ns = connect(server)

    plain, vended = (ns.describe_table(["w", "n", "t"], vend_credentials=wanted) for wanted in (None, True))

    asked = [each.headers.get("x-iceberg-access-delegation") for each in server.asked if "/tables/" in each.target]
    assert asked == [None, "vended-credentials"]
    assert "aws_secret_access_key" not in plain.storage_options
    assert vended.storage_options["aws_secret_access_key"] == "c4n4ry"
    assert "c4n4ry" not in repr(vended)


def test_listings_that_the_server_divides_are_put_together(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})
    pages = {None: (["a", "b"], "1"), "1": ([], "2"), "2": (["c"], None)}

    def answer(asked: Asked) -> Answer:
        url = urlsplit(asked.target)
        token = parse_qs(url.query).get("pageToken", [None])[0]
        if url.path.endswith("/namespaces"):
            names, following = pages[token]
            return Reply(body={"namespaces": [[name] for name in names], "next-page-token": following})
        if url.path.endswith("/tables"):
            names, following = pages[token]
            entries = [{"namespace": ["n"], "name": name} for name in names]
            return Reply(body={"identifiers": entries, "next-page-token": following})
        return catalog(asked)

    ns = connect(serve(answer))

    assert list(ns.list_namespaces(["w"])) == ["a", "b", "c"]
    assert list(ns.list_tables(["w", "n"])) == ["a", "b", "c"]


def test_a_listing_that_does_not_advance_is_an_error(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})

    def answer(asked: Asked) -> Answer:
        again = {"namespaces": [["a"]], "identifiers": [], "next-page-token": "again"}
        return Reply(body=again) if "/namespaces" in asked.target else catalog(asked)

    server = serve(answer)

    with pytest.raises(Internal, match="does not advance"):
        list(connect(server).list_namespaces(["w"]))
    assert len(server.asked) == 3


@pytest.mark.parametrize("body", [{}, {"namespaces": None}, {"namespaces": "x"}, [], {"identifiers": {}}])
def test_a_listing_without_entries_is_not_an_empty_one(serve, connect, body):
    catalog = Catalog(defaults={"prefix": "p"})
    ns = connect(serve(lambda asked: Reply(body=body) if "namespaces" in asked.target else catalog(asked)))

    with pytest.raises(Internal):
        list(ns.list_namespaces(["w"]))
    with pytest.raises(Internal):
        list(ns.list_tables(["w", "n"]))


def test_the_root_is_the_warehouse_that_was_named(serve, connect):
    server = serve(Catalog())

    assert list(connect(server).list_namespaces()) == ["w"]
    with pytest.raises(InvalidInput, match="warehouse"):
        list(connect(server, warehouse=None).list_namespaces())
    assert server.asked == []
