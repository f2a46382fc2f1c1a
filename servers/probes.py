"""Ready checks: each makes a real call and says what it saw when the answer is not the right one."""

import contextlib
import json
import socket
import struct
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import client
from typing import Any

from servers.errors import NotReady

# The servers are on this machine: a proxy from the environment must not stand between.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def http(
    url: str,
    *,
    method: str = "GET",
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 5.0,
) -> tuple[int, bytes]:
    """Status and body of one request, whatever the status."""
    request = urllib.request.Request(url, data=body, headers=dict(headers or {}), method=method)
    try:
        with _direct.open(request, timeout=timeout) as response:
            return int(response.status), response.read()
    except urllib.error.HTTPError as problem:
        with problem:
            return problem.code, problem.read()
    except client.HTTPException as problem:
        # An answer that is not HTTP: for a caller that is no other trouble than a broken connection.
        message = f"{url} did not answer in HTTP: {problem!r}"
        raise ConnectionError(message) from problem


def http_json(
    url: str, document: object = None, *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[int, Any]:
    """Status and decoded body of one JSON request; None for a body that is not JSON."""
    body = None if document is None else json.dumps(document).encode()
    extra = {"Content-Type": "application/json"} if body is not None else {}
    status, answer = http(url, method=method, body=body, headers={**extra, **(headers or {})}, timeout=30.0)
    with contextlib.suppress(ValueError):
        return status, json.loads(answer)
    return status, None


def expect_ok(url: str, *, headers: Mapping[str, str] | None = None, json_body: bool = True) -> None:
    """A GET that answers 200, by default with a JSON body."""
    try:
        status, answer = http(url, headers=headers)
        if status != 200:
            message = f"GET {url} answered {status}"
            raise NotReady(message)
        if json_body:
            json.loads(answer)
    except (OSError, ValueError) as problem:
        message = f"GET {url}: {problem}"
        raise NotReady(message) from problem


# The binary protocol of Thrift, as far as a call without arguments needs it.
_VERSION_CALL, _REPLY, _STRUCT, _LIST, _STRING, _STOP = 0x80010001, 2, 12, 15, 11, 0


def metastore_catalogs(host: str, port: int, timeout: float = 5.0) -> list[str]:
    """The names of a Hive Metastore's catalogs: a real `get_catalogs`, written by hand to need no Thrift library."""
    method = b"get_catalogs"
    call = struct.pack(">Ii", _VERSION_CALL, len(method)) + method + struct.pack(">ib", 1, _STOP)
    try:
        with socket.create_connection((host, port), timeout=timeout) as connection:
            connection.sendall(call)
            stream = connection.makefile("rb")

            def read(form: str) -> int:
                wanted = struct.calcsize(form)
                data = stream.read(wanted)
                if len(data) < wanted:
                    message = "the connection was closed within the answer"
                    raise NotReady(message)
                return int(struct.unpack(form, data)[0])

            kind = read(">I") & 0xFF
            stream.read(read(">i"))
            read(">i")
            # The answer is a struct whose field 0 is a struct whose field 1 is the list of names.
            if kind != _REPLY or (read(">b"), read(">h"), read(">b"), read(">h")) != (_STRUCT, 0, _LIST, 1):
                message = "get_catalogs was answered with an error"
                raise NotReady(message)
            if read(">b") != _STRING:
                message = "get_catalogs answered something that is not a list of names"
                raise NotReady(message)
            return [stream.read(read(">i")).decode() for _ in range(read(">i"))]
    except OSError as problem:
        message = f"get_catalogs at {host}:{port}: {problem}"
        raise NotReady(message) from problem
