"""No network while a recording is played: whoever tries to connect is told so at once."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from lance_ns_conformance.cassettes.form import CassetteError
from lance_ns_conformance.stand_in import is_own

_LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo")
_HERE = ("127.0.0.1", "::1", "localhost")


class NetworkBlocked(CassetteError):
    """Something tried to reach the network while a recording was played."""


@contextmanager
def blocked(note: Callable[[CassetteError], None] = lambda _: None) -> Iterator[None]:
    """Refuse every connection and every look-up of a name, from any thread.

    Sockets without a network, and the kit's own stand-ins, stay usable.

    Args:
        note: is told of every attempt, for the code that made it may swallow the error.
    """

    def refused(what: str) -> NetworkBlocked:
        error = NetworkBlocked(f"{what} while a recording is played, where there is no network")
        note(error)
        return error

    def guarded(name: str) -> Callable[..., Any]:
        original = getattr(socket.socket, name)

        def connect(self: socket.socket, address: Any) -> Any:
            if self.family == getattr(socket, "AF_UNIX", None) or (address[0] in _HERE and is_own(address[1])):
                return original(self, address)
            self.close()  # whoever made it expects an OSError, and would leave it open
            raise refused(f"connecting to {address!r}")

        return connect

    def unless_here(name: str) -> Callable[..., Any]:
        original = getattr(socket, name)

        def look_up(host: Any, *arguments: Any, **keywords: Any) -> Any:
            if host in _HERE or (isinstance(host, tuple) and host[0] in _HERE):
                return original(host, *arguments, **keywords)  # needs no network
            raise refused(f"looking up {host!r}")

        return look_up

    with ExitStack() as patches:
        for name in ("connect", "connect_ex"):
            patches.enter_context(mock.patch.object(socket.socket, name, guarded(name)))
        for name in _LOOKUPS:
            patches.enter_context(mock.patch.object(socket, name, unless_here(name)))
        yield
