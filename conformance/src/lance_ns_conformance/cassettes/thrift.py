"""Thrift: transports that record calls and their answers, or answer as was recorded.

A plugin offers the seam in its conformance module, and needs no import of the kit for it:

    @contextmanager
    def transports(wrap):
        ...  # meanwhile every transport that a new connection makes, in any thread, is `wrap(transport)`

`wrap` gets a transport with thrift's interface that is not open yet, and gives another one that the connection uses in
its place, directly or in a buffer. What lies below it (TLS, SASL) is not seen; it speaks the binary protocol, unframed.
One request is what is written before a flush; an answer is one whole message. Arguments that differ between machines
must come from properties: a plugin that sends the name of the user takes it from one, and PROPERTIES sets it.
"""

import builtins
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

from thrift.transport.TTransport import CReadableTransport, TTransportBase, TTransportException

from lance_ns_conformance.cassettes.binary import EXCEPTION, ONEWAY, REPLY, Message, decoded, encoded
from lance_ns_conformance.cassettes.form import CassetteError, Interaction
from lance_ns_conformance.cassettes.scrubbing import scrubbed
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.cassettes.walking import short
from lance_ns_conformance.subject import Description

_FAILURES = (OSError, EOFError, TTransportException)
_ANSWERS = {"reply": REPLY, "exception": EXCEPTION}


@contextmanager
def intercepted(tape: Recorder | Player, description: Description) -> Iterator[None]:
    """Every connection that is made meanwhile goes through the tape."""
    if description.transports is None:
        raise CassetteError(
            f"the conformance module of {description.backend} has no `transports`, so nothing is recorded"
        )
    wrap: Callable[[Any], Any] = (
        (lambda transport: recording_transport(transport, tape))
        if isinstance(tape, Recorder)
        else (lambda transport: replaying_transport(transport, tape))
    )
    with description.transports(wrap):
        yield


def recording_transport(transport: Any, recorder: Recorder) -> Any:
    """A transport that does what another one does, and keeps what goes by."""
    return _Recording(transport, recorder)


def replaying_transport(transport: Any, player: Player) -> Any:
    """A transport that stands for another one, which is never opened, and answers as was recorded."""
    return _Replaying(transport, player)


def comparable(request: dict[str, Any]) -> dict[str, Any]:
    """The fields in which a request must be as it was recorded."""
    clean = scrubbed(request)
    return {"call": clean["call"], "arguments": clean["arguments"]}


def line(interaction: Interaction) -> str:
    """An interaction on one line."""
    request, response = interaction["request"], interaction["response"]
    sent = f"{request['call']} {short(request['arguments'], 400)}"
    return f"{sent} → {short(response, 400)}" if response else sent


def fault(interaction: Interaction) -> str | None:
    """What is wrong with a stored interaction, or None."""
    request, response = interaction["request"], interaction["response"]
    if set(request) != {"call", "arguments"} or not isinstance(request["call"], str):
        return "its request is not a call with arguments"
    answers = set(response) - {"fails"}
    if len(response) > 1 or answers - set(_ANSWERS):
        return f"its response has unknown fields, or several: {', '.join(map(str, response))}"
    try:
        for fields in (request["arguments"], *(response[each] for each in answers)):
            encoded(Message("", REPLY, 0, fields))
        if "fails" in response:
            _failure(response["fails"])
    except (KeyError, TypeError, ValueError) as error:
        return str(error)
    return None


class _Transport(TTransportBase, CReadableTransport):  # type: ignore[misc]
    """What both kinds share: requests are gathered until a flush, answers lie in a buffer that C code reads too."""

    def __init__(self, transport: Any) -> None:
        self._inner = transport
        self._written = bytearray()
        self._buffer = BytesIO()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def read(self, size: int) -> bytes:
        """What there is of an answer, at most so many bytes."""
        found = self._buffer.read(size)
        if not found and size > 0:
            self._buffer = BytesIO(self._answer())
            found = self._buffer.read(size)
        return found

    @property
    def cstringio_buf(self) -> BytesIO:
        """The buffer, for thrift's C code."""
        return self._buffer

    def cstringio_refill(self, partial: bytes, needed: int) -> BytesIO:
        """The buffer with what was read of it, and at least so many bytes."""
        while len(partial) < needed:
            partial += self._answer()
        self._buffer = BytesIO(partial)
        return self._buffer

    def _asked(self) -> Message:
        """The request that was written."""
        content = BytesIO(bytes(self._written))
        self._written.clear()
        return decoded(content.read)

    def _answer(self) -> bytes:
        raise NotImplementedError


class _Recording(_Transport):
    def __init__(self, transport: Any, recorder: Recorder) -> None:
        super().__init__(transport)
        self._recorder = recorder
        self._request: dict[str, Any] | None = None

    def isOpen(self) -> bool:  # noqa: N802
        return bool(self._inner.isOpen())

    def open(self) -> None:
        self._inner.open()

    def close(self) -> None:
        self._inner.close()

    def write(self, data: bytes) -> None:
        self._written += data

    def flush(self) -> None:
        content = bytes(self._written)
        asked = self._asked()
        request = {"call": asked.name, "arguments": asked.fields}
        try:
            self._inner.write(content)
            self._inner.flush()
        except _FAILURES as error:
            self._recorder.add(request, {"fails": _described(error, "flush")})
            raise
        if asked.kind == ONEWAY:
            self._recorder.add(request, {})
        else:
            self._request = request

    def _answer(self) -> bytes:
        taken = bytearray()

        def take(size: int) -> bytes:
            found: bytes = self._inner.readAll(size)
            taken.extend(found)
            return found

        try:
            answer = decoded(take)
        except _FAILURES as error:
            self._keep({"fails": _described(error, "read")})
            raise
        self._keep({"exception" if answer.kind == EXCEPTION else "reply": answer.fields})
        return bytes(taken)

    def _keep(self, response: dict[str, Any]) -> None:
        if self._request is not None:
            self._recorder.add(self._request, response)
            self._request = None


class _Replaying(_Transport):
    def __init__(self, transport: Any, player: Player) -> None:
        super().__init__(transport)
        self._player = player
        self._is_open = False
        self._next: bytes | Exception | None = None

    def isOpen(self) -> bool:  # noqa: N802
        return self._is_open

    def open(self) -> None:
        self._is_open = True

    def close(self) -> None:
        self._is_open = False
        self._next = None

    def write(self, data: bytes) -> None:
        self._written += data

    def flush(self) -> None:
        if not self._is_open:
            raise TTransportException(TTransportException.NOT_OPEN, "the transport is not open")
        asked = self._asked()
        response = self._player.play({"call": asked.name, "arguments": asked.fields})
        if "fails" in response:
            self._next = _failure(response["fails"])
            if response["fails"]["at"] == "flush":
                raise self._next
        for kind, number in _ANSWERS.items():
            if kind in response:
                self._next = encoded(Message(asked.name, number, asked.number, response[kind]))

    def _answer(self) -> bytes:
        found, self._next = self._next, None
        if found is None:
            raise EOFError("nothing was asked")
        if isinstance(found, Exception):
            raise found
        return found


def _described(error: Exception, at: str) -> dict[str, Any]:
    """A failure of a connection as plain data; messages of the system are not the same everywhere."""
    if isinstance(error, TTransportException):
        return {"at": at, "kind": "TTransportException", "type": error.type}
    kind = type(error).__name__ if hasattr(builtins, type(error).__name__) else "OSError"
    return {"at": at, "kind": kind}


def _failure(said: dict[str, Any]) -> Exception:
    """The failure that was recorded."""
    message = "the connection failed when this was recorded"
    failure: Exception
    if said["kind"] == "TTransportException":
        failure = TTransportException(said["type"], message)
        return failure
    kind = getattr(builtins, said["kind"], None)
    if not (isinstance(kind, type) and issubclass(kind, OSError | EOFError)):
        raise ValueError(f"{said['kind']!r} is no failure of a connection")
    failure = kind(message)
    return failure
