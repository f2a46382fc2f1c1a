"""Journals: what a job has moved so far, on the driver's disk, so that the same job need not do it again.

A journal is a directory with a plan and a line for each split that is done. A run that dies leaves it; the next run of
the same job takes over the splits whose files are still there. It belongs to one run at a time.
"""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from lance_ns_spark.arrow_files import Split
from lance_ns_spark.commits import Written

_PLAN = "plan.json"
_DONE = "done.jsonl"
_LOCK = "lock"


@attrs.frozen
class Moved:
    """What a task made of a split."""

    written: Written
    checksum: str | None = None
    """Of the rows that were read, where what was written has been read again and has the same."""


def directory_of(job: str, state: str | os.PathLike[str] | None = None) -> Path:
    """The directory of a job's own state, in the one given or else in the user's cache directory."""
    if state is None:
        base = os.environ.get("XDG_CACHE_HOME")
        state = (Path(base) if base else Path.home() / ".cache") / "lance-ns" / "jobs"
    name = hashlib.sha256(job.encode()).hexdigest()[:32]  # ids have characters that names of files do not have
    return Path(state).absolute() / name


class Journal:
    """The splits of one job, and what was made of those that are done, by their numbers."""

    def __init__(self, directory: Path | None, splits: Sequence[Split], done: dict[int, Moved]) -> None:
        self.splits = splits
        self.done = done
        self._noting = threading.Lock()
        self._lines = None if directory is None else (directory / _DONE).open("a", encoding="utf-8")
        self._directory = directory

    @property
    def is_kept(self) -> bool:
        """Whether another run will find what is noted here."""
        return self._lines is not None

    def note(self, number: int, moved: Moved) -> bool:
        """A split is done: on the disk, when this returns. False if it was already."""
        with self._noting:
            if number in self.done:
                return False
            self.done[number] = moved
            if self._lines is not None:
                self._lines.write(_line(number, moved))
                self._lines.flush()
                os.fsync(self._lines.fileno())
        return True

    def forget(self) -> None:
        """The job is over: nothing is left to take over."""
        self.close()
        if self._directory is not None:
            (self._directory / _PLAN).unlink(missing_ok=True)

    def close(self) -> None:
        """Note nothing any more."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None


@contextmanager
def opened(
    directory: Path | None,
    key: str,
    plan: Callable[[], Sequence[Split]],
    are_there: Callable[[Sequence[Written]], Sequence[bool]],
) -> Iterator[Journal]:
    """A job's journal: the one that an earlier run left, if it was about the same, or else a new one.

    Args:
        directory: where it is kept, or None to keep none. While another run of the job uses it, none is kept.
        key: what the job is about; a journal with another key is of no use.
        plan: makes the splits, where there is no journal.
        are_there: tells which of the things that were written are still there.
    """
    with _locked(directory) as kept:
        earlier = None if kept is None else _earlier(kept, key, are_there)
        splits, done = earlier or (plan(), {})
        if kept is not None:
            _replace(kept / _DONE, "".join(_line(number, moved) for number, moved in done.items()))
            _replace(kept / _PLAN, json.dumps({"key": key, "splits": [attrs.asdict(split) for split in splits]}))
        journal = Journal(kept, splits, done)
        try:
            yield journal
        finally:
            journal.close()


def forget(directory: Path | None) -> None:
    """Remove the journal of a job that turned out to be done, unless a run uses it."""
    if directory is not None and directory.exists():
        with _locked(directory) as kept:
            if kept is not None:
                (kept / _PLAN).unlink(missing_ok=True)


def _earlier(
    directory: Path, key: str, are_there: Callable[[Sequence[Written]], Sequence[bool]]
) -> tuple[Sequence[Split], dict[int, Moved]] | None:
    try:
        plan = json.loads((directory / _PLAN).read_text(encoding="utf-8"))
        lines = (directory / _DONE).read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, ValueError):
        return None
    if plan["key"] != key:
        return None
    done: dict[int, Moved] = {}
    for line in lines:
        with suppress(ValueError):  # the last line of a run that died may be half a line
            number, moved = json.loads(line)
            done[number] = _moved(moved)
    there = are_there([moved.written for moved in done.values()])
    splits = [
        Split(tuple((name, tuple(groups)) for name, groups in split["parts"]), split["rows"], split["bytes"])
        for split in plan["splits"]
    ]
    return splits, {number: done[number] for number, kept in zip(list(done), there, strict=True) if kept}


def _line(number: int, moved: Moved) -> str:
    return json.dumps([number, attrs.asdict(moved)]) + "\n"


def _moved(plain: dict[str, Any]) -> Moved:
    written = plain["written"]
    return Moved(Written(tuple(written["fragments"]), written["rows"], written["bytes"]), plain["checksum"])


@contextmanager
def _locked(directory: Path | None) -> Iterator[Path | None]:
    """The directory, while no other run has it, and None otherwise. Without a plan in it, it is removed at the end."""
    import fcntl

    if directory is None:
        yield None
        return
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (directory / _LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            ours = (directory / _LOCK).stat().st_ino == os.fstat(lock.fileno()).st_ino
        except OSError:
            ours = False  # another run has it, or has just removed it
        if not ours:
            yield None
            return
        try:
            yield directory
        finally:
            if not (directory / _PLAN).exists():
                shutil.rmtree(directory, ignore_errors=True)


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is either as before or complete."""
    unfinished = path.with_name(path.name + ".new")
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
