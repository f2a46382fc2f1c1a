"""Processes by identity: a pid alone is not one, since the system hands it out again."""

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from servers.keeper import start_of

# Every process of a server carries this variable, so that it is found even when its pid file is lost.
MARK_VARIABLE = "LANCE_NS_SERVERS_MARK"

_PROC = Path("/proc")
_PAGE_KIB = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True, slots=True)
class Identity:
    """A process: its pid and the moment it started, as the system words it."""

    pid: int
    start: str

    def alive(self) -> bool:
        """Whether that very process still runs (a zombie does not)."""
        return start_of(self.pid) == self.start

    def __str__(self) -> str:
        return f"{self.pid}:{self.start}"

    @classmethod
    def parse(cls, text: str) -> "Identity":
        """The inverse of `str`."""
        pid, _, start = text.strip().partition(":")
        return cls(int(pid), start)

    @classmethod
    def of(cls, pid: int) -> "Identity | None":
        """The identity of a running process, None where there is none."""
        start = start_of(pid)
        return None if start is None else cls(pid, start)

    @classmethod
    def current(cls) -> "Identity":
        """This process."""
        me = cls.of(os.getpid())
        if me is None:
            message = "this process is not listed by the system"
            raise RuntimeError(message)
        return me


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command's name, which may itself hold spaces and brackets."""
    try:
        text = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def marked(mark: str) -> list[Identity]:
    """Every process of this user that carries `mark` in its environment."""
    wanted = f"{MARK_VARIABLE}={mark}".encode()
    found: list[Identity] = []
    for entry in _PROC.glob("[0-9]*") if _PROC.joinpath("self").exists() else ():
        try:
            carries = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        identity = Identity.of(int(entry.name)) if carries else None
        if identity is not None:
            found.append(identity)
    return found


def memory_mib(processes: list[Identity]) -> int:
    """Resident memory of the processes together."""
    pages = 0
    for process in processes:
        fields = _stat_fields(process.pid)
        if fields is not None:
            pages += int(fields[21])
    return pages * _PAGE_KIB // 1024


def end(processes: list[Identity], patience: float = 10.0) -> None:
    """Ask the processes to end, wait, then insist; a pid that is no longer theirs is left alone."""
    for number, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
        left = [process for process in processes if process.alive()]
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, number)
        deadline = time.monotonic() + seconds
        while any(process.alive() for process in left) and time.monotonic() < deadline:
            time.sleep(0.05)


def holder_of_port(port: int) -> str | None:
    """Who listens on a TCP port, as far as this user may see: `pid 12 (java)`."""
    inodes = set()
    for table in ("net/tcp", "net/tcp6"):
        with contextlib.suppress(OSError):
            for line in (_PROC / table).read_text(encoding="utf-8").splitlines()[1:]:
                columns = line.split()
                if columns[3] == "0A" and int(columns[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{columns[9]}]")
    if not inodes:
        return None
    for entry in _PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for descriptor in (entry / "fd").iterdir():
                if str(descriptor.readlink()) in inodes:
                    name = (entry / "comm").read_text(encoding="utf-8").strip()
                    return f"pid {entry.name} ({name})"
    return None
