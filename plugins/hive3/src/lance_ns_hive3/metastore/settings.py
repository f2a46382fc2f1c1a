"""How to reach a metastore: plain values that can be pickled."""

from collections.abc import Callable
from typing import Any

import attrs

from lance_ns.tls import Tls

PORT = 9083


@attrs.frozen
class Address:
    """One metastore server."""

    host: str
    port: int = PORT

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


Negotiation = Callable[[Any, Address], Any]
"""Wraps a thrift transport, not yet open, in one that authenticates when it is opened."""


@attrs.frozen(kw_only=True)
class Settings:
    """How to reach a metastore, and how to behave there.

    Attributes:
        addresses: the servers of one metastore; any of them will do.
        connections: how many connections there are at most, for all threads together.
        connect_seconds: how long to wait for one server to take a connection.
        call_seconds: how long one call may take, from its first byte to the answer's last.
        wait_seconds: how long a thread waits for a connection while others use them all.
        idle_seconds: after how long unused a connection is not trusted any more: firewalls forget it silently.
        user: as whom the metastore shall act, where it believes its clients; none: as itself.
        groups: the groups of that user.
        tls: encrypts the connections.
        negotiate: where SASL goes. For Kerberos it is a function that returns
            `TSaslClientTransport(transport, address.host, "hive", mechanism="GSSAPI")`; it must be importable by name,
            for settings are pickled.
    """

    addresses: tuple[Address, ...]
    connections: int = 3
    connect_seconds: float = 10.0
    call_seconds: float = 60.0
    wait_seconds: float = 60.0
    idle_seconds: float = 60.0
    user: str | None = None
    groups: tuple[str, ...] = ()
    tls: Tls | None = None
    negotiate: Negotiation | None = None
