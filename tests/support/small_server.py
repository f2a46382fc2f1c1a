"""A small HTTP server for tests, on a free port of this machine: it answers as a function says, well or badly.

    with SmallServer(lambda asked: Reply(body={"ok": True})) as server:
        …
        assert [each.target for each in server.asked] == ["/v1/config"]

What the function returns is sent: a `Reply`, or trouble of one kind (`RESET`, `HANG_UP`, `STALL`, `Truncated`, `Drip`).
"""

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Asked:
    """A request that came: headers by lower-case names, those sent twice joined by a comma."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        """The body, decoded."""
        return json.loads(self.body)

    @property
    def token(self) -> str | None:
        """The bearer token, None if there is none."""
        kind, _, token = self.headers.get("authorization", "").partition(" ")
        return token if kind == "Bearer" else None


@dataclass(frozen=True)
class Reply:
    """What to answer; a body that is neither text nor bytes is sent as JSON."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    def content(self) -> bytes:
        """The body as it is sent."""
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class Trouble(Enum):
    """Ways not to answer."""

    RESET = auto()
    HANG_UP = auto()
    STALL = auto()


RESET, HANG_UP, STALL = Trouble


@dataclass(frozen=True)
class Truncated:
    """The beginning of an answer, though all of it was announced."""

    reply: Reply
    keep: int = 1


@dataclass(frozen=True)
class Drip:
    """An answer that comes byte by byte with a pause before each; with `chunked` none knows how long it will be."""

    body: bytes
    pause: float
    chunked: bool = False


Answer = Reply | Trouble | Truncated | Drip


class _Gone(Exception):
    """The client has left, or the server is closing."""


class SmallServer:
    """The server, to be used as a context manager; before, it refuses connections. With a `context` it speaks TLS."""

    def __init__(self, answer: Callable[[Asked], Answer], *, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[Asked] = []
        self.accepted = 0
        self.drops = 0
        self._answer = answer
        self._context = context
        self._closing = threading.Event()
        self._lock = threading.Lock()
        self._came = threading.Condition(self._lock)
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket()
        self._listener.bind(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        """Where it is."""
        return f"https://localhost:{self.port}" if self._context else f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._listener.listen(128)
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def seen(self, least: int) -> list[Asked]:
        """What came, when it is that many: a client that gave up may be ahead of us."""
        with self._came:
            self._came.wait_for(lambda: len(self.asked) >= least, timeout=30)
            return list(self.asked)

    def close(self) -> None:
        """End every connection and wait for the threads; the port refuses connections from then on."""
        self._closing.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            connections, threads = list(self._open), list(self._threads)
        for each in connections:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, name="small-server", daemon=True)
        with self._lock:
            self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.accepted += 1
                self._open.add(connection)
                number = self.accepted
            self._start(self._serve, connection, number)

    def _serve(self, connection: socket.socket, number: int) -> None:
        with contextlib.ExitStack() as stack:
            stack.enter_context(contextlib.suppress(_Gone, OSError))
            stack.callback(self._forget, connection)
            stack.callback(connection.close)
            talk = connection
            if self._context:
                talk = self._context.wrap_socket(connection, server_side=True)
                stack.callback(talk.close)
                with self._lock:
                    self._open.discard(connection)
                    self._open.add(talk)
                stack.callback(self._forget, talk)
            reading = stack.enter_context(talk.makefile("rb"))
            while asked := _read(reading, number):
                with self._came:
                    self.asked.append(asked)
                    self._came.notify_all()
                self._send(talk, asked, self._answer(asked))

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.discard(connection)

    def _send(self, talk: socket.socket, asked: Asked, answer: Answer) -> None:
        if isinstance(answer, Trouble):
            if answer is Trouble.STALL:
                self._closing.wait()
            elif answer is Trouble.RESET:
                # With this the system sends a reset instead of an orderly end.
                talk.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise _Gone
        if isinstance(answer, Drip):
            for part in _drops(answer):
                talk.sendall(part)
                self.drops += 1
                if self._closing.wait(answer.pause):
                    raise _Gone
            return
        reply = answer.reply if isinstance(answer, Truncated) else answer
        content = reply.content()
        kind = {} if isinstance(reply.body, str | bytes) else {"Content-Type": "application/json"}
        head = {**kind, "Content-Length": str(len(content)), **reply.headers}
        if reply.status == 204:
            head.pop("Content-Length")
        lines = [f"HTTP/1.1 {reply.status} Said", *(f"{name}: {value}" for name, value in head.items())]
        shown = b"" if asked.method == "HEAD" else content
        if isinstance(answer, Truncated):
            shown = shown[: answer.keep]
        talk.sendall("\r\n".join([*lines, "", ""]).encode("latin-1") + shown)
        if isinstance(answer, Truncated):
            raise _Gone


def _read(reading: Any, number: int) -> Asked | None:
    line = reading.readline()
    if line.count(b" ") < 2:
        return None
    method, target, _ = line.decode("latin-1").split(" ", 2)
    headers: dict[str, str] = {}
    while (line := reading.readline()).strip():
        name, _, value = line.decode("latin-1").partition(":")
        key = name.strip().lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return Asked(method, target, headers, reading.read(int(headers.get("content-length", "0"))), number)


def _drops(answer: Drip) -> Iterator[bytes]:
    length = "Transfer-Encoding: chunked" if answer.chunked else f"Content-Length: {len(answer.body)}"
    yield f"HTTP/1.1 200 Said\r\nContent-Type: application/json\r\n{length}\r\n\r\n".encode()
    for at in range(len(answer.body)):
        drop = answer.body[at : at + 1]
        yield b"1\r\n" + drop + b"\r\n" if answer.chunked else drop
    if answer.chunked:
        yield b"0\r\n\r\n"
