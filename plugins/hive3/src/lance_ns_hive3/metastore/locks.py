"""The metastore's own locks, so that who reads, changes and writes back a table is alone in doing so.

They are kept in the metastore's database and hold among all its clients that ask for them, on every version of Hive and
in every process. Nobody is forced to ask: a client that does not is not kept out.

A lock that is taken is not queued for with `check_lock`, as Hive's own client does it: on Derby that call and `lock` of
Hive 4 wait for each other until all connections to the database are used up. Who finds it taken withdraws, and comes
back when nobody holds it. The threads of one process take turns before that, and ask one at a time, whatever the table.
"""

import logging
import random
import re
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from weakref import WeakValueDictionary

import attrs

from lance_ns.errors import ConcurrentModification, LanceNsError
from lance_ns.perprocess import PerProcess
from lance_ns_hive3.metastore import deadline
from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.client import Metastore
from lance_ns_hive3.metastore.errors import OutcomeUnknown
from lance_ns_hive3.metastore.names import DEFAULT_CATALOG, qualified

WAIT_SECONDS = 60.0
ABANDONED_SECONDS = 300.0
"""After how long without a sign of life the lock of a client of ours counts as left behind; Hive's own time-out. Hive
itself removes such locks only where its compactor is switched on, which it is not by default."""

_AGENT = "lance-ns "
_TIDY_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 0.5
_ASK_AGAIN = 5.0
"""After how many seconds a lock is asked for though somebody seems to hold it: to see whether that one still lives."""
# The columns that hold these have 128 characters, and Hive 3 writes the values into its SQL without quoting them.
_PLAIN = re.compile(r"[a-z0-9_.@#-]{1,128}")

_log = logging.getLogger(__name__)


@attrs.frozen
class Lock:
    """A lock that we hold."""

    id: int
    _metastore: Metastore

    def confirm(self) -> None:
        """Make sure that the lock is still held, and keep it: to be called right before the change is written.

        Raises:
            NoSuchLock: it is gone, after a pause of minutes; somebody else may have changed the table.
        """
        self._metastore.heartbeat(self.id)


@contextmanager
def table_lock(
    metastore: Metastore,
    catalog: str,
    database: str,
    table: str,
    *,
    seconds: float = WAIT_SECONDS,
    abandoned_seconds: float = ABANDONED_SECONDS,
) -> Iterator[Lock]:
    """Hold the lock on a table, whether it exists or not. It is given up at the end, however the end comes.

    Raises:
        ConcurrentModification: somebody else held it all the time.
        ServiceUnavailable: the metastore cannot be reached.
    """
    end = time.monotonic() + seconds
    names = _lock_names(catalog, database, table)
    shown = f"{catalog}.{database}.{table}"
    claim = _Claim(metastore, names, shown=shown, abandoned_seconds=abandoned_seconds)
    with _turn(metastore, *names, shown=shown, seconds=max(0.0, seconds)):
        try:
            yield Lock(claim.acquired(end), metastore)
        finally:
            claim.give_up()


def process_turn(
    metastore: Metastore, catalog: str, database: str, table: str, *, seconds: float
) -> AbstractContextManager[None]:
    """Take turns with the other threads of this process alone; the metastore is not asked.

    Raises:
        ConcurrentModification: another thread had its turn all the time.
    """
    names = _lock_names(catalog, database, table)
    return _turn(metastore, *names, shown=f"{catalog}.{database}.{table}", seconds=seconds)


@contextmanager
def _turn(metastore: Metastore, *of: str, shown: str, seconds: float) -> Iterator[None]:
    turn = _turns().of((metastore.settings.addresses, *of))
    if not turn.acquire(timeout=deadline.left(seconds)):
        raise _taken(shown, "another thread of this process")
    try:
        yield
    finally:
        turn.release()


def _taken(shown: str, holder: str) -> ConcurrentModification:
    return ConcurrentModification(f"the lock on {shown} is held by {holder}", hint="try again later")


class _Claim:
    """A lock that is wanted, and then held."""

    def __init__(self, metastore: Metastore, names: tuple[str, str], *, shown: str, abandoned_seconds: float) -> None:
        self._metastore = metastore
        self._names = names
        self._shown = shown
        self._abandoned_seconds = abandoned_seconds
        self._mark = f"{_AGENT}{_identity[-1].mark()}"
        self._id: int | None = None
        self._lost = False

    def acquired(self, end: float) -> int:
        """The number of the lock, as soon as it is ours."""
        while True:
            answer = self._asked_for()
            if answer.state == s.LockState.ACQUIRED and answer.lock_id is not None:
                return answer.lock_id
            holders = self._without_abandoned()
            self.give_up()
            self._wait_until_free(min(end, time.monotonic() + _ASK_AGAIN))
            if time.monotonic() >= end:
                raise _taken(self._shown, " and ".join(holders) or "somebody else")

    def give_up(self) -> None:
        """Remove the lock, also one of which only the metastore knows that it is there."""
        try:
            with deadline.grace(_TIDY_SECONDS):
                ours = [self._id]
                if self._lost:
                    ours = [each.lock_id for each in self._on_table() if each.agent_info == self._mark]
                for lock_id in ours:
                    if lock_id is not None:
                        with self._one_call():
                            self._metastore.unlock(lock_id)
                self._id = None
        except LanceNsError as error:
            # What was done under the lock is done: this must not look like its failure.
            _log.warning("the metastore's lock on %s could not be given up: %s", self._shown, error)

    def _asked_for(self) -> s.LockResponse:
        database, table = self._names
        component = s.LockComponent(
            type=s.LockType.EXCLUSIVE,
            level=s.LockLevel.TABLE,
            db_name=database,
            table_name=table,
            operation_type=s.DataOperation.NO_TXN,
            is_transactional=False,
        )
        request = s.LockRequest(
            component=[component], user=_identity[-1].user(), hostname=_identity[-1].host(), agent_info=self._mark
        )
        try:
            with self._one_call():
                answer = self._metastore.lock(request)
        except OutcomeUnknown:
            self._lost = True
            raise
        self._id = answer.lock_id
        return answer

    def _one_call(self) -> AbstractContextManager[None]:
        """One call about locks at a time: each takes several of the metastore's few connections to its database, and
        more than a handful of them would wait for each other until they all fail."""
        return _turn(self._metastore, shown=self._shown, seconds=self._metastore.settings.call_seconds)

    def _wait_until_free(self, end: float) -> None:
        pause = _FIRST_PAUSE
        while (left := end - time.monotonic()) > 0:
            # Not all at once: who withdrew together would come back together.
            time.sleep(deadline.left(min(left, pause * random.uniform(0.5, 1.5))))  # noqa: S311
            if not self._on_table():
                return
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _on_table(self) -> list[s.HeldLock]:
        return self._metastore.show_locks(*self._names)

    def _without_abandoned(self) -> list[str]:
        """Remove what clients of ours have left behind, while our own lock tells the time; who holds the others."""
        locks = self._on_table()
        now = max((each.last_heartbeat or 0 for each in locks if each.lock_id == self._id), default=0)
        holders = []
        for each in locks:
            if each.lock_id is None or each.lock_id == self._id:
                continue
            silent = (now - (each.last_heartbeat or 0)) / 1000
            agent = each.agent_info or ""
            if agent == self._mark or (agent.startswith(_AGENT) and silent > self._abandoned_seconds):
                _log.warning("removing a lock on %s that %s@%s left behind", self._shown, each.user, each.hostname)
                self._metastore.unlock(each.lock_id)
            elif each.state == s.LockState.ACQUIRED:
                holders.append(f"{each.user}@{each.hostname}")
        return holders


class _Turns:
    """One lock of this process for each lock of the metastore that somebody here wants."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._known: WeakValueDictionary[object, threading.Semaphore] = WeakValueDictionary()

    def of(self, key: object) -> threading.Semaphore:
        with self._guard:
            found = self._known.get(key)
            if found is None:
                found = self._known[key] = threading.Semaphore()
            return found


_turns = PerProcess(_Turns)


def _lock_names(catalog: str, database: str, table: str) -> tuple[str, str]:
    """Database and table as locks name them.

    A lock knows no catalog: it stands in the database's name, except for Hive's own, whose locks are those of Hive.
    """
    catalog, database, table = catalog.lower(), database.lower(), table.lower()
    return _plain(database if catalog == DEFAULT_CATALOG else qualified(catalog, database)), _plain(table)


def _plain(text: str) -> str:
    if _PLAIN.fullmatch(text):
        return text
    from hashlib import sha256

    return f"lance-ns-{sha256(text.encode()).hexdigest()}"


class _Ourselves:
    """Who asks for a lock: the user and the host for people, and a mark that nobody else has."""

    def user(self) -> str:
        import getpass

        try:
            return _plain(getpass.getuser().lower())
        except (OSError, KeyError):  # a user without a name, as in some containers
            return "unknown"

    def host(self) -> str:
        import socket

        return _plain(socket.gethostname().lower())

    def mark(self) -> str:
        from uuid import uuid4

        return uuid4().hex


class _Known(_Ourselves):
    """Somebody who is called the same on every machine."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers = count(1)

    def user(self) -> str:
        return self._name

    def host(self) -> str:
        return self._name

    def mark(self) -> str:
        return f"{self._name} {next(self._numbers)}"


_identity: list[_Ourselves] = [_Ourselves()]


@contextmanager
def known_as(name: str) -> Iterator[None]:
    """Ask for locks under a name that is the same on every machine, so that what is sent can be recorded."""
    known = _Known(name)
    _identity.append(known)
    try:
        yield
    finally:
        _identity.remove(known)
