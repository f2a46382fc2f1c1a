"""The cache of fetched artifacts: complete or absent, and checked before every use."""

import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from servers.errors import FetchFailed
from servers.locks import file_lock
from servers.report import say
from servers.tools import no_space

MANIFEST = "manifest.json"


def sha256_of(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_manifest(directory: Path) -> None:
    """Note size and checksum of every file, so that a later loss is noticed."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file() and path.name != MANIFEST]
    entries = {str(path.relative_to(directory)): [path.stat().st_size, sha256_of(path)] for path in files}
    (directory / MANIFEST).write_text(json.dumps(entries, indent=0), encoding="utf-8")


def damage(directory: Path) -> str | None:
    """What is wrong with a cache entry; None for a sound one."""
    try:
        entries = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "its manifest is missing or unreadable"

    def check(entry: tuple[str, list[object]]) -> str | None:
        name, (size, checksum) = entry
        path = directory / name
        try:
            if path.stat().st_size != size:
                return f"{name} has another size than when it was fetched"
            return None if sha256_of(path) == checksum else f"{name} has another checksum than when it was fetched"
        except OSError:
            return f"{name} is missing"

    with ThreadPoolExecutor(2) as pool:
        return next((problem for problem in pool.map(check, entries.items()) if problem), None)


def verify_pins(directory: Path, pins: Mapping[str, str]) -> None:
    """Compare the fetched files with the checksums in the table of versions."""
    for name, expected in pins.items():
        path = directory / name
        if not path.exists():
            message = f"{name} was not among the fetched files: the table of versions and the fetch disagree."
            raise FetchFailed(message)
        actual = sha256_of(path)
        if actual != expected:
            message = (
                f"{name} has the checksum {actual}, and {expected} is pinned: the file was damaged or replaced on its "
                f"way here. It is not used; remove it from your package client's own cache and try again."
            )
            raise FetchFailed(message)


class Cache:
    """Artifacts by key; a key changes with everything that the artifact depends on."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._sound: set[str] = set()

    def obtain(
        self,
        key: str,
        fetch: Callable[[Path], None],
        *,
        mib: int = 0,
    ) -> Path:
        """The directory of an artifact: as it was fetched once, else fetched now (by one process at a time)."""
        entry = self.directory / key
        partial = self.directory / f"{key}.partial"
        if key in self._sound and entry.exists():
            return entry
        try:
            with file_lock(self.directory / f"{key}.lock"):
                if entry.exists():
                    problem = damage(entry)
                    if problem is None:
                        self._sound.add(key)
                        return entry
                    say(f"{key}: the cached copy is damaged ({problem}); fetching it again")
                    shutil.rmtree(entry)
                shutil.rmtree(partial, ignore_errors=True)
                self._check_space(key, mib)
                partial.mkdir(parents=True)
                try:
                    fetch(partial)
                    write_manifest(partial)
                    partial.replace(entry)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
                self._sound.add(key)
                return entry
        except OSError as problem_:
            raise FetchFailed(self._explain(key, problem_)) from problem_

    def _check_space(self, key: str, mib: int) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.directory).free // 2**20
        if free < mib:
            message = f"{key} needs {mib} MiB on disk: {no_space(self.directory)}"
            raise FetchFailed(message)

    def _explain(self, key: str, problem: OSError) -> str:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            return f"{key}: {no_space(self.directory)}"
        reason = problem.strerror or str(problem)
        return (
            f"{key}: the cache directory {self.directory} cannot be used: {reason}. Make it writable, or let "
            f"LANCE_NS_SERVERS_CACHE name another."
        )


def key_of(name: str, *ingredients: str) -> str:
    """A cache key: readable, and different whenever an ingredient is."""
    return f"{name}-{hashlib.sha256('|'.join(ingredients).encode()).hexdigest()[:10]}"
