"""One holder at a time, between processes."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from servers.report import say


@contextlib.contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on `path`; the system drops it when the holder dies, however it dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process that works with {path.stem}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
