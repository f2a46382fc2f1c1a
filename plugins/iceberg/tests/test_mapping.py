"""A Lance table as an Iceberg table and back, and what a server's errors mean."""

import traceback
from typing import Any

import pytest
from iceberg_catalog import LANCE, Catalog
from small_server import Reply

from lance_ns import errors
from lance_ns.errors import Internal, InvalidInput, LanceNsError, Unsupported
from lance_ns.models import RegisterTableRequest
from lance_ns_iceberg import mapping

UUID = "6a2f7c2e-0000-4000-8000-000000000000"


def table(location: Any = "s3://lake/t", uuid: str = UUID, **properties: str) -> dict[str, Any]:
    return {"table-uuid": uuid, "location": location, "properties": {"table_type": "lance", **properties}}


# --- there ---------------------------------------------------------------------------------------------------------


def test_a_table_is_made_with_one_optional_string_column_and_the_mark_of_lance():
    body = mapping.creation("t", "s3://lake/t", {"owner": "ann", "table_type": "delta"})

    assert body == {
        "name": "t",
        "location": "s3://lake/t",
        "schema": {
            "type": "struct",
            "schema-id": 0,
            "fields": [{"id": 1, "name": "dummy", "type": "string", "required": False}],
        },
        "properties": {"owner": "ann", "table_type": "lance"},
        "stage-create": False,
    }


def test_a_change_is_made_to_the_very_table_that_was_read():
    body = mapping.commit(table(), mapping.alteration({"a": "1"}, ["b"]))

    assert body == {
        "requirements": [{"type": "assert-table-uuid", "uuid": UUID}],
        "updates": [
            {"action": "remove-properties", "removals": ["b"]},
            {"action": "set-properties", "updates": {"a": "1"}},
        ],
    }


def test_only_the_changes_that_are_wanted_are_sent():
    assert mapping.alteration({}, []) == []
    assert mapping.alteration({"a": "1"}, []) == [{"action": "set-properties", "updates": {"a": "1"}}]
    assert mapping.alteration({}, ["b"]) == [{"action": "remove-properties", "removals": ["b"]}]


def test_what_is_both_set_and_removed_is_set():
    updates = mapping.alteration({"a": "1"}, ["a", "b"])

    assert updates[0]["removals"] == ["b"]
    assert mapping.is_committed(table(a="1"), table(), updates)
    assert mapping.alteration({"a": "1"}, ["a"]) == [{"action": "set-properties", "updates": {"a": "1"}}]


def test_a_table_that_is_registered_again_gets_another_place_and_other_properties():
    request = RegisterTableRequest(id=["w", "n", "t"], location="s3://lake/u", properties={"new": "1"})

    assert mapping.replacement(table(old="0", new="0"), request) == [
        {"action": "set-location", "location": "s3://lake/u"},
        {"action": "remove-properties", "removals": ["old"]},
        {"action": "set-properties", "updates": {"new": "1", "table_type": "lance"}},
    ]


# --- and back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spelling", ["lance", "LANCE", "Lance"])
def test_a_lance_table_says_so_in_any_case(spelling):
    assert mapping.is_lance({"properties": {"table_type": spelling}})


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"properties": None},
        {"properties": {}},
        {"properties": {"table_type": "delta"}},
        {"properties": {"TABLE_TYPE": "lance"}},
    ],
)
def test_no_other_table_is_one(metadata):
    assert not mapping.is_lance(metadata)
    with pytest.raises(InvalidInput, match=r"w\.n\.t is not a Lance table"):
        mapping.require_lance(metadata, ("w", "n", "t"))


@pytest.mark.parametrize(
    "loaded", [None, [], {}, {"metadata": None}, {"metadata": []}, {"metadata": {}}, {"metadata": table(None)}]
)
def test_an_answer_without_metadata_is_an_error(loaded):
    with pytest.raises(Internal):
        mapping.metadata_of(loaded)


def test_storage_options_are_the_tables_properties_with_the_connections_on_top():
    options = mapping.storage_options(table(aws_region="theirs", aws_endpoint="e"), {"aws_region": "ours"})

    assert options == {"table_type": "lance", "aws_region": "ours", "aws_endpoint": "e"}
    assert "ours" not in repr(options)


# --- what a lost answer left behind --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "as_asked"),
    [
        (table(owner="ann"), True),
        (table(owner="ann", added="by the server"), True),
        (table(owner="bob"), False),
        (table(), False),
        (table("s3://lake/other", owner="ann"), False),
        ({"location": "s3://lake/t", "properties": {"owner": "ann"}}, False),
    ],
)
def test_a_table_that_was_made_is_known_by_place_and_properties(found, as_asked):
    assert mapping.is_as_asked(found, "s3://lake/t", {"owner": "ann"}) is as_asked


@pytest.mark.parametrize(
    ("now", "committed"),
    [
        (table("s3://lake/u", a="1"), True),
        (table("s3://lake/u/", a="1", others="change"), True),
        (table("s3://lake/t", a="1"), False),
        (table("s3://lake/u", a="0"), False),
        (table("s3://lake/u", a="1", b="still there"), False),
        (table("s3://lake/u", a="1", uuid="another"), False),
    ],
)
def test_a_change_that_was_made_is_known_by_all_its_parts(now, committed):
    updates = [{"action": "set-location", "location": "s3://lake/u"}, *mapping.alteration({"a": "1"}, ["b"])]

    assert mapping.is_committed(now, table(b="0"), updates) is committed


# --- vended credentials --------------------------------------------------------------------------------------------


def loaded(config: dict[str, str] | None = None, *credentials: tuple[str, dict[str, str]]) -> dict[str, Any]:
    offers = [{"prefix": prefix, "config": given} for prefix, given in credentials]
    return {"metadata": table(), "config": config, "storage-credentials": offers}


@pytest.mark.parametrize(
    ("config", "options"),
    [
        (
            {
                "s3.access-key-id": "id",
                "s3.secret-access-key": "key",
                "s3.session-token": "token",
                "s3.session-token-expires-at-ms": "1700000000000",
                "s3.endpoint": "http://store:9000",
                "client.region": "eu-west-1",
                "s3.path-style-access": "true",
                "s3.signer.uri": "ignored",
            },
            {
                "aws_access_key_id": "id",
                "aws_secret_access_key": "key",
                "aws_session_token": "token",
                "expires_at_millis": "1700000000000",
                "aws_endpoint": "http://store:9000",
                "aws_region": "eu-west-1",
                "aws_virtual_hosted_style_request": "false",
                "allow_http": "true",
            },
        ),
        (
            {"s3.secret-access-key": "key", "s3.endpoint": "https://store", "s3.path-style-access": "false"},
            {"aws_secret_access_key": "key", "aws_endpoint": "https://store"},
        ),
        (
            {"gcs.oauth2.token": "token", "gcs.oauth2.token-expires-at": "17"},
            {"google_bearer_token": "token", "expires_at_millis": "17"},
        ),
        (
            {
                "adls.sas-token.acme.dfs.core.windows.net": "sas",
                "adls.sas-token-expires-at-ms.acme.dfs.core.windows.net": "17",
            },
            {"azure_storage_sas_key": "sas", "azure_storage_account_name": "acme", "expires_at_millis": "17"},
        ),
    ],
)
def test_vended_credentials_get_pylances_names(config, options):
    assert mapping.vended(loaded(config)) == options
    assert mapping.vended(loaded(None, ("s3://lake/", config))) == options


def test_the_credentials_of_the_longest_prefix_are_used():
    found = mapping.vended(
        loaded(
            {"s3.secret-access-key": "for everything", "client.region": "eu"},
            ("s3://lake", {"s3.secret-access-key": "for the lake"}),
            ("s3://lake/t", {"s3.secret-access-key": "for the table"}),
            ("s3://lake/t/data", {"s3.secret-access-key": "for less"}),
            ("s3://other", {"s3.secret-access-key": "for another"}),
        )
    )

    assert found == {"aws_secret_access_key": "for the table", "aws_region": "eu"}


@pytest.mark.parametrize(
    "given",
    [
        loaded(),
        loaded({"s3.endpoint": "http://store"}),
        loaded({"s3.access-key-id": "id alone"}),
        loaded(None, ("s3://other", {"s3.secret-access-key": "for another"})),
    ],
)
def test_a_server_that_vends_none_is_unsupported_never_ignored(serve, connect, given):
    assert mapping.vended(given) is None

    catalog = Catalog(defaults={"prefix": "p"})
    given = {**given, "config": {**(given["config"] or {}), "token": "c4n4ry"}}
    ns = connect(serve(lambda asked: Reply(body=given) if "/tables/" in asked.target else catalog(asked)))

    with pytest.raises(Unsupported, match="no credentials") as caught:
        ns.describe_table(["w", "n", "t"], vend_credentials=True)
    shown = "".join(traceback.TracebackException.from_exception(caught.value, capture_locals=True).format())
    assert "c4n4ry" not in shown.replace(str(given), "")


# --- errors --------------------------------------------------------------------------------------------------------


def said(status: int, name: str) -> Reply:
    return Reply(status, {"error": {"type": name, "message": "so it is", "code": status}})


CALLS = {
    "create namespace": lambda ns: ns.create_namespace(["w", "n"]),
    "describe namespace": lambda ns: ns.describe_namespace(["w", "n"]),
    "drop namespace": lambda ns: ns.drop_namespace(["w", "n"]),
    "list namespaces": lambda ns: list(ns.list_namespaces(["w", "n"])),
    "list tables": lambda ns: list(ns.list_tables(["w", "n"])),
    "declare": lambda ns: ns.declare_table(["w", "n", "t"]),
    "register": lambda ns: ns.register_table(["w", "n", "t"], "/lake/t"),
    "describe": lambda ns: ns.describe_table(["w", "n", "t"]),
    "deregister": lambda ns: ns.deregister_table(["w", "n", "t"]),
    "rename": lambda ns: ns.rename_table(["w", "n", "t"], "u"),
    "alter": lambda ns: ns.alter_table_properties(["w", "n", "t"], {"a": "b"}),
}
LAST = {"create namespace": "POST", "declare": "POST", "register": "POST", "rename": "POST", "alter": "POST"}
LAST |= {"drop namespace": "DELETE", "deregister": "DELETE"}

MEANINGS: list[tuple[str, Reply, type[LanceNsError]]] = [
    ("create namespace", said(409, "AlreadyExistsException"), errors.NamespaceAlreadyExists),
    ("create namespace", said(409, ""), errors.NamespaceAlreadyExists),
    ("create namespace", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("describe namespace", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("describe namespace", Reply(404), errors.NamespaceNotFound),
    ("drop namespace", said(409, "NamespaceNotEmptyException"), errors.NamespaceNotEmpty),
    ("drop namespace", said(409, ""), errors.NamespaceNotEmpty),
    ("list namespaces", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("list tables", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("declare", said(409, "AlreadyExistsException"), errors.TableAlreadyExists),
    ("declare", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("register", said(409, ""), errors.TableAlreadyExists),
    ("describe", said(404, "NoSuchTableException"), errors.TableNotFound),
    ("describe", said(404, "NoSuchNamespaceException"), errors.TableNotFound),
    ("describe", Reply(404), errors.TableNotFound),
    ("deregister", said(404, "NoSuchTableException"), errors.TableNotFound),
    ("rename", said(404, "NoSuchTableException"), errors.TableNotFound),
    ("rename", said(409, "AlreadyExistsException"), errors.TableAlreadyExists),
    ("rename", said(404, "NoSuchNamespaceException"), errors.NamespaceNotFound),
    ("alter", said(409, "CommitFailedException"), errors.ConcurrentModification),
    ("alter", said(409, ""), errors.ConcurrentModification),
    ("alter", said(404, "NoSuchTableException"), errors.TableNotFound),
    *((call, said(400, "BadRequestException"), errors.Internal) for call in CALLS),
    *((call, said(500, "RuntimeException"), errors.Internal) for call in CALLS),
    *((call, said(503, "SlowDownException"), errors.ServiceUnavailable) for call in CALLS if LAST.get(call) != "POST"),
    *((call, said(429, "TooMany"), errors.Throttling) for call in CALLS),
    *((call, said(403, "ForbiddenException"), errors.PermissionDenied) for call in CALLS),
    *((call, said(401, "NotAuthorizedException"), errors.Unauthenticated) for call in CALLS),
    *((call, said(419, "AuthenticationTimeoutException"), errors.Unauthenticated) for call in CALLS),
    *((call, said(406, "UnsupportedOperationException"), errors.Unsupported) for call in CALLS),
    *((call, Reply(400, "plain words", {"Content-Type": "text/plain"}), errors.Internal) for call in CALLS),
]


@pytest.mark.parametrize(("call", "reply", "error"), MEANINGS)
def test_an_error_of_the_server_is_one_of_ours(serve, connect, call, reply, error):
    catalog = Catalog(defaults={"prefix": "p"})

    def answer(asked):
        is_last = asked.method == LAST.get(call, asked.method)
        if is_last and "/v1/p/" in asked.target:
            return reply
        if call == "create namespace" and asked.method == "GET" and "/v1/p/" in asked.target:
            return said(404, "NoSuchNamespaceException")  # what could not be created is not there
        return catalog(asked)

    with pytest.raises(LanceNsError) as caught:
        CALLS[call](connect(serve(answer)))

    assert type(caught.value) is error
    assert caught.value.backend == "iceberg"


def test_a_creation_that_fails_because_another_was_faster_says_so(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})

    with pytest.raises(errors.NamespaceAlreadyExists):
        CALLS["create namespace"](
            connect(serve(lambda asked: said(500, "Oops") if asked.method == "POST" else catalog(asked)))
        )


def test_a_commit_that_loses_a_race_is_made_again(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})
    lost = [said(409, "CommitFailedException")] * 2
    changed = {**LANCE, "metadata": {**LANCE["metadata"], "properties": {"table_type": "lance", "a": "b"}}}

    def answer(asked):
        if asked.method == "POST":
            return lost.pop() if lost else Reply(body=changed)
        return catalog(asked)

    server = serve(answer)

    assert connect(server).alter_table_properties(["w", "n", "t"], {"a": "b"}).properties["a"] == "b"
    assert sum(each.method == "POST" for each in server.asked) == 3


def test_a_commit_to_a_table_that_another_one_replaced_is_not_made_again(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})
    loads = iter([LANCE, {**LANCE, "metadata": {**LANCE["metadata"], "table-uuid": "another"}}])

    def answer(asked):
        if asked.method == "POST":
            return said(409, "CommitFailedException")
        return Reply(body=next(loads)) if "/tables/" in asked.target else catalog(asked)

    server = serve(answer)

    with pytest.raises(errors.ConcurrentModification):
        connect(server).alter_table_properties(["w", "n", "t"], {"a": "b"})
    assert sum(each.method == "POST" for each in server.asked) == 1
