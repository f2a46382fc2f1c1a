"""Finds the Java that a server needs among those on the machine."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from servers.errors import Missing

PLACES = (
    "/usr/lib/jvm/*",
    "/opt/*",
    "/opt/java/*",
    "/usr/java/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "~/.local/share/mise/installs/java/*",
    "~/.asdf/installs/java/*",
)


@dataclass(frozen=True, slots=True)
class JavaRange:
    """The Java releases that a server runs on, both ends included; no upper end where `newest` is None."""

    oldest: int
    newest: int | None = None

    def __contains__(self, major: int) -> bool:
        return self.oldest <= major and (self.newest is None or major <= self.newest)

    def __str__(self) -> str:
        if self.newest is None:
            return f"{self.oldest} or newer"
        return str(self.oldest) if self.oldest == self.newest else f"{self.oldest} to {self.newest}"


@dataclass(frozen=True, slots=True)
class Java:
    """One Java on this machine."""

    home: Path
    major: int

    @property
    def binary(self) -> Path:
        """The `java` command."""
        return self.home / "bin" / "java"


def homes() -> Iterator[Path]:
    """Directories that may hold a Java, the user's own choices first."""
    for variable in ("LANCE_NS_JAVA_HOME", "JAVA_HOME"):
        if os.environ.get(variable):
            yield Path(os.environ[variable]).expanduser()
    for variable in sorted(os.environ):
        if re.fullmatch(r"JAVA_?\d+_HOME|JAVA_HOME_\d+(_X64)?", variable):
            yield Path(os.environ[variable]).expanduser()
    on_path = shutil.which("java")
    if on_path:
        yield Path(on_path).resolve().parent.parent
    for pattern in PLACES:
        start = Path(pattern).expanduser()
        anchor = Path(start.anchor)
        yield from sorted(anchor.glob(str(start.relative_to(anchor))))


def major_of(home: Path) -> int | None:
    """The release of the Java at `home`, from its own `release` file or by asking it; None where there is none."""
    if not os.access(home / "bin" / "java", os.X_OK):
        return None
    try:
        text = (home / "release").read_text(encoding="utf-8", errors="replace")
        found = re.search(r'^JAVA_VERSION="?([^"\n]+)', text, re.MULTILINE)
    except OSError:
        found = None
    if found is None:
        try:
            asked = subprocess.run(
                [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=20, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        found = re.search(r'version "([^"]+)"', asked.stderr + asked.stdout)
    if found is None:
        return None
    numbers = re.findall(r"\d+", found.group(1))
    # Up to Java 8 the release is the second number: 1.8.0.
    return int(numbers[1] if numbers[0] == "1" and len(numbers) > 1 else numbers[0])


def installed(candidates: Iterable[Path]) -> list[Java]:
    """The Javas among the candidates, each once, in the order of preference."""
    found: dict[Path, Java] = {}
    for home in candidates:
        major = major_of(home)
        if major is not None:
            found.setdefault(home.resolve(), Java(home.resolve(), major))
    return list(found.values())


def find_java(server: str, wanted: JavaRange, candidates: Iterable[Path] | None = None) -> Java:
    """The first Java that the server runs on, or a message that names the ones found instead."""
    javas = installed(homes() if candidates is None else candidates)
    for java in javas:
        if java.major in wanted:
            return java
    seen = ", ".join(f"Java {java.major} at {java.home}" for java in javas) or "none"
    example = wanted.newest or wanted.oldest
    message = (
        f"{server} needs a JDK {wanted}; found: {seen}. Install one (on Debian: apt-get install "
        f"openjdk-{example}-jdk-headless, or temurin-{example}-jdk), or name one by LANCE_NS_JAVA_HOME or JAVA_HOME."
    )
    raise Missing(message)
