"""One connection: calls are sent and answered on it one after the other, by one thread at a time."""

import contextlib
import time
from typing import Any

from lance_ns_hive3.metastore import deadline, errors, transport
from lance_ns_hive3.metastore.call import SET_UGI, Call, T
from lance_ns_hive3.metastore.deadline import Timer
from lance_ns_hive3.metastore.settings import Address, Settings

_BUFFER = 64 * 1024
_LONGEST_LIST = 2**24
_REPLY, _EXCEPTION = 2, 3


class Broken(Exception):
    """The connection failed in mid-call.

    Attributes:
        address: where to.
        cause: how it failed.
        reached: whether the server may have got the whole request.
        answered: whether a part of the answer came.
    """

    def __init__(self, address: Address, cause: Exception, *, reached: bool, answered: bool = False) -> None:
        super().__init__(str(cause))
        self.address = address
        self.cause = cause
        self.reached = reached
        self.answered = answered


def failures() -> tuple[type[Exception], ...]:
    """What a transport raises when a connection fails."""
    from thrift.transport.TTransport import TTransportException

    return OSError, EOFError, TTransportException


class Connection:
    """A connection to one server. What is not sound after a call must not be used again."""

    def __init__(self, address: Address, settings: Settings) -> None:
        from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
        from thrift.transport.TTransport import TBufferedTransport

        self.address = address
        self._settings = settings
        self._timer = Timer()
        self._transport = transport.make(address, settings, self._timer)
        self._protocol = TBinaryProtocolAccelerated(
            TBufferedTransport(self._transport, _BUFFER), strictRead=True, container_length_limit=_LONGEST_LIST
        )
        self._sound = False
        self._last_used = 0.0

    def open(self) -> None:
        """Connect, and say as whom the metastore shall act."""
        self._timer.start(deadline.left(self._settings.connect_seconds))
        self._transport.open()
        self._sound = True
        self._last_used = time.monotonic()
        if self._settings.user is not None:
            self.ask(SET_UGI, SET_UGI.request(self._settings.user, list(self._settings.groups)))

    def close(self) -> None:
        """Disconnect."""
        self._sound = False
        with contextlib.suppress(*failures()):
            self._transport.close()

    @property
    def sound(self) -> bool:
        """Whether all that was asked has been answered."""
        return self._sound

    def usable(self) -> bool:
        """Whether it may be used once more: not idle for too long, and still open at the other end."""
        idle = time.monotonic() - self._last_used
        return self._sound and idle < self._settings.idle_seconds and bool(self._transport.isOpen())

    def ask(self, call: Call[T], request: bytes) -> T:
        """Send a call and wait for its answer.

        Raises:
            Broken: the connection failed.
            LanceNsError: the metastore raised an exception, or what it sent is no answer.
        """
        self._sound = False
        self._timer.start(deadline.left(self._settings.call_seconds))
        try:
            self._transport.write(request)
            self._transport.flush()
        except failures() as error:
            raise Broken(self.address, error, reached=False) from error
        kind = self._header(call)
        return self._body(call, kind)

    def _header(self, call: Call[Any]) -> int:
        """The kind of the answer."""
        try:
            name, kind, _ = self._protocol.readMessageBegin()
        except failures() as error:
            raise Broken(self.address, error, reached=True) from error
        except Exception as error:  # whatever decoding raises, it was no answer
            raise errors.not_understood(call.name, self.address, error) from error
        if name != call.name or kind not in (_REPLY, _EXCEPTION):
            raise errors.not_understood(call.name, self.address, ValueError(f"message {kind} {name[:100]!r}"))
        return int(kind)

    def _body(self, call: Call[T], kind: int) -> T:
        from thrift.Thrift import TApplicationException

        result, refusal = call.empty_result(), TApplicationException()
        try:
            (refusal if kind == _EXCEPTION else result).read(self._protocol)
            self._protocol.readMessageEnd()
        except failures() as error:
            raise Broken(self.address, error, reached=True, answered=True) from error
        except Exception as error:
            raise errors.not_understood(call.name, self.address, error) from error
        self._sound = True
        self._last_used = time.monotonic()
        if kind == _EXCEPTION:
            raise errors.refused(call.name, refusal.type, refusal.message)
        return call.answer(result)
