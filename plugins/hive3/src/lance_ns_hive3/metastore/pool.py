"""A few connections for many threads, and what to do when one of them fails."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lance_ns.errors import ServiceUnavailable
from lance_ns_hive3.metastore import deadline, errors
from lance_ns_hive3.metastore.call import Call, T
from lance_ns_hive3.metastore.connection import Broken, Connection, failures
from lance_ns_hive3.metastore.failover import Servers
from lance_ns_hive3.metastore.settings import Settings


class Pool:
    """At most so many connections as the settings say. A connection belongs to one thread until its call is done."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._servers = Servers(settings.addresses)
        self._changed = threading.Condition()
        self._idle: list[Connection] = []
        self._taken = 0
        self._closed = False

    def ask(self, call: Call[T], *arguments: Any) -> T:
        """Make a call on a free connection.

        One that fails before an answer is made once more, on a new connection, if that is safe: if it may be repeated,
        or if the server cannot have got it. After a time-out it is not.

        Raises:
            ServiceUnavailable: no server can be reached, or none answered.
            OutcomeUnknown: the call may have been done or not.
            LanceNsError: what the metastore answered with.
        """
        request = call.request(*arguments)
        try:
            return self._ask_once(call, request)
        except Broken as broken:
            if _may_be_sent_again(call, broken):
                try:
                    return self._ask_once(call, request, fresh=True)
                except Broken as again:
                    broken = again
            raise errors.unanswered(
                call.name, broken.address, broken.cause, reached=broken.reached, changes=not call.repeatable
            ) from broken.cause

    def close(self) -> None:
        """Close all connections; those in use when their calls are done."""
        with self._changed:
            self._closed = True
        self._close_idle()

    def _ask_once(self, call: Call[T], request: bytes, *, fresh: bool = False) -> T:
        with self._connection(fresh=fresh) as connection:
            try:
                return connection.ask(call, request)
            except Broken:
                self._servers.failed(connection.address)
                raise

    @contextmanager
    def _connection(self, *, fresh: bool) -> Iterator[Connection]:
        connection = self._place_taken()
        try:
            if fresh and connection is not None:  # one has failed, so the others will
                connection.close()
                connection = None
                self._close_idle()
            while connection is not None and not connection.usable():
                connection.close()
                connection = self._idle_one()
            if connection is None:
                connection = self._connected()
            yield connection
        finally:
            self._give_back(connection)

    def _place_taken(self) -> Connection | None:
        """Wait until fewer connections than allowed are in use; the one that was used last, if any is idle."""
        allowed = self._settings.connections
        seconds = deadline.left(self._settings.wait_seconds)
        with self._changed:
            if not self._changed.wait_for(lambda: self._taken < allowed, seconds):
                raise ServiceUnavailable(
                    f"all {allowed} connections to the metastore were in use for {seconds:g} seconds",
                    hint="allow more by 'client.pool-size', or make fewer calls at once",
                )
            self._taken += 1
            return self._idle.pop() if self._idle else None

    def _idle_one(self) -> Connection | None:
        with self._changed:
            return self._idle.pop() if self._idle else None

    def _close_idle(self) -> None:
        while (each := self._idle_one()) is not None:
            each.close()

    def _connected(self) -> Connection:
        """A new connection, to the first server that takes one."""
        addresses = self._servers.in_order()
        last: Exception = OSError("no server is named")
        for address in addresses:
            connection = Connection(address, self._settings)
            try:
                connection.open()
            except Broken as broken:
                last = broken.cause
            except failures() as error:
                last = error
            except BaseException:
                connection.close()
                raise
            else:
                self._servers.worked(address)
                return connection
            connection.close()
            self._servers.failed(address)
        raise errors.unreachable(self._settings.addresses, last)

    def _give_back(self, connection: Connection | None) -> None:
        if connection is not None and not connection.sound:
            connection.close()
            connection = None
        with self._changed:
            self._taken -= 1
            if connection is not None and not self._closed:
                self._idle.append(connection)
                connection = None
            self._changed.notify()
        if connection is not None:
            connection.close()


def _may_be_sent_again(call: Call[Any], broken: Broken) -> bool:
    if isinstance(broken.cause, TimeoutError) or broken.answered:
        return False
    return call.repeatable or not broken.reached
