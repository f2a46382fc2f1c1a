"""The parent of one server: ends it when nobody holds it any more, and never outlives it.

Run as a script, on its own, before anything of this package is imported: it must stay small.

    keeper.py RECORD HOLDERS -- COMMAND…
    keeper.py --with-parent -- COMMAND…     becomes the command, which ends when the starter does

`HOLDERS` is a directory; each file in it names a process (`pid:start`) on whose behalf the server runs, or is empty
for a server that was asked to stay. When no holder is left alive the server is ended: a test run that was killed
leaves nothing behind. Should the keeper itself be killed, the system ends the server (PR_SET_PDEATHSIG).
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import NoReturn

PR_SET_PDEATHSIG = 1
PATIENCE = 10.0
TURN = 0.25


def die_with_parent() -> None:
    """Ask the system to kill this process when its parent ends; only Linux can."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def start_of(pid: int) -> str | None:
    """When the process started, as a text that no later process with the same pid repeats; None if it does not run."""
    proc = Path("/proc")
    if not proc.joinpath("self").exists():
        with os.popen(f"ps -o lstart= -p {int(pid)}") as shown:
            return shown.read().strip().replace(" ", "-") or None
    try:
        fields = (
            proc.joinpath(str(pid), "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        )
    except OSError:
        return None
    if fields[0] in "ZX":
        return None
    boot = "boot"
    with contextlib.suppress(OSError):
        boot = proc.joinpath("sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()[:8]
    return f"{boot}-{fields[19]}"


def become(command: list[str]) -> NoReturn:
    """Turn this process into the command."""
    try:
        os.execvp(command[0], command)
    except OSError as problem:
        sys.stderr.write(f"cannot run {command[0]}: {problem.strerror}\n")
        os._exit(127)


def held(holders: Path) -> bool:
    """Whether anybody still wants the server."""
    with contextlib.suppress(OSError):
        for holder in holders.iterdir():
            with contextlib.suppress(OSError, ValueError):
                text = holder.read_text(encoding="utf-8").strip()
                if not text:
                    return True
                pid, _, start = text.partition(":")
                if start_of(int(pid)) == start:
                    return True
    return False


def child_ended(child: int) -> bool:
    """Whether the server has ended."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(child, os.WNOHANG)[0] == child
    return True


def main(arguments: list[str]) -> int:
    """Start the command and stay until it ends or nobody holds it."""
    split = arguments.index("--")
    command = arguments[split + 1 :]
    if arguments[0] == "--with-parent":
        die_with_parent()
        become(command)
    record, holders = Path(arguments[0]), Path(arguments[1])
    child = os.fork()
    if child == 0:
        die_with_parent()
        # Written by the server's own process, before it becomes the server: there is no moment without a record.
        partial = record.with_suffix(".partial")
        partial.write_text(f"{os.getpid()}:{start_of(os.getpid())}", encoding="utf-8")
        partial.replace(record)
        become(command)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while not child_ended(child):
        if not held(holders):
            os.kill(child, signal.SIGTERM)
            deadline = time.monotonic() + PATIENCE
            while not child_ended(child):
                if time.monotonic() > deadline:
                    os.kill(child, signal.SIGKILL)
                time.sleep(0.05)
            return 0
        time.sleep(TURN)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
