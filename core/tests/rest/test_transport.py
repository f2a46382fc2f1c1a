"""The way to a server: its URL, proxies of the environment, headers, and how many connections are opened."""

import base64
import contextlib
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator

import pytest
from small_server import Reply

import lance_ns
from lance_ns.config import Secret
from lance_ns.errors import ErrorCode, InvalidInput
from lance_ns.rest.tokens import Fixed
from lance_ns.rest.transport import parsed
from lance_ns.tls import Tls

# --- the server's URL ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "catalog.example",
        "catalog.example:8181",
        "ftp://catalog.example",
        "file:///etc/passwd",
        "http://",
        "http:///v1",
        "http://catalog.example:99999",
        "http://catalog.example:port",
        "",
        " http://catalog.example",
        "http://[::1",
    ],
)
def test_what_is_no_url_of_a_server_is_refused(connect, url):
    with pytest.raises(InvalidInput, match="'endpoint' must be a URL"):
        connect(url)


@pytest.mark.parametrize("url", ["http://user:secret@catalog.example", "https://token@catalog.example/v1"])
def test_credentials_do_not_belong_into_the_url(connect, url, watch):
    with pytest.raises(InvalidInput, match="must not hold a user") as caught:
        connect(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("end", ["?", "?warehouse=x", "#", "#top", "/v1?a=b"])
def test_a_url_ends_with_its_path(connect, end):
    with pytest.raises(InvalidInput, match="must end with its path"):
        connect(f"http://catalog.example{end}")


@pytest.mark.parametrize("path", ["", "/", "/api/catalog", "/api/catalog/", "/with space", "/with%20space//"])
def test_calls_go_below_the_path_of_the_url(start, connect, path):
    server = start()

    connect(server, path=path).call("GET", "/v1/config", query={"warehouse": "a b", "blank": ""})

    base = path.rstrip("/").replace(" ", "%20")
    assert server.asked[0].target == f"{base}/v1/config?warehouse=a+b&blank="


def test_the_property_that_holds_the_url_is_named():
    with pytest.raises(InvalidInput, match="'oauth2_server_uri' must be"):
        parsed("nowhere", "oauth2_server_uri")


# --- headers -------------------------------------------------------------------------------------------------------


def test_every_call_says_who_calls_and_what_it_takes(start, connect):
    server = start()

    connect(server).call("POST", "/x", json_body={"ä": "ö"})

    headers = server.asked[0].headers
    assert headers["user-agent"] == f"lance-ns/{lance_ns.__version__}"
    assert headers["accept"] == headers["content-type"] == "application/json"
    assert headers["host"] == f"127.0.0.1:{server.port}"
    assert server.asked[0].json == {"ä": "ö"}


def test_further_headers_go_with_every_call_and_none_goes_twice(start, connect):
    server = start()
    given = {
        "x-tenant": "acme",
        "user-agent": "mine/1",
        "ACCEPT": "application/vnd.acme+json",
        "authorization": "Basic abc",
        "x-mode": "every call",
    }
    client = connect(server, headers=given, tokens="t0ken")

    client.call("GET", "/1")
    client.call("POST", "/2", json_body={}, headers={"X-Mode": "this call"})
    client.call("GET", "/3")

    sent = [{name: each.headers.get(name) for name in given | {"accept": ""}} for each in server.asked]
    assert [each["x-tenant"] for each in sent] == ["acme"] * 3
    assert [each["user-agent"] for each in sent] == ["mine/1"] * 3
    assert [each["accept"] for each in sent] == ["application/vnd.acme+json"] * 3
    assert [each["authorization"] for each in sent] == ["Bearer t0ken"] * 3
    assert [each["x-mode"] for each in sent] == ["every call", "this call", "every call"]


def test_a_header_of_authorization_is_sent_where_there_is_no_token(start, connect):
    server = start()

    connect(server, headers={"Authorization": "Basic abc"}).call("GET", "/x")

    assert server.asked[0].headers["authorization"] == "Basic abc"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Tenant", "acme\r\nX-Admin: yes"),
        ("X-Tenant", "acme\n"),
        ("X-Tenant", "€"),
        ("X-Tenant", "\0"),
        ("X Tenant", "acme"),
        ("X-Tenant:", "acme"),
        ("X-Tenänt", "acme"),
        ("X-Tenant\r\nX-Admin", "yes"),
        ("", "acme"),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused_before_the_first_call(connect, watch, name, value):
    with pytest.raises(InvalidInput, match="cannot be sent") as caught:
        connect("http://127.0.0.1:1", headers={name: value})

    assert "acme" not in watch.trace(caught.value)


@pytest.mark.parametrize("token", ["", "two words", "line\nend", "line\r\nX-Admin: yes", "€"])
def test_a_token_that_cannot_be_sent_is_none_at_all(start, connect, failure, watch, token):
    server = start()

    error = failure(connect(server, tokens=Fixed(Secret(token))).call, "GET", "/x")

    assert error.code is ErrorCode.UNAUTHENTICATED
    assert server.asked == []
    assert not token or token not in watch.trace(error)


# --- proxies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["http://127.0.0.1:{}", "127.0.0.1:{}", "http://127.0.0.1:{}/"])
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_asked_for_the_whole_url(start, connect, monkeypatch, variable, form):
    proxy = start()
    monkeypatch.setenv(variable, form.format(proxy.port))

    connect("http://catalog.example:8181/api", tokens="t0ken").call("GET", "/v1/a%2Fb", query={"c": "d"})

    asked = proxy.asked[0]
    assert asked.target == "http://catalog.example:8181/api/v1/a%2Fb?c=d"
    assert asked.headers["host"] == "catalog.example:8181"
    assert asked.token == "t0ken"
    assert "proxy-authorization" not in asked.headers


def test_a_proxy_gets_the_user_and_password_that_its_url_holds(start, connect, monkeypatch):
    proxy = start()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:p%40ss@127.0.0.1:{proxy.port}")

    connect("http://catalog.example").call("GET", "/x")

    asked = proxy.asked[0]
    assert asked.target == "http://catalog.example/x"
    assert base64.b64decode(asked.headers["proxy-authorization"].removeprefix("Basic ")) == b"me:p@ss"


@pytest.mark.parametrize("exempt", ["127.0.0.1", "*", "example.org,127.0.0.1:{}"])
def test_servers_named_in_no_proxy_are_called_directly(start, connect, monkeypatch, exempt):
    server, proxy = start(), start()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", exempt.format(server.port))

    connect(server).call("GET", "/x")

    assert (len(server.asked), proxy.asked) == (1, [])


def test_the_proxy_of_another_scheme_is_not_used(start, connect, monkeypatch):
    server, proxy = start(), start()
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)

    connect(server).call("GET", "/x")

    assert (len(server.asked), proxy.asked) == (1, [])


@pytest.mark.parametrize("proxy", ["socks5://me:sesame@127.0.0.1:1", "http://me:sesame@127.0.0.1:port", "ftp://x"])
def test_a_proxy_that_cannot_be_used_is_said_before_the_first_call(connect, monkeypatch, watch, proxy):
    monkeypatch.setenv("HTTP_PROXY", proxy)

    with pytest.raises(InvalidInput, match="the proxy that the environment names") as caught:
        connect("http://catalog.example")

    assert "sesame" not in watch.trace(caught.value)


def test_a_proxy_that_is_not_there_got_nothing(start, connect, monkeypatch, failure, pauses):
    proxy = start()
    proxy.close()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)

    error = failure(connect("http://catalog.example", retries=2).call, "POST", "/x", json_body={})

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert len(pauses) == 2


def test_a_proxy_may_itself_be_spoken_to_in_secret(start, connect, monkeypatch, ours, speaking):
    proxy = start(context=speaking(ours))
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("SSL_CERT_FILE", ours.bundle)  # those whom the system trusts

    connect("http://catalog.example:8181").call("GET", "/x")

    assert proxy.asked[0].target == "http://catalog.example:8181/x"


class Tunnel:
    """A proxy that opens a way through to any port of this machine for one connection, and what it was told."""

    def __init__(self, context: ssl.SSLContext | None) -> None:
        self.heads: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"{'https' if context else 'http'}://me:sesame@localhost:{self.listener.getsockname()[1]}"
        self._context = context

    def serve(self) -> None:
        talk, _ = self.listener.accept()
        with self._context.wrap_socket(talk, server_side=True) if self._context else talk as client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            self.heads.append(head.decode())
            port = int(head.split(b" ")[1].rpartition(b":")[2])
            with socket.create_connection(("127.0.0.1", port)) as server:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                with contextlib.suppress(OSError):
                    self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        while True:
            readable, _, _ = select.select([client, server], [], [])
            for source, sink in ((client, server), (server, client)):
                if source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    sink.sendall(data)


@pytest.fixture
def tunnel() -> Iterator[Callable[[ssl.SSLContext | None], Tunnel]]:
    """Starts proxies, which end with their connections."""
    with contextlib.ExitStack() as stack:

        def proxy(context: ssl.SSLContext | None) -> Tunnel:
            made = Tunnel(context)
            stack.enter_context(made.listener)
            thread = threading.Thread(target=made.serve)
            thread.start()
            stack.callback(thread.join)
            return made

        yield proxy


@pytest.mark.parametrize("in_secret", [False, True])
def test_an_encrypted_call_goes_through_a_proxy_that_sees_nothing_of_it(
    start, connect, monkeypatch, ours, foreign, speaking, tunnel, in_secret
):
    proxy = tunnel(speaking(foreign) if in_secret else None)
    server = start(context=speaking(ours))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    monkeypatch.setenv("SSL_CERT_FILE", foreign.bundle)  # those whom the system trusts
    client = connect(server, tls=Tls(ca_bundle=ours.bundle), tokens="t0ken")

    assert [client.call("GET", path).body for path in ("/x", "/y")] == [{"ok": True}] * 2
    client.close()

    assert len(proxy.heads) == 1
    assert proxy.heads[0].startswith(f"CONNECT localhost:{server.port} HTTP/1.")
    assert "t0ken" not in proxy.heads[0]
    assert "proxy-authorization: basic" in proxy.heads[0].lower()
    assert [each.target for each in server.asked] == ["/x", "/y"]
    assert server.asked[0].token == "t0ken"
    assert "proxy-authorization" not in server.asked[0].headers


def test_a_proxy_that_opens_no_way_through_leaves_the_server_unreached(start, connect, monkeypatch, failure, pauses):
    proxy = start(Reply(407, "who are you?"))
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)

    error = failure(connect("https://catalog.example", retries=1).call, "POST", "/x", json_body={})

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "cannot be reached: Tunnel connection failed: 407" in error.message
    assert len(pauses) == 1


# --- connections ---------------------------------------------------------------------------------------------------


def test_a_connection_is_used_again_also_after_errors(start, connect, failure):
    server = start(
        Reply(body={}),
        Reply(404, {"error": {"message": "no"}}),
        Reply(204),
        Reply(500, "x" * 200_000),
        Reply(body={}),
    )
    client = connect(server)

    client.call("GET", "/1")
    failure(client.call, "GET", "/2")
    client.call("HEAD", "/3")
    failure(client.call, "GET", "/4")
    client.call("DELETE", "/5")

    assert [each.connection for each in server.asked] == [1] * 5


def test_threads_share_no_more_connections_than_allowed(start, connect):
    together = threading.Barrier(4)

    def answer(_):
        together.wait(timeout=30)  # four calls are under way at once
        return Reply(body={})

    server = start(answer)
    client = connect(server, connections=4)
    threads = [threading.Thread(target=client.call, args=("GET", f"/{number}")) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({each.target for each in server.asked}) == 16
    assert server.accepted == 4


def test_closing_ends_the_connections(start, connect):
    server = start()
    client = connect(server)
    client.call("GET", "/1")

    client.close()
    client.call("GET", "/2")

    assert [each.connection for each in server.asked] == [1, 2]


def test_a_connection_that_is_in_use_when_all_are_closed_is_closed_after_that(start, connect):
    asked, closed = threading.Event(), threading.Event()

    def answer(_):
        asked.set()
        closed.wait(30)
        return Reply(body={})

    server = start(answer, Reply(body={}))
    client = connect(server)
    thread = threading.Thread(target=client.call, args=("GET", "/1"))
    thread.start()
    asked.wait(30)
    client.close()
    closed.set()
    thread.join()
    client.call("GET", "/2")

    assert [each.connection for each in server.asked] == [1, 2]


def test_a_connection_that_the_server_has_ended_meanwhile_is_not_used(connect):
    """What is sent on it would be lost, and a POST must not be sent twice."""
    ended, heads = threading.Event(), []

    def serve() -> None:
        for _ in range(2):
            talk, _ = listener.accept()
            with talk:
                heads.append(talk.recv(65536).decode())
                talk.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            ended.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        client = connect(f"http://127.0.0.1:{listener.getsockname()[1]}")
        client.call("GET", "/1")
        ended.wait(30)
        client.call("POST", "/2", form={})
        thread.join()

    assert [head.partition(" HTTP")[0] for head in heads] == ["GET /1", "POST /2"]


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ("/a b/é", "/a%20b/%C3%A9"),
        ("/a%20b/c%2Fd", "/a%20b/c%2Fd"),
    ],
)
def test_what_cannot_stand_in_a_request_is_encoded_and_what_is_encoded_stays(start, connect, sent, arrives):
    server = start()

    connect(server).call("GET", sent)

    assert server.asked[0].target == arrives
