"""Things that may be shared by threads but not by processes: clients, pools, connections."""

import os
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

_all: "weakref.WeakSet[PerProcess[object]]" = weakref.WeakSet()
_parents: list[object] = []  # never used, and never let go: ending a parent's connection is not the child's to do


class PerProcess(Generic[T]):
    """A value made when it is first asked for, once however many threads ask, and again in a forked child.

    A child must not use its parent's sockets, and cannot use a lock that another thread held at the fork.
    """

    def __init__(self, make: Callable[[], T], dispose: Callable[[T], None] | None = None) -> None:
        self._make = make
        self._dispose = dispose
        self._reset()
        _all.add(self)  # type: ignore[arg-type]

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._value: list[T] = []

    def __call__(self) -> T:
        """The value, made if need be. What its making raises is raised, and the next call tries again."""
        held = self._value
        if held:
            return held[0]
        with self._lock:
            if not self._value:
                self._value = [self._make()]
            return self._value[0]

    def close(self) -> None:
        """Dispose of the value, if it was made."""
        with self._lock:
            held, self._value = self._value, []
        if held and self._dispose is not None:
            self._dispose(held[0])


def _forget_the_parents() -> None:
    for each in list(_all):
        _parents.extend(each._value)  # noqa: SLF001
        each._reset()  # noqa: SLF001


os.register_at_fork(after_in_child=_forget_the_parents)
