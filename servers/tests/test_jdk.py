"""The right Java for each server, and a message where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from servers import jdk
from servers.errors import Missing
from servers.jdk import JavaRange
from servers.kinds.registry import SERVERS

if TYPE_CHECKING:
    from pathlib import Path


def make_java(home: Path, version: str, *, release_file: bool = True) -> Path:
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-04-15' >&2\n")
    java.chmod(0o755)
    if release_file:
        (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return home


@pytest.mark.parametrize(
    ("version", "major"), [("1.8.0_412", 8), ("11.0.2", 11), ("17.0.15", 17), ("25", 25), ("25-ea", 25)]
)
@pytest.mark.parametrize("release_file", [True, False])
def test_the_release_is_read_from_its_file_or_asked_for(
    tmp_path: Path, version: str, major: int, release_file: bool
) -> None:
    assert jdk.major_of(make_java(tmp_path / "java", version, release_file=release_file)) == major


def test_the_first_that_fits_is_taken(tmp_path: Path) -> None:
    homes = [make_java(tmp_path / name, name) for name in ("25", "17", "21")]
    assert jdk.find_java("hive3", JavaRange(17, 17), homes).home == homes[1]
    assert jdk.find_java("nessie", JavaRange(21), homes).home == homes[0]


def test_a_wrong_java_is_named_with_what_is_needed_and_what_to_do(tmp_path: Path) -> None:
    home = make_java(tmp_path / "java", "25.0.1")
    with pytest.raises(Missing) as caught:
        jdk.find_java("hive3", JavaRange(17, 17), [home])
    assert f"hive3 needs a JDK 17; found: Java 25 at {home}" in str(caught.value)
    assert "apt-get install openjdk-17-jdk-headless" in str(caught.value)
    assert "JAVA_HOME" in str(caught.value)


def test_no_java_at_all_is_said(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="nessie needs a JDK 21 or newer; found: none"):
        jdk.find_java("nessie", JavaRange(21), [tmp_path])


def test_the_users_own_choice_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a"))
    monkeypatch.setenv("LANCE_NS_JAVA_HOME", str(tmp_path / "b"))
    monkeypatch.setenv("JAVA_HOME_17_X64", str(tmp_path / "c"))
    assert list(jdk.homes())[:3] == [tmp_path / "b", tmp_path / "a", tmp_path / "c"]


def test_one_java_under_two_names_is_one(tmp_path: Path) -> None:
    home = make_java(tmp_path / "java-17", "17.0.1")
    (tmp_path / "default").symlink_to(home)
    assert len(jdk.installed([tmp_path / "default", home])) == 1


@pytest.mark.parametrize(
    ("server", "fits", "fits_not"),
    [("hive3", 17, 25), ("hive4", 17, 21), ("iceberg", 17, 25), ("nessie", 25, 17), ("polaris", 21, 17)],
)
def test_every_server_asks_for_the_java_it_runs_on(server: str, fits: int, fits_not: int) -> None:
    wanted = SERVERS[server].release.java
    assert wanted is not None
    assert fits in wanted
    assert fits_not not in wanted
