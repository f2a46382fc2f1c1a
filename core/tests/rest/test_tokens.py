"""Who asks: fixed tokens, tokens of one request, tokens that are fetched; and that none of them is ever seen."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest
from small_server import RESET, Answer, Asked, Reply, SmallServer, Truncated

from lance_ns import models as m
from lance_ns.config import Secret
from lance_ns.errors import ErrorCode, InvalidInput, LanceNsError, Unauthenticated, Unsupported
from lance_ns.rest import tokens
from lance_ns.rest.tokens import ClientCredentials

CANARY = "c4n4ry"
SECRET = f"{CANARY}/s+cret=&"
CREDENTIAL = f"me:{SECRET}"
FETCHED = f"{CANARY}-fetched"


def describe(ns: Any, token: str | None = None, name: str = "n") -> m.DescribeNamespaceResponse:
    identity = None if token is None else m.Identity(auth_token=token)
    answer: m.DescribeNamespaceResponse = ns.call(m.DescribeNamespaceRequest(id=[name], identity=identity))
    return answer


class TokenServer:
    """Gives tokens that it numbers, and answers calls with a token that it still honours."""

    def __init__(self, **answer: Any) -> None:
        self.given = 0
        self.honoured: set[str] = set()
        self._answer = answer
        self._lock = threading.Lock()

    def __call__(self, asked: Asked) -> Answer:
        with self._lock:
            if asked.target == "/oauth/tokens":
                self.given += 1
                self.honoured.add(f"{FETCHED}-{self.given}")
                return Reply(body={"access_token": f"{FETCHED}-{self.given}", "token_type": "bearer", **self._answer})
            if asked.token in self.honoured:
                return Reply(body={"token": asked.token})
            return Reply(401, {"error": {"message": f"unknown: {asked.token}"}})


# --- fixed tokens, and those of one request ------------------------------------------------------------------------


def test_a_fixed_token_goes_with_every_call(start, small):
    server = start(Reply(body={}))
    ns = small(server, auth_token="t0ken")

    describe(ns)
    describe(ns)

    assert [each.token for each in server.asked] == ["t0ken"] * 2


def test_without_a_token_none_is_sent(start, small):
    server = start(Reply(body={}))

    describe(small(server))

    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize("own", [{}, {"auth_token": "t0ken"}, {"credential": CREDENTIAL}])
def test_the_token_of_a_request_is_used_for_that_request_only(start, small, own):
    service = TokenServer()
    service.honoured |= {"t0ken", "guest"}
    server = start(lambda asked: service(asked) if asked.token else Reply(body={}))
    server_tokens = {"auth_token": "t0ken", "credential": f"{FETCHED}-1"}
    usual = next((server_tokens[key] for key in own), None)
    if "credential" in own:
        server = start(service)
    ns = small(server, **own)

    describe(ns)
    describe(ns, "guest")
    describe(ns)

    assert [each.token for each in server.asked if each.target != "/oauth/tokens"] == [usual, "guest", usual]


def test_tokens_of_requests_do_not_mix_between_threads(start, small):
    server = start(lambda asked: Reply(body={"asked": asked.target, "by": asked.token}))
    ns = small(server, auth_token="own")
    together = threading.Barrier(8)

    def work(number: int) -> None:
        together.wait(timeout=30)
        for turn in range(20):
            token = None if turn % 4 == 0 else f"guest-{number}-{turn}"
            answer = describe(ns, token, f"n{number}").properties
            assert answer == {"asked": f"/n/n{number}", "by": token or "own"}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))


def test_a_token_of_a_request_that_is_refused_is_not_replaced_by_our_own(start, small):
    service = TokenServer()
    server = start(service)
    ns = small(server, credential=CREDENTIAL)
    describe(ns)

    for token in ("guest", ""):
        with pytest.raises(Unauthenticated):
            describe(ns, token)

    assert [each.token for each in server.asked if each.method == "GET"] == [f"{FETCHED}-1", "guest"]


def test_an_api_key_is_refused_before_anything_is_sent(start, small):
    server = start(Reply(body={}))

    with pytest.raises(Unsupported):
        small(server).call(m.DescribeNamespaceRequest(id=["n"], identity=m.Identity(api_key="k")))

    assert server.asked == []


def test_the_token_of_a_request_goes_to_no_other_server(start, connect):
    catalog, other = start(), start()
    mine, others = connect(catalog), connect(other, tokens="their-own")

    with mine.operation(m.DescribeNamespaceRequest(id=["n"], identity=m.Identity(auth_token="guest"))):
        mine.call("GET", "/x")
        others.call("GET", "/x")

    assert [each.token for each in (*catalog.asked, *other.asked)] == ["guest", "their-own"]


# --- tokens that are fetched ---------------------------------------------------------------------------------------


def test_a_credential_is_exchanged_for_a_token_once(start, small):
    server = start(TokenServer(expires_in=3600))
    ns = small(server, credential=CREDENTIAL, **{"header.x-tenant": "acme"})

    assert [describe(ns).properties for _ in range(3)] == [{"token": f"{FETCHED}-1"}] * 3

    fetch = server.asked[0]
    assert (fetch.method, fetch.target, fetch.headers["x-tenant"]) == ("POST", "/oauth/tokens", "acme")
    assert fetch.headers["content-type"] == "application/x-www-form-urlencoded"
    assert parse_qs(fetch.body.decode()) == {
        "grant_type": ["client_credentials"],
        "client_id": ["me"],
        "client_secret": [SECRET],
        "scope": ["catalog"],
    }
    assert "authorization" not in fetch.headers
    assert len(server.asked) == 4


def test_a_token_server_elsewhere_gets_none_of_the_catalogs_headers(start, small):
    service = TokenServer()
    catalog = start(service)
    elsewhere = start(lambda _: service(Asked("POST", "/oauth/tokens", {}, b"", 0)))
    ns = small(
        catalog,
        credential=CREDENTIAL,
        scope="mine",
        oauth2_server_uri=f"{elsewhere.url}/its/own/path",
        **{"header.X-Api-Key": "for the catalog"},
    )

    describe(ns)

    assert [each.target for each in catalog.asked] == ["/n/n"]
    assert [each.target for each in elsewhere.asked] == ["/its/own/path"]
    assert catalog.asked[0].headers["x-api-key"] == "for the catalog"
    assert "x-api-key" not in elsewhere.asked[0].headers
    assert parse_qs(elsewhere.asked[0].body.decode())["scope"] == ["mine"]


def test_a_token_that_was_given_wins_over_a_credential(start, small):
    service = TokenServer()
    service.honoured.add("t0ken")
    server = start(service)

    describe(small(server, auth_token="t0ken", credential=CREDENTIAL))

    assert [each.token for each in server.asked] == ["t0ken"]


def test_sixteen_threads_fetch_one_token(start, small):
    service = TokenServer(expires_in=3600)
    server = start(service)
    ns = small(server, credential=CREDENTIAL)
    together = threading.Barrier(16)

    def work(_: int) -> m.DescribeNamespaceResponse:
        together.wait(timeout=30)
        return describe(ns)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(work, range(16)))

    assert service.given == 1
    assert [each.properties for each in answers] == [{"token": f"{FETCHED}-1"}] * 16


@pytest.fixture
def hands(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The clock by which tokens grow old."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.mark.parametrize(
    ("expires_in", "good_for", "stale_after"),
    [
        (100, 89, 91),
        (100.5, 89, 91),
        (None, 3200, 3590),
        ("soon", 3200, 3590),
        (-1, 3200, 3590),
        (0, 3200, 3590),
        (True, 3200, 3590),
        (10**400, 70_000, 86_400),
    ],
)
def test_a_token_is_fetched_again_before_its_end(start, small, hands, expires_in, good_for, stale_after):
    service = TokenServer(**({} if expires_in is None else {"expires_in": expires_in}))
    ns = small(start(service), credential=CREDENTIAL)

    describe(ns)
    hands.now += good_for
    describe(ns)
    assert service.given == 1
    hands.now += stale_after - good_for
    describe(ns)
    assert service.given == 2


@pytest.mark.parametrize("status", [401, 419])
def test_a_token_that_the_server_no_longer_honours_is_fetched_again_once(start, small, status):
    service = TokenServer()

    def answer(asked: Asked) -> Answer:
        said = service(asked)
        return Reply(status) if isinstance(said, Reply) and said.status == 401 else said

    server = start(answer)
    ns = small(server, credential=CREDENTIAL)
    describe(ns)
    service.honoured.clear()

    assert describe(ns).properties == {"token": f"{FETCHED}-2"}


def test_a_token_that_is_refused_twice_is_an_error(start, small):
    def answer(asked: Asked) -> Answer:
        return Reply(body={"access_token": "t0ken"}) if asked.target == "/oauth/tokens" else Reply(401)

    server = start(answer)
    ns = small(server, credential=CREDENTIAL, max_retries=3)

    with pytest.raises(Unauthenticated):
        describe(ns)

    assert [each.target for each in server.asked] == ["/oauth/tokens", "/n/n", "/oauth/tokens", "/n/n"]


def test_a_token_may_end_again_while_a_call_is_repeated(start, small, pauses):
    tokens = iter(range(1, 10))
    server = start(
        lambda _: Reply(body={"access_token": f"t{next(tokens)}"}),
        *[Reply(401), lambda _: Reply(body={"access_token": f"t{next(tokens)}"}), RESET] * 2,
        Reply(body={}),
    )

    describe(small(server, credential=CREDENTIAL, max_retries=2))

    assert [each.token for each in server.asked if each.method == "GET"] == ["t1", "t2", "t2", "t3", "t3"]


def test_a_fixed_token_that_is_refused_is_sent_once(start, small):
    server = start(Reply(401))

    with pytest.raises(Unauthenticated):
        describe(small(server, auth_token="t0ken", max_retries=3))

    assert len(server.asked) == 1


def test_a_refused_token_is_replaced_without_repeating_what_was_done(start, connect, pauses):
    service = TokenServer()
    server = start(service)
    source = ClientCredentials(Secret(CREDENTIAL), "s", lambda _: {"access_token": f"{FETCHED}-{service.given}"})
    client = connect(server, tokens=source)
    service.honoured = {f"{FETCHED}-1"}
    service.given = 0

    first = source.token()
    service.given = 1
    assert client.call("POST", "/x", json_body={}).body == {"token": f"{FETCHED}-1"}

    assert first != source.token()
    assert [each.token for each in server.asked] == [f"{FETCHED}-0", f"{FETCHED}-1"]


REFUSALS: list[tuple[Answer, ErrorCode]] = [
    (Reply(401, {"error": "invalid_client", "error_description": "wrong secret"}), ErrorCode.UNAUTHENTICATED),
    (Reply(400, {"error": "invalid_client"}), ErrorCode.UNAUTHENTICATED),
    (Reply(400, {"error": "unauthorized_client"}), ErrorCode.UNAUTHENTICATED),
    (Reply(401, b""), ErrorCode.UNAUTHENTICATED),
    (Reply(401, {"error": {"type": "NotAuthorized", "message": "no"}}), ErrorCode.UNAUTHENTICATED),
    (Reply(403, b""), ErrorCode.PERMISSION_DENIED),
    (Reply(400, {"error": "invalid_scope"}), ErrorCode.INVALID_INPUT),
    (Reply(200, {}), ErrorCode.UNAUTHENTICATED),
    (Reply(200, {"access_token": ""}), ErrorCode.UNAUTHENTICATED),
    (Reply(200, {"access_token": 7}), ErrorCode.UNAUTHENTICATED),
    (Reply(200, {"access_token": None, "refresh_token": CANARY}), ErrorCode.UNAUTHENTICATED),
    (Reply(200, [CANARY]), ErrorCode.UNAUTHENTICATED),
    (Reply(200, f"<html>{CANARY}"), ErrorCode.INTERNAL),
    (Reply(200, f'{{"access_token": "{CANARY}"'), ErrorCode.INTERNAL),
    (Reply(500, b""), ErrorCode.INTERNAL),
    (Reply(503, b""), ErrorCode.SERVICE_UNAVAILABLE),
    (RESET, ErrorCode.SERVICE_UNAVAILABLE),
    (Truncated(Reply(200, {"access_token": CANARY}), keep=25), ErrorCode.SERVICE_UNAVAILABLE),
]


@pytest.mark.parametrize(("refusal", "code"), REFUSALS)
def test_without_a_token_the_call_is_not_made_and_the_next_one_asks_again(start, small, watch, refusal, code):
    server = start(refusal, TokenServer())
    ns = small(server, credential=CREDENTIAL)

    with pytest.raises(LanceNsError) as caught:
        describe(ns)

    assert caught.value.code is code
    assert [each.target for each in server.asked] == ["/oauth/tokens"]
    assert CANARY not in watch.trace(caught.value)
    assert describe(ns).properties == {"token": f"{FETCHED}-1"}


def test_fetching_a_token_may_be_repeated(start, small, pauses):
    server = start(RESET, Reply(503), TokenServer())

    assert describe(small(server, credential=CREDENTIAL, max_retries=2)).properties == {"token": f"{FETCHED}-1"}


def test_a_thread_whose_token_was_forgotten_by_another_still_sends_one(monkeypatch):
    source = ClientCredentials(Secret(CREDENTIAL), "s", lambda _: {"access_token": "t0ken"})
    source.token()
    seen = []

    def clock() -> float:  # another thread has its token refused while this one looks whether its own is fresh
        if not seen:
            seen.append(1)
            source.renewed(Secret("t0ken"))
        return time.monotonic()

    monkeypatch.setattr(tokens, "time", SimpleNamespace(monotonic=clock))

    assert source.token() == Secret("t0ken")


@pytest.mark.parametrize("credential", [CANARY, f"{CANARY}:", f":{CANARY}"])
def test_a_credential_that_is_none_is_refused_without_showing_it(start, small, watch, credential):
    with pytest.raises(InvalidInput, match="client_id:client_secret") as caught:
        small(start(), credential=credential)

    assert CANARY not in watch.trace(caught.value)


def test_the_url_of_a_token_server_is_checked_under_its_own_name(start, small):
    with pytest.raises(InvalidInput, match="'oauth2_server_uri'"):
        small(start(), credential=CREDENTIAL, oauth2_server_uri="nowhere")
    with pytest.raises(InvalidInput, match="'endpoint'"):
        small(SimpleNamespace(url="nowhere"), credential=CREDENTIAL)


def test_closing_a_connection_closes_those_to_the_token_server(start, small):
    server = start(TokenServer())
    ns = small(server, credential=CREDENTIAL)
    describe(ns)
    ns.close()

    until = time.monotonic() + 30
    while server._open and time.monotonic() < until:
        time.sleep(0.01)
    assert not server._open


# --- never seen ----------------------------------------------------------------------------------------------------


def leaks(asked: Asked) -> str:
    """All that a server knows of secrets, as it might say it back."""
    return f"{asked.headers} {asked.body.decode()} {parse_qs(asked.body.decode())} {asked.token}"


TROUBLE: dict[str, Any] = {
    "said back in JSON": lambda asked: Reply(400, {"error": {"type": leaks(asked), "message": leaks(asked)}}),
    "said back by OAuth2": lambda asked: Reply(400, {"error": leaks(asked), "error_description": leaks(asked)}),
    "said back in words": lambda asked: Reply(403, leaks(asked)),
    "cut in the middle": lambda asked: Reply(400, "x" * 390 + str(asked.token) + str(parse_qs(asked.body.decode()))),
    "said back as a success": lambda asked: Reply(200, leaks(asked)),
    "said back as a page": lambda asked: Reply(200, f"<html>{leaks(asked)}"),
    "redirected": lambda asked: Reply(302, headers={"Location": f"http://x.example/?{asked.token}"}),
    "throttled": lambda asked: Reply(429, leaks(asked)),
    "refused": lambda asked: Reply(401, leaks(asked)),
    "truncated": lambda asked: Truncated(Reply(200, leaks(asked)), keep=100),
    "reset": lambda _: RESET,
}


@pytest.mark.parametrize("trouble", TROUBLE)
@pytest.mark.parametrize("own", [{"auth_token": f"{CANARY}-t0ken"}, {"credential": CREDENTIAL}])
def test_no_secret_is_seen_when_the_catalog_makes_trouble(start, small, watch, own, trouble):
    def answer(asked: Asked) -> Answer:
        token = {"access_token": f"{FETCHED}-1"}
        return Reply(body=token) if asked.target == "/oauth/tokens" else TROUBLE[trouble](asked)

    ns = small(start(answer), **own, **{"header.X-Api-Key": f"{CANARY}-key"})

    for given in (None, f"{CANARY}-guest"):
        with pytest.raises(LanceNsError) as caught:
            describe(ns, given)
        assert CANARY not in watch.trace(caught.value)
    assert CANARY not in watch.shown(ns, ns._implementation, ns._implementation.client, vars(ns._implementation.client))


@pytest.mark.parametrize("trouble", TROUBLE)
def test_no_secret_is_seen_when_the_token_server_makes_trouble(start, small, watch, trouble):
    ns = small(start(TROUBLE[trouble]), credential=CREDENTIAL)

    with pytest.raises(LanceNsError) as caught:
        describe(ns)

    assert CANARY not in watch.trace(caught.value)
    assert CANARY not in watch.shown(caught.value)


def test_no_secret_is_seen_when_nobody_is_there(small, watch):
    server = SmallServer(lambda _: Reply())
    for own in ({"auth_token": f"{CANARY}-t0ken"}, {"credential": CREDENTIAL}):
        with pytest.raises(LanceNsError) as caught:
            describe(small(server, **own))
        assert CANARY not in watch.trace(caught.value)
    server.close()


def test_no_secret_is_seen_when_the_deadline_ends(start, small, watch):
    def answer(asked: Asked) -> Answer:
        time.sleep(0.5)
        return Reply(body={"access_token": FETCHED})

    ns = small(start(answer), credential=CREDENTIAL, operation_timeout=0.2)
    with pytest.raises(LanceNsError) as caught:
        describe(ns)

    assert CANARY not in watch.trace(caught.value)


def test_no_secret_is_seen_of_a_working_connection(start, small, watch):
    ns = small(start(TokenServer()), credential=CREDENTIAL)
    describe(ns)

    client = ns._implementation.client
    shown = watch.shown(ns, client, vars(client), client._tokens, vars(client._tokens), vars(client._tokens._held()))
    assert CANARY not in shown
