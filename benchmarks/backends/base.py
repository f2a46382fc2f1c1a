"""What the benchmarks must know of a backend."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from benchmarks.measure import Goal, at_least, at_most


class Listing(NamedTuple):
    """How the Lance tables among many are listed.

    Attributes:
        base: the raw client's method that ours is held to.
        goal: what ours may cost of it, where anything is said of that.
        against: what that method does.
        others: further methods of the raw client, shown beside it, by what they do.
        peer: the peer's method, and what we must gain over it.
        note: what one must know of the peer's.
    """

    base: str
    goal: Goal | None
    against: str
    others: Mapping[str, str] = {}
    peer: tuple[str, Goal | None] | None = None
    note: str = ""


class Adapter:
    """One backend: how to reach it raw, with ours and with the peer's, and what it is held to.

    Attributes:
        backend: the backend's name; the raw client is `clients/raw_NAME.py`.
        server: the server that is started for it, None where there is none.
        needs: the environment variables of which one must name a server that cannot be fetched.
        peer: the peer's class, None where it has none.
        cold: what a cold start must gain over the peer's.
        cold_note: what one must know of the peer's.
        listing: how tables are listed.
        pages: whether the catalog gives its tables in pages; elsewhere a listing holds all names.
        tables: how many tables the large namespace has; 0 leaves those figures out.
        writes: whether some of the mixed operations of threads write.
        threads_note: what one must know of the connection that the threads share.
    """

    backend: ClassVar[str]
    server: ClassVar[str | None]
    needs: ClassVar[tuple[str, ...]] = ()
    peer: ClassVar[str | None] = None
    cold: ClassVar[Goal | None] = at_least(10)
    cold_note: ClassVar[str] = ""
    listing: ClassVar[Listing] = Listing("count", at_most(1.3), "the raw client")
    pages: ClassVar[bool] = False
    tables: ClassVar[int] = 10_000
    writes: ClassVar[bool] = True
    threads_note: ClassVar[str] = ""

    def base(self, properties: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """The levels above a namespace."""
        return []

    def ours(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties for ours, where they say more than how to reach the server."""
        return dict(properties)

    def given(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties for the raw client, where it needs others."""
        return dict(properties)

    def peers(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """The properties for the peer, where it needs others."""
        return {key: str(value) for key, value in properties.items()}

    def peers_base(self, properties: Mapping[str, Any]) -> list[str]:
        """The levels above a namespace for the peer."""
        return self.base(properties)

    def why_not(self) -> str | None:
        """Why it cannot be measured on this machine."""
        if self.needs and not any(os.environ.get(name) for name in self.needs):
            return f"no server to be had: set {' or '.join(self.needs)}"
        return None
