"""The way to a server: a socket, TLS, and what authenticates, as a transport that thrift's codec can use.

Every transport is made by `make`. Under `transports(wrap)` it is `wrap` of what it would have been: a recorder stands
there, or a player that needs no network, since nothing is connected before `open`.
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from lance_ns.tls import Tls
from lance_ns_hive3.metastore.deadline import Timer
from lance_ns_hive3.metastore.settings import Address, Settings

Wrap = Callable[[Any], Any]

_wraps: list[Wrap] = []


def make(address: Address, settings: Settings, timer: Timer) -> Any:
    """A transport to a server, not yet open; the timer says how long each of its steps may take."""
    transport: Any = SocketTransport(address, settings.tls, timer)
    if settings.negotiate is not None:
        transport = settings.negotiate(transport, address)
    for wrap in _wraps:
        transport = wrap(transport)
    return transport


@contextmanager
def transports(wrap: Wrap) -> Iterator[None]:
    """Let every transport that is made meanwhile, in whatever thread, be `wrap(transport)`."""
    _wraps.append(wrap)
    try:
        yield
    finally:
        _wraps.remove(wrap)


class SocketTransport:
    """A connected socket with thrift's interface, hence its names.

    Thrift's own `TSocket` and `TSSLSocket` have one time-out for connecting and reading, which starts anew with every
    byte, and they print what failed on standard error.
    """

    def __init__(self, address: Address, tls: Tls | None, timer: Timer) -> None:
        self._address = address
        self._tls = tls
        self._timer = timer
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Connect."""
        try:
            raw = socket.create_connection((self._address.host, self._address.port), timeout=self._timer.left())
        except UnicodeError as error:
            raise OSError(f"{self._address.host!r} is not the name of a host") from error
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if self._tls is not None:
                context = self._tls.context()
                raw.settimeout(self._timer.left())
                raw = context.wrap_socket(raw, server_hostname=self._address.host)
        except BaseException:
            raw.close()
            raise
        self._socket = raw

    def isOpen(self) -> bool:  # noqa: N802
        """Whether the server is still there, as far as can be seen without asking it."""
        if self._socket is None:
            return False
        try:
            self._socket.settimeout(0)
            # Below TLS: whatever has come unasked, the end above all, means that this connection is done.
            socket.socket.recv(self._socket, 1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def close(self) -> None:
        """Disconnect."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def read(self, size: int) -> bytes:
        """What has come, at most `size` bytes and at least one."""
        data = self._ready().recv(size)
        if not data:
            raise EOFError
        return data

    def readAll(self, size: int) -> bytes:  # noqa: N802
        """Exactly `size` bytes."""
        parts = []
        while size > 0:
            parts.append(self.read(size))
            size -= len(parts[-1])
        return b"".join(parts)

    def write(self, data: bytes) -> None:
        """Send. What raises here has not sent all of it."""
        self._ready().sendall(data)

    def flush(self) -> None:
        """Nothing is held back."""

    def _ready(self) -> socket.socket:
        if self._socket is None:
            raise EOFError
        self._socket.settimeout(self._timer.left())
        return self._socket
