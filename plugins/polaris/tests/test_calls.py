"""What goes over the wire: paths, bodies, tokens, headers, how many calls, and what answers mean."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs

import pytest
from small_server import RESET, Answer, Asked, Reply, SmallServer

import lance_ns
from lance_ns import errors
from lance_ns.models import DescribeTableRequest, Identity

CONFIG = Reply(body={"defaults": {}, "overrides": {"prefix": "lake"}})
NAMESPACES = "/api/catalog/v1/lake/namespaces"
GENERIC = "/api/catalog/polaris/v1/lake/namespaces/ml/generic-tables"


def said(status: int, name: str, message: str = "said so") -> Reply:
    return Reply(status, {"error": {"message": message, "type": name, "code": status}})


def table(name: str = "t", **fields: Any) -> dict[str, Any]:
    return {"table": {"name": name, "format": "lance", "base-location": "/t", "doc": None, "properties": {}, **fields}}


@contextmanager
def towards(
    answer: Callable[[Asked], Answer], **properties: Any
) -> Iterator[tuple[lance_ns.Namespace, Callable[[], list[tuple[str, str]]]]]:
    """A connection to a server that answers as a function says, the configuration apart; and what it was asked."""

    def served(asked: Asked) -> Answer:
        return CONFIG if "/config?" in asked.target else answer(asked)

    given = {"auth_token": "token", "max_retries": 0, "root": "/lake", **properties}
    with SmallServer(served) as server, lance_ns.connect("polaris", given, endpoint=server.url) as ns:

        def calls() -> list[tuple[str, str]]:
            return [(each.method, each.target) for each in server.asked if "/config?" not in each.target]

        yield ns, calls


OPERATIONS: dict[str, tuple[Callable[[lance_ns.Namespace], Any], Answer, list[tuple[str, str]]]] = {
    "create_namespace": (
        lambda ns: ns.create_namespace("lake$a$b"),
        Reply(body={"namespace": ["a", "b"], "properties": {}}),
        [("POST", NAMESPACES)],
    ),
    "describe_namespace": (
        lambda ns: ns.describe_namespace("lake$a$b"),
        Reply(body={"namespace": ["a", "b"], "properties": {}}),
        [("GET", f"{NAMESPACES}/a%1Fb")],
    ),
    "namespace_exists": (lambda ns: ns.namespace_exists("lake$a"), Reply(204), [("HEAD", f"{NAMESPACES}/a")]),
    "list the catalog": (
        lambda ns: list(ns.list_namespaces("lake")),
        Reply(body={"namespaces": [["a"]], "next-page-token": None}),
        [("GET", NAMESPACES)],
    ),
    "list a namespace": (
        lambda ns: list(ns.list_namespaces("lake$a$b")),
        Reply(body={"namespaces": []}),
        [("GET", f"{NAMESPACES}?parent=a%1Fb")],
    ),
    "drop_namespace": (lambda ns: ns.drop_namespace("lake$a"), Reply(204), [("DELETE", f"{NAMESPACES}/a")]),
    "declare_table": (lambda ns: ns.declare_table("lake$ml$t"), Reply(body=table()), [("POST", GENERIC)]),
    "register_table": (lambda ns: ns.register_table("lake$ml$t", "/x"), Reply(body=table()), [("POST", GENERIC)]),
    "list_tables": (lambda ns: list(ns.list_tables("lake$ml")), Reply(body={"identifiers": []}), [("GET", GENERIC)]),
    "describe_table": (lambda ns: ns.describe_table("lake$ml$t"), Reply(body=table()), [("GET", f"{GENERIC}/t")]),
    "deregister_table": (
        lambda ns: ns.deregister_table("lake$ml$t"),
        Reply(body=table()),
        [("GET", f"{GENERIC}/t"), ("DELETE", f"{GENERIC}/t")],
    ),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_makes_as_few_calls_as_it_can(operation):
    call, answer, expected = OPERATIONS[operation]
    with towards(lambda _: answer) as (ns, calls):
        call(ns)
        assert calls() == expected


def test_the_configuration_of_a_catalog_is_asked_for_once_by_many_threads():
    with (
        SmallServer(lambda asked: CONFIG if "/config?" in asked.target else Reply(204)) as server,
        lance_ns.connect("polaris", endpoint=server.url, auth_token="token") as ns,
    ):
        threads = [threading.Thread(target=ns.namespace_exists, args=("lake$a",)) for _ in range(8)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        asked = [each.target for each in server.asked if "/config?" in each.target]
        assert asked == ["/api/catalog/v1/config?warehouse=lake"]


def test_a_missing_catalog_is_missing_when_it_is_polaris_who_says_so():
    def answer(asked: Asked) -> Answer:
        known = asked.target == "/api/catalog/v1/config"
        return said(400, "BadRequestException") if known else said(404, "NotFoundException")

    with SmallServer(answer) as server, lance_ns.connect("polaris", endpoint=server.url) as ns:
        assert not ns.namespace_exists("lake$a")
        with pytest.raises(errors.NamespaceNotFound, match="catalog lake not found"):
            list(ns.list_namespaces("lake"))
        with pytest.raises(errors.NamespaceNotFound, match=r"namespace lake\.a not found"):
            ns.describe_namespace("lake$a")
        with pytest.raises(errors.TableNotFound):
            ns.describe_table("lake$a$t")


def test_an_endpoint_that_is_no_polaris_is_an_error_and_never_taken_for_something_that_is_missing():
    with SmallServer(lambda _: Reply(404)) as server, lance_ns.connect("polaris", endpoint=server.url) as ns:
        for call in (
            lambda: ns.namespace_exists("lake$a"),
            lambda: ns.table_exists("lake$a$t"),
            lambda: list(ns.list_tables("lake$a")),
            lambda: ns.drop_namespace("lake$a", mode="skip"),
        ):
            with pytest.raises(errors.Internal, match="no Polaris"):
                call()


# --- who asks ------------------------------------------------------------------------------------------------------


@contextmanager
def with_tokens(*tokens: Reply, **properties: Any) -> Iterator[tuple[lance_ns.Namespace, SmallServer]]:
    """A connection with a credential, to a server that gives these tokens and wants the last."""
    left = list(tokens)

    def answer(asked: Asked) -> Answer:
        if asked.target.endswith("/tokens"):
            return left.pop(0) if len(left) > 1 else left[0]
        if asked.token != "good":
            return Reply(401, headers={"WWW-Authenticate": "Bearer"})
        return CONFIG if "/config?" in asked.target else Reply(204)

    given = {"credential": "root:se:cret", "max_retries": 0, **properties}
    with SmallServer(answer) as server, lance_ns.connect("polaris", given, endpoint=server.url) as ns:
        yield ns, server


def token(word: str) -> Reply:
    return Reply(body={"access_token": word, "token_type": "bearer", "expires_in": 3600})


def test_a_credential_is_exchanged_for_a_token_of_all_principal_roles():
    with with_tokens(token("good")) as (ns, server):
        assert ns.namespace_exists("lake$a")
        assert ns.namespace_exists("lake$b")
        asked = [each for each in server.asked if each.method == "POST"]
        assert [each.target for each in asked] == ["/api/catalog/v1/oauth/tokens"]
        assert parse_qs(asked[0].body.decode()) == {
            "grant_type": ["client_credentials"],
            "client_id": ["root"],
            "client_secret": ["se:cret"],
            "scope": ["PRINCIPAL_ROLE:ALL"],
        }
        assert asked[0].token is None


def test_scope_and_token_server_can_be_given():
    with (
        SmallServer(lambda _: token("good")) as login,
        with_tokens(Reply(500), scope="PRINCIPAL_ROLE:one", oauth2_server_uri=f"{login.url}/login") as (ns, server),
    ):
        assert ns.namespace_exists("lake$a")
        assert [each.target for each in login.asked] == ["/login"]
        assert b"scope=PRINCIPAL_ROLE%3Aone" in login.asked[0].body
        assert {each.token for each in server.asked} == {"good"}


def test_a_token_that_is_refused_with_an_empty_body_is_renewed_once():
    with with_tokens(token("stale"), token("good")) as (ns, server):
        assert ns.namespace_exists("lake$a")
        assert sum(each.target.endswith("/tokens") for each in server.asked) == 2
    with with_tokens(token("stale")) as (ns, server):
        with pytest.raises(errors.Unauthenticated):
            ns.namespace_exists("lake$a")
        assert sum(each.target.endswith("/tokens") for each in server.asked) == 2


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(401, {"error": "unauthorized_client", "error_description": "no"}), errors.Unauthenticated),
        (Reply(400, {"error": "invalid_scope", "error_description": "no"}), errors.InvalidInput),
        (said(404, "MissingOrInvalidRealm"), errors.Unauthenticated),
        (Reply(500), errors.Internal),
    ],
)
def test_what_the_token_server_refuses_is_an_error_of_its_kind(reply, kind):
    with with_tokens(reply) as (ns, _), pytest.raises(kind) as refused:
        ns.describe_namespace("lake$a")
    assert "se:cret" not in str(refused.value)


def test_the_realm_goes_with_every_call_and_with_the_asking_for_tokens():
    with with_tokens(token("good"), realm="SKY") as (ns, server):
        assert ns.namespace_exists("lake$a")
        assert {each.headers.get("polaris-realm") for each in server.asked} == {"SKY"}
    with with_tokens(token("good")) as (ns, server):
        assert ns.namespace_exists("lake$a")
        assert {each.headers.get("polaris-realm") for each in server.asked} == {None}


def test_a_wrong_realm_is_never_taken_for_something_that_is_missing():
    realm = said(404, "MissingOrInvalidRealm", "Missing or invalid realm")
    with SmallServer(lambda _: realm) as server, lance_ns.connect("polaris", endpoint=server.url) as ns:
        for call in (
            lambda: ns.namespace_exists("lake$a"),
            lambda: ns.table_exists("lake$a$t"),
            lambda: list(ns.list_tables("lake$a")),
            lambda: ns.drop_namespace("lake$a", mode="skip"),
        ):
            with pytest.raises(errors.Unauthenticated, match="realm"):
                call()


def test_a_given_token_wins_over_a_credential_and_that_of_a_request_over_both():
    with with_tokens(Reply(500), auth_token="good") as (ns, server):
        assert ns.namespace_exists("lake$a")
        with pytest.raises(errors.Unauthenticated):
            ns.call(DescribeTableRequest(id=("lake", "a", "t"), identity=Identity(auth_token="of-this-call")))
        assert ns.namespace_exists("lake$a")
        assert [each.token for each in server.asked if "/config?" not in each.target] == [
            "good",
            "of-this-call",
            "good",
        ]


# --- what answers mean ---------------------------------------------------------------------------------------------

MISSING_NAMESPACE = said(404, "NoSuchNamespaceException")
MISSING_TABLE = said(404, "NoSuchTableException")
TAKEN = said(409, "AlreadyExistsException")


@pytest.mark.parametrize(
    ("operation", "reply", "kind"),
    [
        ("create_namespace", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("create_namespace", TAKEN, errors.NamespaceAlreadyExists),
        ("create_namespace", said(400, "IllegalArgumentException"), errors.InvalidInput),
        ("create_namespace", said(403, "ForbiddenException"), errors.PermissionDenied),
        ("describe_namespace", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("describe_namespace", said(400, "IllegalArgumentException"), errors.Internal),
        ("list a namespace", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("list a namespace", Reply(body={}), errors.Internal),
        ("drop_namespace", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("drop_namespace", said(409, "NamespaceNotEmptyException"), errors.NamespaceNotEmpty),
        ("declare_table", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("declare_table", TAKEN, errors.TableAlreadyExists),
        ("declare_table", said(400, "IllegalArgumentException"), errors.InvalidInput),
        ("declare_table", Reply(400), errors.Internal),
        ("declare_table", said(500, "NullPointerException"), errors.Internal),
        ("register_table", TAKEN, errors.TableAlreadyExists),
        ("list_tables", MISSING_NAMESPACE, errors.NamespaceNotFound),
        ("list_tables", said(404, "NotFoundException"), errors.Internal),
        ("list_tables", Reply(body={}), errors.Internal),
        ("describe_table", MISSING_TABLE, errors.TableNotFound),
        ("describe_table", MISSING_NAMESPACE, errors.TableNotFound),
        ("describe_table", Reply(body=table(format="delta")), errors.InvalidInput),
        ("describe_table", said(404, "NotFoundException"), errors.Internal),
        ("deregister_table", MISSING_TABLE, errors.TableNotFound),
        ("deregister_table", Reply(body=table(format="delta")), errors.InvalidInput),
        *(
            (operation, reply, kind)
            for operation in OPERATIONS
            for reply, kind in (
                (Reply(401), errors.Unauthenticated),
                (said(403, "ForbiddenException"), errors.PermissionDenied),
                (said(406, "UnsupportedOperationException"), errors.Unsupported),
                (Reply(429), errors.Throttling),
                (Reply(503), errors.ServiceUnavailable),
                (said(418, "SomethingNew"), errors.Internal),
            )
        ),
    ],
)
def test_an_answer_becomes_the_error_that_it_means(operation, reply, kind):
    def answer(asked: Asked) -> Answer:
        if asked.method == "GET" and reply is TAKEN:
            return Reply(body={"properties": {}})  # what is taken is looked at
        return Reply(404) if asked.method == "HEAD" and "/tables/" in asked.target else reply

    with towards(answer) as (ns, _), pytest.raises(kind) as raised:
        OPERATIONS[operation][0](ns)
    assert type(raised.value) is kind


def test_dropping_a_missing_namespace_succeeds_in_mode_skip_alone():
    with towards(lambda _: MISSING_NAMESPACE) as (ns, _):
        ns.drop_namespace("lake$a", mode="skip")
        with pytest.raises(errors.NamespaceNotFound):
            ns.drop_namespace("lake$a")


def test_a_cascade_is_unsupported_before_anything_is_sent():
    with towards(lambda _: Reply(204)) as (ns, calls):
        with pytest.raises(errors.Unsupported):
            ns.drop_namespace("lake$a", behavior="cascade")
        assert calls() == []


# --- Iceberg tables under the same names ---------------------------------------------------------------------------


def beside_iceberg(status: int) -> Callable[[Asked], Answer]:
    return lambda asked: Reply(status) if asked.method == "HEAD" else MISSING_TABLE


@pytest.mark.parametrize("operation", ["describe_table", "deregister_table"])
def test_an_iceberg_table_of_that_name_is_no_lance_table(operation):
    with towards(beside_iceberg(204)) as (ns, calls):
        with pytest.raises(errors.InvalidInput, match="not a Lance table"):
            OPERATIONS[operation][0](ns)
        assert calls() == [("GET", f"{GENERIC}/t"), ("HEAD", f"{NAMESPACES}/ml/tables/t")]
        assert not ns.table_exists("lake$ml$t")


@pytest.mark.parametrize("status", [404, 403])
def test_without_an_iceberg_table_that_we_may_see_it_is_missing(status):
    with towards(beside_iceberg(status)) as (ns, _), pytest.raises(errors.TableNotFound):
        ns.describe_table("lake$ml$t")


def test_whether_there_is_an_iceberg_table_is_not_guessed_when_the_server_fails():
    with towards(beside_iceberg(500)) as (ns, _), pytest.raises(errors.Internal):
        ns.table_exists("lake$ml$t")


@pytest.mark.parametrize("name", ["%41", "a+b", "a b"])
def test_names_that_the_server_would_read_as_others_are_not_looked_for_among_iceberg_tables(name):
    with towards(beside_iceberg(204)) as (ns, calls):
        with pytest.raises(errors.TableNotFound):
            ns.describe_table(["lake", "ml", name])
        assert [method for method, _ in calls()] == ["GET"]


# --- listings ------------------------------------------------------------------------------------------------------


def catalog_of(*names: str, formats: dict[str, Answer] | None = None) -> Callable[[Asked], Answer]:
    """A namespace of generic tables, all Lance unless said otherwise, whose names come in pages of two."""

    def answer(asked: Asked) -> Answer:
        path, _, query = asked.target.partition("?")
        if path != GENERIC:
            name = path.rpartition("/")[2]
            return (formats or {}).get(name) or Reply(body=table(name))
        begin = int(parse_qs(query).get("pageToken", ["0"])[0])
        page = [{"namespace": ["ml"], "name": name} for name in names[begin : begin + 2]]
        return Reply(body={"identifiers": page, "next-page-token": str(begin + 2) if begin + 2 < len(names) else None})

    return answer


def test_only_lance_tables_are_listed_and_the_servers_pages_are_followed():
    others = {"b": Reply(body=table(format="delta")), "d": MISSING_TABLE}
    with towards(catalog_of("e", "d", "c", "b", "a", formats=others)) as (ns, _):
        assert list(ns.list_tables("lake$ml")) == ["a", "c", "e"]


def test_only_the_tables_of_the_page_that_is_asked_for_are_loaded():
    names = [f"t{number:02}" for number in range(40)]
    with towards(catalog_of(*names)) as (ns, calls):
        page = ns.list_tables_page("lake$ml", limit=10)
        assert page.tables == names[:10]
        assert page.page_token
        loaded = sorted(target.rpartition("/")[2] for _, target in calls() if target.startswith(f"{GENERIC}/"))
        assert loaded == names[:11]


@pytest.mark.parametrize(
    ("answer", "kind"), [(said(403, "ForbiddenException"), errors.PermissionDenied), (Reply(500), errors.Internal)]
)
def test_a_table_that_cannot_be_loaded_fails_the_listing_and_is_never_left_out(answer, kind):
    with towards(catalog_of("a", "b", formats={"b": answer})) as (ns, _), pytest.raises(kind):
        list(ns.list_tables("lake$ml"))


# --- namespaces that are overwritten -------------------------------------------------------------------------------


def overwritten(properties: dict[str, str], held: dict[str, str], *, tables: list[str] | None = None) -> list[Any]:
    """The changes that overwriting an empty namespace sends, one after the other."""
    changes = []

    def answer(asked: Asked) -> Answer:
        if asked.target == NAMESPACES and asked.method == "POST":
            return TAKEN
        if asked.target.endswith("/properties"):
            changes.append(asked.json)
            return Reply(body={"updated": [], "removed": [], "missing": []})
        if asked.target.endswith("/tables"):
            return Reply(body={"identifiers": [{"namespace": ["ml"], "name": name} for name in tables or ()]})
        if asked.target.endswith("/generic-tables"):
            return Reply(body={"identifiers": []})
        return Reply(body={"namespaces": []} if "?parent=" in asked.target else {"properties": held})

    with towards(answer) as (ns, _):
        ns.create_namespace("lake$ml", mode="overwrite", properties=properties)
    return changes


def test_updates_and_removals_are_sent_apart_and_the_location_stays():
    changes = overwritten({"new": "1", "same": "2"}, {"old": "0", "same": "2", "location": "s3://b/ml/"})
    assert changes == [{"removals": [], "updates": {"new": "1"}}, {"removals": ["old"], "updates": {}}]


def test_nothing_is_sent_where_nothing_changes():
    assert overwritten({"same": "2", "location": "s3://b/ml/"}, {"same": "2", "location": "s3://b/ml/"}) == []


def test_a_namespace_that_holds_only_an_iceberg_table_is_not_overwritten():
    with pytest.raises(errors.NamespaceNotEmpty):
        overwritten({"new": "1"}, {}, tables=["theirs"])


def test_a_change_that_met_another_is_a_concurrent_modification():
    def answer(asked: Asked) -> Answer:
        if asked.target.endswith("/properties"):
            return said(409, "CommitConflictException")
        if asked.method == "POST":
            return TAKEN
        if "tables" in asked.target:
            return Reply(body={"identifiers": []})
        return Reply(body={"namespaces": []} if "?parent=" in asked.target else {"properties": {}})

    with towards(answer) as (ns, _), pytest.raises(errors.ConcurrentModification):
        ns.create_namespace("lake$ml", mode="overwrite", properties={"k": "v"})


# --- answers that never come ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (Reply(body=table(properties={"k": "v", "table_type": "lance"}, doc="d")), None),
        (Reply(body=table(properties={"k": "other", "table_type": "lance"}, doc="d")), errors.TableAlreadyExists),
        (Reply(body=table(format="delta")), errors.TableAlreadyExists),
        (MISSING_TABLE, errors.ServiceUnavailable),
    ],
)
def test_a_creation_whose_answer_was_lost_is_read_back_and_never_sent_twice(found, kind):
    def call(ns: lance_ns.Namespace) -> Any:
        return ns.declare_table("lake$ml$t", location="/t", properties={"k": "v", "doc": "d"})

    with towards(lambda asked: RESET if asked.method == "POST" else found, max_retries=3) as (ns, calls):
        if kind is None:
            assert call(ns).properties == {"k": "v", "table_type": "lance", "doc": "d"}
        else:
            with pytest.raises(kind):
                call(ns)
        assert [method for method, _ in calls()].count("POST") == 1


def test_the_number_of_repetitions_is_bounded():
    for retries in (0, 2):
        with towards(lambda _: Reply(503, headers={"Retry-After": "0"}), max_retries=retries) as (ns, calls):
            with pytest.raises(errors.ServiceUnavailable):
                ns.describe_namespace("lake$ml")
            assert len(calls()) == retries + 1


# --- where tables lie ----------------------------------------------------------------------------------------------


def asked_location(namespace: dict[str, str], **properties: Any) -> str:
    sent: list[bytes] = []

    def answer(asked: Asked) -> Answer:
        if asked.method != "POST":
            return Reply(body={"namespace": ["ml"], "properties": namespace})
        sent.append(asked.body)
        return Reply(body=table(**{"base-location": json.loads(asked.body)["base-location"]}))

    with towards(answer, **properties) as (ns, _):
        location = ns.declare_table("lake$ml$t").location
    assert location == json.loads(sent[0])["base-location"]
    return str(location)


def test_a_default_location_is_below_root_else_below_the_namespaces_else_below_the_working_directory(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    of_namespace = {"location": "s3://b/ml/"}
    assert asked_location(of_namespace, root="s3://lake") == "s3://lake/lake/ml/t"
    assert asked_location(of_namespace, root=None) == "s3://b/ml/t"
    assert asked_location({}, root=None) == f"{tmp_path}/lake/ml/t"


def test_what_the_server_holds_is_the_location_whatever_was_asked_for():
    with towards(lambda _: Reply(body=table(**{"base-location": "s3://chosen/t"}))) as (ns, _):
        assert ns.declare_table("lake$ml$t", location="/asked").location == "s3://chosen/t"
