"""A proxy between a client and a server that makes trouble on order.

    with FaultProxy("127.0.0.1", port) as proxy:
        proxy.order(reset_after(), throttled(retry_after="1"))
        …  # the first request is done and its answer lost, the second is refused, all others pass

Faults are used up in order, one for a request; when none is left, requests pass. A fault with a `when` waits for a
request that it is meant for. `protocol="http"` sees single requests, also on connections that are kept open;
`protocol="tcp"` takes what a client sends between two answers for one request, which fits Thrift.
"""

import contextlib
import http.client
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

Kind = Literal["latency", "reset", "truncated", "html", "status", "stall", "half-close"]
When = Callable[["Seen"], bool]

_HTTP_ONLY = ("html", "status")
_CHUNK = 65536


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of trouble for one request; `forward` tells whether the server gets the request before."""

    kind: Kind
    forward: bool = False
    seconds: float = 0.0
    keep: int | None = None
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    when: When | None = None


def latency(seconds: float, *, when: When | None = None) -> Fault:
    """The request waits, then passes."""
    return Fault("latency", forward=True, seconds=seconds, when=when)


def reset_before(*, when: When | None = None) -> Fault:
    """The connection is reset; the server never saw the request."""
    return Fault("reset", when=when)


def reset_after(*, when: When | None = None) -> Fault:
    """The connection is reset when the server has answered: done, but the client cannot know."""
    return Fault("reset", forward=True, when=when)


def truncated(keep: int | None = None, *, when: When | None = None) -> Fault:
    """The answer's body stops after `keep` bytes (half of it by default), though its length was announced."""
    return Fault("truncated", forward=True, keep=keep, when=when)


def html(*, forward: bool = False, when: When | None = None) -> Fault:
    """A page for people with status 200, as gateways and login walls send it."""
    return Fault("html", forward=forward, when=when)


def throttled(retry_after: str | None = None, *, when: When | None = None) -> Fault:
    """429, with or without Retry-After."""
    headers = () if retry_after is None else (("Retry-After", retry_after),)
    return Fault("status", status=429, headers=headers, when=when)


def unavailable(retry_after: str | None = None, *, forward: bool = False, when: When | None = None) -> Fault:
    """503, with or without Retry-After."""
    headers = () if retry_after is None else (("Retry-After", retry_after),)
    return Fault("status", forward=forward, status=503, headers=headers, when=when)


def stalled(*, forward: bool = False, when: When | None = None) -> Fault:
    """No answer and no end: the connection stays open until the client gives up."""
    return Fault("stall", forward=forward, when=when)


def half_closed(*, forward: bool = False, when: When | None = None) -> Fault:
    """The client sees the end of the stream instead of an answer, while its own sending still works."""
    return Fault("half-close", forward=forward, when=when)


@dataclass(slots=True)
class Seen:
    """A request that came by; on `tcp` without method and target."""

    method: str = ""
    target: str = ""
    fault: Fault | None = None
    forwarded: bool = False


class _Gone(Exception):
    """The client has left, or the proxy is closing."""


@dataclass(slots=True)
class _Request:
    seen: Seen
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    keep_alive: bool = True


class FaultProxy:
    """A proxy on a free port of this machine, to be used as a context manager; safe for any number of threads."""

    def __init__(self, host: str, port: int, *, protocol: Literal["http", "tcp"] = "http") -> None:
        self.upstream = (host, port)
        self.protocol = protocol
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._seen: list[Seen] = []
        self._closing = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.host, self.port = self._listener.getsockname()[:2]

    @property
    def url(self) -> str:
        """The address of the proxy for an HTTP client."""
        return f"http://{self.host}:{self.port}"

    def order(self, *faults: Fault) -> None:
        """Add faults after those that are still to come."""
        if self.protocol == "tcp":
            for fault in faults:
                if fault.kind in _HTTP_ONLY:
                    message = f"a raw connection has no {fault.kind}: that fault is for HTTP"
                    raise ValueError(message)
        with self._lock:
            self._faults.extend(faults)

    def clear(self) -> None:
        """Let everything pass from now on, and forget what was seen."""
        with self._lock:
            self._faults.clear()
            self._seen.clear()

    @property
    def pending(self) -> int:
        """How many faults are still to come."""
        with self._lock:
            return len(self._faults)

    @property
    def seen(self) -> Sequence[Seen]:
        """The requests that came by, in order."""
        with self._lock:
            return list(self._seen)

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End every connection, also the stalled ones, and wait for the threads."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            sockets, threads = list(self._sockets), list(self._threads)
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True, name="fault-proxy")
        with self._lock:
            self._threads = [each for each in self._threads if each.is_alive() or not each.ident]
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._start(self._serve, client)

    @contextlib.contextmanager
    def _tracked(self, each: socket.socket) -> Iterator[None]:
        with self._lock:
            self._sockets.add(each)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.discard(each)
            each.close()

    def _serve(self, client: socket.socket) -> None:
        with self._tracked(client), contextlib.suppress(_Gone, OSError):
            if self.protocol == "http":
                _HttpConnection(self, client).run()
            else:
                self._serve_tcp(client)

    def fault_for(self, seen: Seen) -> Fault | None:
        """Note a request, and use up the first fault that is meant for it."""
        with self._lock:
            self._seen.append(seen)
            for fault in self._faults:
                if fault.when is None or fault.when(seen):
                    self._faults.remove(fault)
                    seen.fault = fault
                    return fault
            return None

    def _connect(self) -> socket.socket:
        return socket.create_connection(self.upstream, timeout=10)

    def _serve_tcp(self, client: socket.socket) -> None:
        upstream = self._connect()
        upstream.settimeout(None)
        with self._tracked(upstream):
            answered, fault, seen = True, None, Seen()
            while not self._closing.is_set():
                ready, _, _ = select.select([client, upstream], [], [], 0.2)
                if client in ready:
                    data = client.recv(_CHUNK)
                    if not data:
                        return
                    if answered:
                        answered, seen = False, Seen()
                        fault = self.fault_for(seen)
                        self.before(fault, client)
                    seen.forwarded = True
                    upstream.sendall(data)
                if upstream in ready:
                    data = upstream.recv(_CHUNK)
                    answered = True
                    if fault is not None:
                        self.instead_of(fault, client, data)
                        fault = None
                    if not data:
                        return
                    client.sendall(data)

    def before(self, fault: Fault | None, client: socket.socket) -> None:
        """Make the trouble that comes before the server sees anything."""
        if fault is None:
            return
        if fault.kind == "latency":
            if self._closing.wait(fault.seconds):
                raise _Gone
        elif not fault.forward:
            self._trouble(fault, client)

    def instead_of(self, fault: Fault, client: socket.socket, answer: bytes) -> None:
        """Make the trouble that comes instead of the server's answer."""
        if fault.kind == "truncated":
            client.sendall(answer[: len(answer) // 2 if fault.keep is None else fault.keep])
            raise _Gone
        if fault.kind != "latency":
            self._trouble(fault, client)

    def _trouble(self, fault: Fault, client: socket.socket) -> None:
        if fault.kind == "reset":
            # With this the system sends a reset instead of an orderly end.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        elif fault.kind == "stall":
            self._swallow(client)
        elif fault.kind == "half-close":
            client.shutdown(socket.SHUT_WR)
            self._swallow(client)
        raise _Gone

    def _swallow(self, client: socket.socket) -> None:
        """Read and ignore until the client leaves."""
        while not self._closing.is_set():
            ready, _, _ = select.select([client], [], [], 0.2)
            if ready and not client.recv(_CHUNK):
                return


class _HttpConnection:
    """One client's connection: requests one after the other."""

    def __init__(self, proxy: FaultProxy, client: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._buffer = b""

    def run(self) -> None:
        """Serve requests until the client leaves or trouble ends the connection."""
        while True:
            request = self._read()
            fault = self._proxy.fault_for(request.seen)
            self._answer(request, fault)
            if not request.keep_alive:
                return

    def _answer(self, request: _Request, fault: Fault | None) -> None:
        proxy = self._proxy
        if fault is not None and fault.kind in _HTTP_ONLY:
            if fault.forward:
                self._forward(request)
            self._send(*_made_up(fault), method=request.seen.method)
            return
        proxy.before(fault, self._client)
        status, reason, headers, body = self._forward(request)
        if fault is not None and fault.kind == "truncated":
            keep = len(body) // 2 if fault.keep is None else fault.keep
            self._send(status, reason, headers, body, method=request.seen.method, keep=keep)
            raise _Gone
        if fault is not None:
            proxy.instead_of(fault, self._client, b"")
        self._send(status, reason, headers, body, method=request.seen.method)

    def _read(self) -> _Request:
        while b"\r\n\r\n" not in self._buffer:
            self._fill()
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, version = lines[0].split(" ", 2)
        headers = [(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])]
        known = {name.lower(): value for name, value in headers}
        if known.get("expect", "").lower() == "100-continue":
            self._client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in known.get("transfer-encoding", "").lower():
            body = self._read_chunks()
        else:
            body = self._take(int(known.get("content-length", "0")))
        keep_alive = known.get("connection", "").lower() != "close" and version.strip() == "HTTP/1.1"
        return _Request(Seen(method, target), headers, body, keep_alive)

    def _fill(self) -> None:
        data = self._client.recv(_CHUNK)
        if not data:
            raise _Gone
        self._buffer += data

    def _take(self, count: int) -> bytes:
        while len(self._buffer) < count:
            self._fill()
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _read_chunks(self) -> bytes:
        body = b""
        while True:
            while b"\r\n" not in self._buffer:
                self._fill()
            line, _, self._buffer = self._buffer.partition(b"\r\n")
            size = int(line.split(b";")[0], 16)
            body += self._take(size)
            self._take(2)
            if size == 0:
                return body

    def _forward(self, request: _Request) -> tuple[int, str, list[tuple[str, str]], bytes]:
        proxy = self._proxy
        connection = http.client.HTTPConnection(*proxy.upstream, timeout=60)
        try:
            connection.putrequest(request.seen.method, request.seen.target, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers:
                if name.lower() not in ("connection", "transfer-encoding", "content-length", "expect"):
                    connection.putheader(name, value)
            if request.body or request.seen.method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(request.body)))
            connection.putheader("Connection", "close")
            connection.endheaders(request.body or None)
            request.seen.forwarded = True
            response = connection.getresponse()
            body = response.read()
            return response.status, response.reason, response.getheaders(), body
        except (OSError, http.client.HTTPException) as problem:
            text = f"the fault proxy could not reach its server: {problem!r}\n".encode()
            return 502, "Bad Gateway", [("Content-Type", "text/plain")], text
        finally:
            connection.close()

    def _send(
        self,
        status: int,
        reason: str,
        headers: list[tuple[str, str]],
        body: bytes,
        *,
        method: str,
        keep: int | None = None,
    ) -> None:
        kept = [
            f"{name}: {value}"
            for name, value in headers
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "keep-alive")
        ]
        announced = next((value for name, value in headers if name.lower() == "content-length"), "0")
        if status not in (204, 304):
            kept.append(f"Content-Length: {announced if method == 'HEAD' else len(body)}")
        head = "\r\n".join([f"HTTP/1.1 {status} {reason}", *kept]) + "\r\n\r\n"
        self._client.sendall(head.encode("latin-1") + (body if keep is None else body[:keep]))


def _made_up(fault: Fault) -> tuple[int, str, list[tuple[str, str]], bytes]:
    if fault.kind == "html":
        page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please sign in.</body></html>"
        return 200, "OK", [("Content-Type", "text/html; charset=utf-8")], page
    reason = {429: "Too Many Requests", 503: "Service Unavailable"}[fault.status]
    return fault.status, reason, [("Content-Type", "text/plain"), *fault.headers], f"{reason}\n".encode()
