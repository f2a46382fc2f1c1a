"""Runs the ordinary package clients (Maven, Go, Cargo) and turns their failures into messages."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers import keeper
from servers.errors import FetchFailed, Missing
from servers.report import Progress

NETWORK_SIGNS = re.compile(
    r"unknown ?host|unknownhost|could not transfer|could not resolve host|connection refused|connection timed out|"
    r"network is unreachable|no route to host|name resolution|dial tcp|failed to download|download of config\.json|"
    r"proxyconnect|spurious network error|connect timed out|temporary failure|i/o timeout|offline mode",
    re.IGNORECASE,
)
SPACE_SIGNS = re.compile(r"no space left on device|disk quota exceeded|not enough space|errno 28", re.IGNORECASE)

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")

HINTS = {
    "mvn": "Apache Maven (on Debian: apt-get install maven)",
    "go": "Go (on Debian: apt-get install golang)",
    "cargo": "Cargo with a recent Rust (rustup, or on Debian: apt-get install cargo)",
}


def require(server: str, tool: str) -> str:
    """The path of a tool, or a message that says what to install."""
    found = shutil.which(tool)
    if found is None:
        message = f"{server} needs {HINTS.get(tool, tool)}: `{tool}` is not on the PATH."
        raise Missing(message)
    return found


def tail_of(log: Path, lines: int = 25) -> str:
    """The end of a log, for a message."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.rstrip().splitlines()[-lines:]) or "(the log is empty)"


def size_mib(directory: Path) -> int:
    """How much a directory holds, as far as it can be read while something writes into it."""
    total = 0
    for path in directory.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.lstat().st_size
    return total // 2**20


def run(
    label: str,
    command: Sequence[str],
    directory: Path,
    log: Path,
    *,
    environment: Mapping[str, str] | None = None,
    limit: float = 1800.0,
) -> None:
    """Run a package client to its end, showing progress; a failure becomes a message with the end of its output."""
    progress = Progress(label)
    # The client must not go on alone when we are killed: it starts through a shim that asks the system for that.
    wrapped = [sys.executable, "-I", "-S", keeper.__file__, "--with-parent", "--", *command]
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            wrapped,
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + limit
    try:
        while process.poll() is None:
            if time.monotonic() > deadline:
                message = (
                    f"{label}: `{command[0]}` did not finish within {limit / 60:.0f} minutes and was stopped. "
                    f"Try again: what it has fetched so far is kept by it.\n{tail_of(log)}"
                )
                raise FetchFailed(message)
            progress.show(f"{size_mib(directory)} MiB")
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.5)
    finally:
        progress.done()
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if process.returncode != 0:
        raise FetchFailed(explain(label, command[0], process.returncode, tail_of(log, 400), directory))


def explain(label: str, tool: str, code: int, output: str, directory: Path) -> str:
    """A failed client's output in words: what is the matter and what to do."""
    name = Path(tool).name
    lines = _COLOURS.sub("", output).rstrip().splitlines()
    # Maven puts its reason before a page of advice for itself.
    errors = [line for line in lines if line.startswith("[ERROR]") and len(line) > len("[ERROR] ")]
    shown = "\n".join(errors[:4] or lines[-12:])
    if SPACE_SIGNS.search(output):
        return f"{label}: {no_space(directory)}\n{shown}"
    if NETWORK_SIGNS.search(output):
        return (
            f"{label}: `{name}` could not reach its package registry. Try again when the network is there (and check "
            f"the settings of `{name}` if this machine uses a mirror or a proxy); servers fetched before still start "
            f"without network.\n{shown}"
        )
    return f"{label}: `{name}` failed with exit code {code}. The end of its output:\n{shown}"


def no_space(directory: Path) -> str:
    """The message for a full disk."""
    existing = next((each for each in (directory, *directory.parents) if each.exists()), Path("/"))
    free = shutil.disk_usage(existing).free // 2**20
    return (
        f"no space left in the cache directory {directory} ({free} MiB free). Free some space there, or let "
        f"LANCE_NS_SERVERS_CACHE name a directory on another disk."
    )
