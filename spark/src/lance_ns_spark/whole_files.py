"""Files that are there whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: str) -> Iterator[Path]:
    """A file to write, which takes another's place when it is whole, and is gone when writing it failed."""
    import os

    unfinished = Path(f"{path}.{os.getpid()}.unfinished")
    unfinished.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
