"""The fault proxy: every fault, on HTTP and on raw connections, and what the server saw of it."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from servers import faults
from servers.faults import FaultProxy
from servers.tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator


class Upstream(ThreadingHTTPServer):
    """Answers every request with what it got, and remembers it."""

    daemon_threads = False

    def __init__(self) -> None:
        self.got: list[tuple[str, str, bytes]] = []
        super().__init__(("127.0.0.1", 0), Echo)


class Echo(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Upstream

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length", "0"))
        body = self.rfile.read(length)
        self.server.got.append((self.command, self.path, body))
        shown = json.dumps({"path": self.path, "body": body.decode(), "filler": "x" * 100}).encode()
        self.send_response(204 if self.path == "/nothing" else 200)
        self.send_header("Content-Type", "application/json")
        if self.path != "/nothing":
            self.send_header("Content-Length", str(len(shown)))
        self.end_headers()
        if self.command != "HEAD" and self.path != "/nothing":
            self.wfile.write(shown)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(upstream: Upstream) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", upstream.server_port) as made:
        yield made


@pytest.fixture
def client(proxy: FaultProxy) -> Iterator[http.client.HTTPConnection]:
    made = http.client.HTTPConnection(proxy.host, proxy.port, timeout=10)
    yield made
    made.close()


def arrived(got: list[Any]) -> None:
    """A busy machine may forward a request only after its client has given up."""
    eventually(lambda: got)
    assert len(got) == 1


def get(client: http.client.HTTPConnection, path: str = "/a", method: str = "GET", body: Any = None) -> Any:
    client.request(method, path, body)
    response = client.getresponse()
    response.body = response.read()  # type: ignore[attr-defined]
    return response


def test_without_faults_requests_pass_in_both_directions(
    client: http.client.HTTPConnection, upstream: Upstream
) -> None:
    answer = get(client, "/x?q=%2Fa", "POST", b"hello")
    assert json.loads(answer.body)["body"] == "hello"
    assert upstream.got == [("POST", "/x?q=%2Fa", b"hello")]


def test_a_connection_is_kept_for_several_requests(client: http.client.HTTPConnection, upstream: Upstream) -> None:
    assert get(client, "/1").status == 200
    first = client.sock
    assert get(client, "/2", "HEAD").body == b""
    assert get(client, "/nothing", "DELETE").status == 204
    assert get(client, "/3").status == 200
    assert client.sock is first
    assert [path for _, path, _ in upstream.got] == ["/1", "/2", "/nothing", "/3"]


def test_a_chunked_request_arrives_whole(client: http.client.HTTPConnection, upstream: Upstream) -> None:
    get(client, "/c", "POST", iter([b"one", b"two"]))
    assert upstream.got == [("POST", "/c", b"onetwo")]


def test_latency_outlasts_a_client_that_waits_less(proxy: FaultProxy, upstream: Upstream) -> None:
    proxy.order(faults.latency(30))
    hasty = http.client.HTTPConnection(proxy.host, proxy.port, timeout=0.2)
    with pytest.raises(TimeoutError):
        get(hasty)
    hasty.close()
    assert upstream.got == []


def test_after_some_latency_the_answer_is_right(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream
) -> None:
    proxy.order(faults.latency(0.05))
    assert get(client).status == 200
    assert len(upstream.got) == 1


def test_a_reset_before_leaves_the_server_without_the_request(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream
) -> None:
    proxy.order(faults.reset_before())
    with pytest.raises(ConnectionResetError):
        get(client, "/a", "POST", b"x")
    assert upstream.got == []
    assert [seen.forwarded for seen in proxy.seen] == [False]


def test_a_reset_after_loses_the_answer_of_a_request_that_was_done(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream
) -> None:
    proxy.order(faults.reset_after())
    with pytest.raises(ConnectionResetError):
        get(client, "/a", "POST", b"x")
    assert upstream.got == [("POST", "/a", b"x")]
    assert [seen.forwarded for seen in proxy.seen] == [True]


def test_a_truncated_body_is_shorter_than_announced(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream
) -> None:
    proxy.order(faults.truncated(keep=10))
    with pytest.raises(http.client.IncompleteRead) as caught:
        get(client)
    assert len(caught.value.partial) == 10
    assert len(upstream.got) == 1


def test_half_of_a_body_comes_where_nothing_else_is_said(client: http.client.HTTPConnection, proxy: FaultProxy) -> None:
    proxy.order(faults.truncated())
    with pytest.raises(http.client.IncompleteRead) as caught:
        get(client)
    assert len(caught.value.partial) == (len(caught.value.partial) + caught.value.expected) // 2


@pytest.mark.parametrize("forward", [False, True])
def test_html_comes_with_status_200(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream, forward: bool
) -> None:
    proxy.order(faults.html(forward=forward))
    answer = get(client)
    assert (answer.status, answer.getheader("Content-Type")) == (200, "text/html; charset=utf-8")
    assert answer.body.startswith(b"<!DOCTYPE html>")
    assert len(upstream.got) == int(forward)


@pytest.mark.parametrize("retry_after", [None, "7", "1.5", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_throttling_comes_with_and_without_a_time_to_wait(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream, retry_after: str | None
) -> None:
    proxy.order(faults.throttled(retry_after))
    answer = get(client)
    assert (answer.status, answer.getheader("Retry-After")) == (429, retry_after)
    assert upstream.got == []


@pytest.mark.parametrize("retry_after", [None, "3"])
def test_unavailable_is_503_and_the_connection_stays_usable(
    client: http.client.HTTPConnection, proxy: FaultProxy, retry_after: str | None
) -> None:
    proxy.order(faults.unavailable(retry_after))
    answer = get(client)
    assert (answer.status, answer.getheader("Retry-After")) == (503, retry_after)
    assert get(client).status == 200


@pytest.mark.parametrize("forward", [False, True])
def test_a_stalled_connection_gives_neither_answer_nor_end(
    proxy: FaultProxy, upstream: Upstream, forward: bool
) -> None:
    proxy.order(faults.stalled(forward=forward))
    hasty = http.client.HTTPConnection(proxy.host, proxy.port, timeout=0.3)
    with pytest.raises(TimeoutError):
        get(hasty)
    hasty.close()
    if forward:
        arrived(upstream.got)
    else:
        assert upstream.got == []


@pytest.mark.parametrize("forward", [False, True])
def test_a_half_closed_connection_ends_without_an_answer(
    client: http.client.HTTPConnection, proxy: FaultProxy, upstream: Upstream, forward: bool
) -> None:
    proxy.order(faults.half_closed(forward=forward))
    with pytest.raises(http.client.RemoteDisconnected):
        get(client, "/a", "POST", b"x")
    assert len(upstream.got) == int(forward)


def test_on_a_half_closed_connection_sending_still_works(proxy: FaultProxy) -> None:
    proxy.order(faults.half_closed())
    with socket.create_connection((proxy.host, proxy.port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(100) == b""
        for _ in range(20):
            connection.sendall(b"more" * 1000)


def test_faults_are_used_up_in_order_and_then_requests_pass(
    proxy: FaultProxy, client: http.client.HTTPConnection
) -> None:
    proxy.order(faults.throttled(), faults.unavailable())
    proxy.order(faults.throttled())
    assert [get(client).status for _ in range(5)] == [429, 503, 429, 200, 200]
    assert proxy.pending == 0


def test_a_fault_waits_for_the_request_it_is_meant_for(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    proxy.order(faults.unavailable(when=lambda seen: seen.method == "POST"), faults.throttled())
    assert get(client).status == 429
    assert get(client).status == 200
    assert get(client, method="POST", body=b"").status == 503


def test_cleared_faults_do_not_come(proxy: FaultProxy, client: http.client.HTTPConnection) -> None:
    proxy.order(faults.throttled())
    proxy.clear()
    assert get(client).status == 200


def test_each_of_many_threads_gets_its_own_answer_and_each_fault_comes_once(proxy: FaultProxy) -> None:
    proxy.order(*[faults.unavailable()] * 10)

    def work(number: int) -> list[int]:
        connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=20)
        statuses = []
        for turn in range(5):
            answer = get(connection, f"/{number}/{turn}")
            statuses.append(answer.status)
            if answer.status == 200:
                assert json.loads(answer.body)["path"] == f"/{number}/{turn}"
        connection.close()
        return statuses

    with ThreadPoolExecutor(8) as pool:
        statuses = [status for each in pool.map(work, range(8)) for status in each]
    assert (statuses.count(503), statuses.count(200)) == (10, 30)


def test_a_server_that_is_gone_is_a_502_with_a_reason(unused_port: int) -> None:
    with FaultProxy("127.0.0.1", unused_port) as proxy:
        connection = http.client.HTTPConnection(proxy.host, proxy.port, timeout=10)
        answer = get(connection)
        connection.close()
    assert (answer.status, b"could not reach" in answer.body) == (502, True)


def test_closing_the_proxy_frees_a_client_that_is_stalled(upstream: Upstream) -> None:
    proxy = FaultProxy("127.0.0.1", upstream.server_port).__enter__()
    proxy.order(faults.stalled())
    with socket.create_connection((proxy.host, proxy.port), timeout=20) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        eventually(lambda: proxy.seen)
        proxy.close()
        assert connection.recv(10) == b""


@pytest.fixture
def unused_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Shouter:
    """A raw server: repeats every line in capitals."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            try:
                for line in lines:
                    self.got.append(line)
                    connection.sendall(line.upper())
            except OSError:
                return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


@pytest.fixture
def shouter() -> Iterator[Shouter]:
    made = Shouter()
    yield made
    made.close()


@pytest.fixture
def raw(shouter: Shouter) -> Iterator[FaultProxy]:
    with FaultProxy("127.0.0.1", shouter.port, protocol="tcp") as made:
        yield made


@pytest.fixture
def line(raw: FaultProxy) -> Iterator[socket.socket]:
    with socket.create_connection((raw.host, raw.port), timeout=10) as made:
        yield made


def test_a_raw_connection_passes_several_turns(raw: FaultProxy, line: socket.socket) -> None:
    for word in (b"one\n", b"two\n", b"three\n"):
        line.sendall(word)
        assert line.recv(100) == word.upper()
    assert len(raw.seen) == 3


def test_a_raw_fault_meets_the_turn_that_is_its_own(raw: FaultProxy, line: socket.socket, shouter: Shouter) -> None:
    line.sendall(b"one\n")
    assert line.recv(100) == b"ONE\n"
    raw.order(faults.reset_before())
    line.sendall(b"two\n")
    with pytest.raises(ConnectionResetError):
        line.recv(100)
    assert shouter.got == [b"one\n"]


def test_a_raw_reset_after_loses_the_answer_of_what_was_done(
    raw: FaultProxy, line: socket.socket, shouter: Shouter
) -> None:
    raw.order(faults.reset_after())
    line.sendall(b"one\n")
    with pytest.raises(ConnectionResetError):
        line.recv(100)
    assert shouter.got == [b"one\n"]


def test_a_raw_answer_can_be_cut(raw: FaultProxy, line: socket.socket) -> None:
    raw.order(faults.truncated(keep=2))
    line.sendall(b"three\n")
    assert line.recv(100) == b"TH"
    assert line.recv(100) == b""


def test_a_raw_turn_can_be_late(raw: FaultProxy, line: socket.socket) -> None:
    raw.order(faults.latency(0.05))
    line.sendall(b"one\n")
    assert line.recv(100) == b"ONE\n"


@pytest.mark.parametrize("forward", [False, True])
def test_a_raw_connection_can_stall(raw: FaultProxy, line: socket.socket, shouter: Shouter, forward: bool) -> None:
    raw.order(faults.stalled(forward=forward))
    line.settimeout(0.3)
    line.sendall(b"one\n")
    with pytest.raises(TimeoutError):
        line.recv(100)
    if forward:
        arrived(shouter.got)
    else:
        assert shouter.got == []


@pytest.mark.parametrize("forward", [False, True])
def test_a_raw_connection_can_be_half_closed(
    raw: FaultProxy, line: socket.socket, shouter: Shouter, forward: bool
) -> None:
    raw.order(faults.half_closed(forward=forward))
    line.sendall(b"one\n")
    assert line.recv(100) == b""
    line.sendall(b"still here\n")
    assert len(shouter.got) == int(forward)


@pytest.mark.parametrize("fault", [faults.html(), faults.throttled(), faults.unavailable()])
def test_a_fault_of_http_is_refused_on_a_raw_connection(raw: FaultProxy, fault: faults.Fault) -> None:
    with pytest.raises(ValueError, match="is for HTTP"):
        raw.order(fault)
