"""The servers of one metastore: which to try first."""

import random
import threading
import time
from collections.abc import Sequence

from lance_ns_hive3.metastore.settings import Address

REST_SECONDS = 30.0
"""How long a server that failed is tried after all others."""


class Servers:
    """Remembers which server worked last and which failed lately; safe for threads.

    The order is another one in every process, so that clients spread, also when a server dies under them.
    """

    def __init__(self, addresses: Sequence[Address]) -> None:
        self._lock = threading.Lock()
        self._addresses = random.sample(addresses, len(addresses))
        self._failed: dict[Address, float] = {}

    def in_order(self) -> list[Address]:
        """All servers: the one that worked last, the others, and at the end those that failed lately."""
        with self._lock:
            now = time.monotonic()
            return sorted(self._addresses, key=lambda each: now - self._failed.get(each, -REST_SECONDS) < REST_SECONDS)

    def worked(self, address: Address) -> None:
        """Go on with this one."""
        with self._lock:
            self._failed.pop(address, None)
            if self._addresses[0] != address:
                self._addresses.remove(address)
                self._addresses.insert(0, address)

    def failed(self, address: Address) -> None:
        """Try the others first for a while."""
        with self._lock:
            self._failed[address] = time.monotonic()
