"""How long things may take: a time for each step, and one for all calls of an operation together."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from lance_ns.errors import ServiceUnavailable

_end: ContextVar[float | None] = ContextVar("lance_ns_hive3.metastore.end", default=None)


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """All calls made inside together take no longer than this, nor than what an outer operation has left."""
    outer = _end.get()
    end = time.monotonic() + seconds
    mark = _end.set(end if outer is None else min(end, outer))
    try:
        yield
    finally:
        _end.reset(mark)


@contextmanager
def grace(seconds: float) -> Iterator[None]:
    """What must be tidied up gets some time of its own, even when the operation has none left."""
    mark = _end.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(mark)


def left(limit: float) -> float:
    """The seconds that a step may take: its own limit, or what the operation has left of its time.

    Raises:
        ServiceUnavailable: the operation has no time left.
    """
    end = _end.get()
    if end is None:
        return limit
    remaining = end - time.monotonic()
    if remaining <= 0:
        raise ServiceUnavailable("the operation took too long", hint="try again later, or allow it more time")
    return min(limit, remaining)


class Timer:
    """The time that one step on a connection has, from its start on."""

    def __init__(self) -> None:
        self._end = 0.0

    def start(self, seconds: float) -> None:
        """Begin a step."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """The seconds that the step has left.

        Raises:
            TimeoutError: it has none.
        """
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            raise TimeoutError
        return remaining
