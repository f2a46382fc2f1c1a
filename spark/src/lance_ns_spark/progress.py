"""Progress of jobs: how much is done of how much, told while it happens."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import attrs


@attrs.frozen(kw_only=True)
class Status:
    """How far a part of a job is."""

    job: str
    """The kind of the job."""
    what: str
    """What is worked on, mostly a table."""
    done: int
    of: int
    unit: str = "tasks"
    rows: int = 0
    bytes: int = 0


class Progress(Protocol):
    """Whoever wants to be told; called from several threads."""

    def __call__(self, status: Status, /) -> None:
        """A part of a job came further."""


def silent(status: Status, /) -> None:
    """Tell nobody."""


class Counter:
    """Counts what is done in one part of a job, each item once even if a task is run twice."""

    def __init__(self, tell: Progress, job: str, what: str, of: int, unit: str = "tasks") -> None:
        self._tell = tell
        self._status = Status(job=job, what=what, done=0, of=of, unit=unit)
        self._seen: set[int] = set()
        tell(self._status)

    def add(self, number: int, *, rows: int = 0, bytes: int = 0) -> None:
        """An item is done."""
        if number in self._seen:
            return
        self._seen.add(number)
        self._status = attrs.evolve(
            self._status,
            done=len(self._seen),
            rows=self._status.rows + rows,
            bytes=self._status.bytes + bytes,
        )
        self._tell(self._status)


@contextmanager
def counting(tell: Progress, job: str, what: str, of: int, unit: str = "tasks") -> Iterator[Counter]:
    """A counter for one part of a job."""
    yield Counter(tell, job, what, of, unit)
