"""The server: moto's application behind a thin layer for sessions, faults, the S3 lock and the control route."""

import io
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app

from servers.shim.glue import Catalogs, GluePatches
from servers.shim.pages import Pager
from servers.shim.script import Fault, Script, fault_from
from servers.shim.sessions import EXPIRED, Sessions

CONTROL = "/_control/"

Environ = dict[str, Any]
StartResponse = Callable[..., Any]

_CREDENTIAL = re.compile(r"Credential=([^/,\s]+)/[^/]+/[^/]+/([^/]+)/")
_ANSWERS = {
    "throttling": (400, "ThrottlingException", "Rate exceeded"),
    "internal": (500, "InternalServiceException", "An internal error has occurred"),
    "timeout": (400, "OperationTimeoutException", "The operation timed out"),
}
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 500: "Internal Server Error"}


class Shim:
    """A WSGI application around moto's."""

    def __init__(self) -> None:
        self.pager, self.sessions, self.catalogs, self.script = Pager(), Sessions(), Catalogs(), Script()
        self._patches = GluePatches(self.pager, self.sessions, self.catalogs)
        self._patches.apply()
        self._moto: Any = DomainDispatcherApplication(create_backend_app)
        self._s3_lock = threading.Lock()

    def close(self) -> None:
        """Put moto back as it was."""
        self._patches.undo()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        path = str(environ.get("PATH_INFO", ""))
        if path.startswith(CONTROL):
            return self._control(path.removeprefix(CONTROL), environ, start_response)
        target = str(environ.get("HTTP_X_AMZ_TARGET", ""))
        if target.startswith("AWSGlue."):
            return self._glue(target.removeprefix("AWSGlue."), environ, start_response)
        if environ["REQUEST_METHOD"] in ("PUT", "POST", "DELETE") and _credential(environ)[1] == "s3":
            return self._s3_write(environ, start_response)
        return self._pass_on(environ, start_response)

    def _pass_on(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        answer: Iterable[bytes] = self._moto(environ, start_response)
        return answer

    def _s3_write(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """One write at a time: moto looks and then writes, and between the two another writer could win as well."""
        # Read before the lock is taken: a slow sender must not keep the others waiting.
        environ["wsgi.input"] = io.BytesIO(_body(environ))
        with self._s3_lock:
            return [_whole(self._pass_on(environ, start_response))]

    def _glue(self, operation: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        fault = self.script.next_for(operation)
        if fault is not None and fault.kind in _ANSWERS:
            return _error(start_response, *_ANSWERS[fault.kind])
        if fault is not None and fault.kind == "delay":
            time.sleep(fault.seconds)
        if fault is not None and fault.kind == "drop-before":
            _drop(environ)
        access_key, _ = _credential(environ)
        code = self.sessions.problem_with(access_key, environ.get("HTTP_X_AMZ_SECURITY_TOKEN"))
        if code is not None:
            state = "expired" if code == EXPIRED else "invalid"
            return _error(start_response, 400, code, f"The security token included in the request is {state}")
        return self._spoil(fault, environ, start_response)

    def _spoil(self, fault: Fault | None, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """The real answer, lost or cut short where a fault says so."""
        if fault is None or fault.kind not in ("drop-after", "truncated"):
            return self._pass_on(environ, start_response)
        body = _whole(self._pass_on(environ, start_response))
        if fault.kind == "drop-after":
            _drop(environ)
        # The header has promised the whole of it.
        return [body[: len(body) // 2]]

    def _control(self, route: str, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        try:
            sent = json.loads(_body(environ) or b"{}")
            answer = self._command(method, route, sent)
        except (ValueError, KeyError, TypeError) as problem:
            return _json(start_response, 400, {"message": str(problem)})
        if answer is None:
            return _json(start_response, 404, {"message": f"there is no {method} {CONTROL}{route}"})
        return _json(start_response, 200, answer)

    def _command(self, method: str, route: str, sent: dict[str, Any]) -> dict[str, Any] | None:
        match method, route:
            case "GET", "faults":
                return self.script.show()
            case "POST", "faults":
                self.script.add([fault_from(each) for each in sent["faults"]])
            case "DELETE", "faults":
                self.script.clear()
            case "POST", "catalogs":
                self.catalogs.add(str(sent["catalog_id"]))
            case "POST", "paging":
                self.pager.ragged = bool(sent["ragged"])
            case "POST", "sessions":
                seconds = sent["seconds"]
                self.sessions.shorten(None if seconds is None else float(seconds))
            case "DELETE", "sessions":
                self.sessions.expire()
            case _:
                return None
        return {}


def _body(environ: Environ) -> bytes:
    stream = environ["wsgi.input"]
    if environ.get("wsgi.input_terminated"):
        return bytes(stream.read())
    return bytes(stream.read(int(environ.get("CONTENT_LENGTH") or 0)))


def _whole(answer: Iterable[bytes]) -> bytes:
    """The whole of an answer; WSGI wants its iterable closed."""
    try:
        return b"".join(answer)
    finally:
        close = getattr(answer, "close", None)
        if close is not None:
            close()


def _credential(environ: Environ) -> tuple[str, str]:
    """Access key and service of a signed request."""
    found = _CREDENTIAL.search(str(environ.get("HTTP_AUTHORIZATION", "")))
    return (found.group(1), found.group(2)) if found else ("", "s3")


def _drop(environ: Environ) -> None:
    """Close the connection without an answer."""
    connection = environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        connection.shutdown(socket.SHUT_RDWR)
    message = "dropped on purpose"
    raise ConnectionAbortedError(message)


def _error(start_response: StartResponse, status: int, code: str, message: str) -> list[bytes]:
    return _json(start_response, status, {"__type": code, "message": message}, "application/x-amz-json-1.1")


def _json(
    start_response: StartResponse, status: int, document: dict[str, Any], kind: str = "application/json"
) -> list[bytes]:
    body = json.dumps(document).encode()
    start_response(f"{status} {_REASONS[status]}", [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [body]
