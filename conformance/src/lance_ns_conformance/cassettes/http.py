"""HTTP, by vcrpy: it stands between urllib3, botocore, http.client and others and their sockets. The rest is ours."""

import gzip
import logging
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from http import HTTPStatus
from typing import Any
from unittest import mock
from urllib.parse import parse_qsl, urlsplit

from lance_ns_conformance.cassettes import bodies
from lance_ns_conformance.cassettes.form import Interaction
from lance_ns_conformance.cassettes.scrubbing import KEPT_OF_REQUESTS, KEPT_OF_RESPONSES, kept_headers, scrubbed
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.cassettes.walking import short
from lance_ns_conformance.stand_in import is_own
from lance_ns_conformance.subject import Description

_REQUEST, _RESPONSE = {"method", "uri", "headers", *bodies.KINDS}, {"status", "headers", *bodies.KINDS}


@contextmanager
def intercepted(tape: Recorder | Player, _: Description) -> Iterator[None]:
    """Everything that is sent meanwhile, by any thread, goes through the tape."""
    from vcr import patch  # type: ignore[import-untyped]

    with ExitStack() as stack:
        stack.enter_context(_quiet())
        # Each new connection would unpatch all of them for a moment, and requests of other threads slip through.
        stack.enter_context(mock.patch.object(patch, "force_reset", nullcontext))
        inserted = _Recording(tape) if isinstance(tape, Recorder) else _Playing(tape)
        for patcher in patch.CassettePatcherBuilder(inserted).build():
            stack.enter_context(patcher)
        yield


def comparable(request: dict[str, Any]) -> dict[str, Any]:
    """The fields in which a request must be as it was recorded. Host and authentication are not among them."""
    clean = scrubbed(request)
    address = urlsplit(clean["uri"])
    target = next((value for name, value in clean.get("headers", {}).items() if name.lower() == "x-amz-target"), None)
    return {
        "method": clean["method"],
        "path": address.path or "/",
        "query": dict(sorted(_query(address.query).items())),
        "target": target,
        "body": {kind: clean[kind] for kind in bodies.KINDS if kind in clean},
    }


def line(interaction: Interaction) -> str:
    """An interaction on one line."""
    request, response = interaction["request"], interaction["response"]
    target = request.get("headers", {}).get("X-Amz-Target")
    sent = " ".join([request["method"], request["uri"], *([target] if target else []), *_body(request)])
    return f"{sent} → {' '.join([str(response['status']), *_body(response)])}" if response else sent


def fault(interaction: Interaction) -> str | None:
    """What is wrong with a stored interaction, or None."""
    for part, known, needed, kind in (
        ("request", _REQUEST, "method", str),
        ("request", _REQUEST, "uri", str),
        ("response", _RESPONSE, "status", int),
    ):
        stored = interaction[part]
        if set(stored) - known:
            return f"its {part} has unknown fields: {', '.join(sorted(map(str, set(stored) - known)))}"
        if not isinstance(stored.get(needed), kind):
            return f"its {part} has no {needed}"
        headers = stored.get("headers", {})
        if not isinstance(headers, dict) or not all(isinstance(each, str) for each in headers.values()):
            return f"its {part} has headers that are no texts"
        if wrong := bodies.fault(stored):
            return f"its {part} {wrong}"
    return None


class _Inserted:
    """What vcrpy's connections ask a cassette for. What goes to a stand-in of the kit's own passes by."""

    skip_patchers = ()
    custom_patches = ()
    _path = ""

    def filter_request(self, request: Any) -> Any:
        return None if _to_stand_in(request) else request


class _Recording(_Inserted):
    write_protected = False

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def can_play_response_for(self, _: Any) -> bool:
        return False

    def append(self, request: Any, response: dict[str, Any]) -> None:
        if not _to_stand_in(request):
            self._recorder.add(_request(request), _response(response))


class _Playing(_Inserted):
    write_protected = True  # nothing is ever sent

    def __init__(self, player: Player) -> None:
        self._player = player

    def can_play_response_for(self, request: Any) -> bool:
        return not _to_stand_in(request)  # or it is an error of ours

    def append(self, *_: Any) -> None:
        """What a stand-in answered is not kept."""

    def play_response(self, request: Any) -> dict[str, Any]:
        stored = self._player.play(_request(request))
        code = stored["status"]
        message = HTTPStatus(code).phrase if code in HTTPStatus.__members__.values() else ""
        return {
            "status": {"code": code, "message": message},
            "headers": {name: [value] for name, value in stored.get("headers", {}).items()},
            "body": {"string": bodies.sent(stored)},
        }


def _to_stand_in(request: Any) -> bool:
    return request.host == "127.0.0.1" and is_own(request.port)


def _request(request: Any) -> dict[str, Any]:
    body = request.body_bytes or b""
    return _message({"method": request.method, "uri": request.uri}, request.headers, KEPT_OF_REQUESTS, body)


def _response(response: dict[str, Any]) -> dict[str, Any]:
    body = _unpacked(response["headers"], response["body"]["string"])
    return _message({"status": response["status"]["code"]}, response["headers"], KEPT_OF_RESPONSES, body)


def _message(fields: dict[str, Any], headers: Any, kept: tuple[str, ...], body: bytes) -> dict[str, Any]:
    found = kept_headers(headers, kept)
    kind = next((value for name, value in found.items() if name.lower() == "content-type"), "")
    return {**fields, **({"headers": found} if found else {}), **bodies.shown(bytes(body), kind)}


def _unpacked(headers: dict[str, Any], body: bytes) -> bytes:
    """The body as it was before it was compressed; some clients have unpacked it already."""
    encodings = [
        str(value) for name, values in headers.items() if name.lower() == "content-encoding" for value in values
    ]
    try:
        if "gzip" in encodings and body[:2] == b"\x1f\x8b":
            return gzip.decompress(body)
        if "deflate" in encodings:
            return zlib.decompress(body)
    except (OSError, EOFError, zlib.error):
        pass  # kept as it came
    return body


def _query(query: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(name, []).append(value)
    return found


def _body(message: dict[str, Any]) -> list[str]:
    return [short(message[kind], 400) for kind in bodies.KINDS if kind in message]


@contextmanager
def _quiet() -> Iterator[None]:
    """vcrpy logs whole messages, with all that authenticates."""
    logger = logging.getLogger("vcr")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
