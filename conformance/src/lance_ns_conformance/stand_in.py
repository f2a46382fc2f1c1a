"""A server of the kit's own that stands where a catalog should be, and answers what no catalog can be made to answer.

It listens on this machine only. Recorder and network block leave it alone, so that it works in every mode.
"""

import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import attrs

_own: set[int] = set()


def is_own(port: int) -> bool:
    """Whether a port of this machine is a stand-in's, or was."""
    return port in _own


@attrs.frozen
class Asked:
    """A request that came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@attrs.frozen
class Reply:
    """What to answer; a body that is no text is sent as JSON."""

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = attrs.field(factory=dict)
    after: threading.Event | None = None


class StandIn:
    """An HTTP server that answers as a function says, and remembers what was asked."""

    def __init__(self, answer: Callable[[Asked], Reply]) -> None:
        self.seen: list[Asked] = []
        self._server = _server(answer, self.seen)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="stand-in", daemon=True)

    @property
    def port(self) -> int:
        """The port on this machine."""
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        _own.add(self.port)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()  # the port stays known: a call to a server that is gone must really be refused


def _server(answer: Callable[[Asked], Reply], seen: list[Asked]) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            asked = Asked(self.command, self.path, dict(self.headers.items()), self.rfile.read(length))
            seen.append(asked)
            reply = answer(asked)
            if reply.after is not None:
                reply.after.wait(timeout=60)
            text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            body = b"" if reply.body is None else text.encode()
            kind = "text/html" if text.startswith("<") else "application/json"
            self.send_response(reply.status)
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                return  # the client gave up, which some scenarios are about

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    return server
