"""Fetching: once, checked, and with a message for everything that can go wrong."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers import builds, maven, tools
from servers.cache import Cache, sha256_of
from servers.errors import FetchFailed, Missing
from servers.tests.waiting import eventually
from servers.versions import MEMORY_LIMIT_MIB, RELEASES, Crate, GoModule, Jar, Release

if TYPE_CHECKING:
    from collections.abc import Callable

    Tool = Callable[[str, str], Path]

ROOT = Path(__file__).resolve().parents[2]
JAR = Jar("org.example", "toy", "1.0")
RELEASE = Release("1.0", "a toy", 50, jars=(JAR,))
# A Maven that writes one library where it was told to.
MAVEN = (
    'for a in "$@"; do case $a in -DoutputDirectory=*) d=${a#*=};; esac; done; '
    "mkdir -p $d; printf good > $d/toy-1.0.jar"
)


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def counted(log: list[str], content: str = "good") -> Callable[[Path], None]:
    def fetch(directory: Path) -> None:
        log.append("fetched")
        (directory / "lib").mkdir()
        (directory / "lib" / "a.jar").write_text(content)

    return fetch


def test_an_artifact_is_fetched_once_also_by_later_processes(cache: Cache) -> None:
    log: list[str] = []
    first = cache.obtain("toy", counted(log))
    assert Cache(cache.directory).obtain("toy", counted(log)) == first
    assert log == ["fetched"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda entry: (entry / "lib/a.jar").write_text("goo"), "another size"),
        (lambda entry: (entry / "lib/a.jar").write_text("evil"), "another checksum"),
        (lambda entry: (entry / "lib/a.jar").unlink(), "is missing"),
        (lambda entry: (entry / "manifest.json").write_text("{"), "manifest is missing or unreadable"),
    ],
)
def test_a_damaged_entry_is_noticed_and_fetched_again(
    cache: Cache, spoil: Callable[[Path], object], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log: list[str] = []
    spoil(cache.obtain("toy", counted(log)))
    entry = Cache(cache.directory).obtain("toy", counted(log))
    assert log == ["fetched", "fetched"]
    assert (entry / "lib/a.jar").read_text() == "good"
    assert reason in capsys.readouterr().err


def test_a_fetch_that_fails_leaves_nothing_that_could_be_taken_for_an_artifact(cache: Cache) -> None:
    def broken(directory: Path) -> None:
        (directory / "half").write_text("x")
        message = "lost"
        raise FetchFailed(message)

    with pytest.raises(FetchFailed, match="lost"):
        cache.obtain("toy", broken)
    assert [path.name for path in cache.directory.iterdir()] == ["toy.lock"]


def test_a_full_disk_is_said_before_anything_is_fetched(cache: Cache) -> None:
    log: list[str] = []
    with pytest.raises(FetchFailed) as caught:
        cache.obtain("toy", counted(log), mib=10**9)
    assert "no space left in the cache directory" in str(caught.value)
    assert "LANCE_NS_SERVERS_CACHE" in str(caught.value)
    assert log == []


def test_a_disk_that_fills_up_on_the_way_is_said(cache: Cache) -> None:
    def fetch(_: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FetchFailed, match="no space left in the cache directory"):
        cache.obtain("toy", fetch)


def test_a_client_that_finds_the_disk_full_is_said(cache: Cache, tool_on_path: Tool) -> None:
    tool_on_path("mvn", "echo '[ERROR] Failed: /x/y.jar: No space left on device'; exit 1")
    with pytest.raises(FetchFailed, match="no space left in the cache directory"):
        maven.libraries(cache, "toy", RELEASE)


def test_a_cache_directory_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FetchFailed) as caught:
        Cache(tmp_path / "file" / "cache").obtain("toy", counted([]))
    assert "cannot be used" in str(caught.value)
    assert "LANCE_NS_SERVERS_CACHE" in str(caught.value)


def test_libraries_come_through_maven_with_strict_checksums(cache: Cache, tool_on_path: Tool, tmp_path: Path) -> None:
    tool_on_path("mvn", f'echo "$@" > {tmp_path}/arguments; {MAVEN}')
    entry = maven.libraries(cache, "toy", RELEASE)
    assert (entry / "lib" / "toy-1.0.jar").read_text() == "good"
    assert "--strict-checksums" in (tmp_path / "arguments").read_text()


def test_without_maven_the_message_says_what_to_install(cache: Cache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Missing) as caught:
        maven.libraries(cache, "hive3", RELEASE)
    assert str(caught.value) == "hive3 needs Apache Maven (on Debian: apt-get install maven): `mvn` is not on the PATH."


@pytest.mark.parametrize(
    "output",
    [
        "Could not transfer artifact org.example:toy:pom:1.0 from/to central: Unknown host",
        "Could not transfer artifact x: Network is unreachable",
        "Temporary failure in name resolution",
    ],
)
def test_without_network_the_message_says_so_and_shows_the_clients_words(
    cache: Cache, tool_on_path: Tool, output: str
) -> None:
    tool_on_path("mvn", f"echo '[ERROR] {output}'; exit 1")
    with pytest.raises(FetchFailed) as caught:
        maven.libraries(cache, "toy", RELEASE)
    assert "could not reach its package registry" in str(caught.value)
    assert "servers fetched before still start without network" in str(caught.value)
    assert output in str(caught.value)


def test_without_network_what_was_fetched_before_still_starts(cache: Cache, tool_on_path: Tool) -> None:
    tool_on_path("mvn", MAVEN)
    first = maven.libraries(cache, "toy", RELEASE)
    tool_on_path("mvn", "echo 'Unknown host'; exit 1")
    assert maven.libraries(Cache(cache.directory), "toy", RELEASE) == first


def test_another_failure_shows_the_end_of_the_output(cache: Cache, tool_on_path: Tool) -> None:
    tool_on_path("mvn", "echo 'the pom is made of cheese'; exit 7")
    with pytest.raises(FetchFailed, match=r"failed with exit code 7(.|\n)*made of cheese"):
        maven.libraries(cache, "toy", RELEASE)


def test_a_pinned_checksum_that_differs_keeps_the_file_out(cache: Cache, tool_on_path: Tool) -> None:
    tool_on_path("mvn", MAVEN)
    pinned = Release("1.0", "a toy", 50, jars=(Jar("org.example", "toy", "1.0", sha256="0" * 64),))
    with pytest.raises(FetchFailed) as caught:
        maven.libraries(cache, "toy", pinned)
    assert "toy-1.0.jar has the checksum" in str(caught.value)
    assert not list(cache.directory.glob("toy-1.0-*/lib"))


def test_a_pinned_checksum_that_agrees_lets_the_file_in(cache: Cache, tool_on_path: Tool, tmp_path: Path) -> None:
    (tmp_path / "good").write_text("good")
    tool_on_path("mvn", MAVEN)
    jar = Jar("org.example", "toy", "1.0", sha256=sha256_of(tmp_path / "good"))
    assert maven.libraries(cache, "toy", Release("1.0", "a toy", 50, jars=(jar,))).is_dir()


def test_a_client_that_hangs_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import time; print('still here', flush=True); time.sleep(600)"]
    with pytest.raises(FetchFailed, match=r"did not finish within(.|\n)*still here"):
        tools.run("toy", command, tmp_path, tmp_path / "log", limit=1.5)


def test_a_client_ends_when_its_starter_is_killed(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from servers import tools; d = Path(sys.argv[1]);"
        "tools.run('toy', [sys.executable, '-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'],"
        " d, d / 'log')"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=ROOT) as starter:
        log = tmp_path / "log"
        eventually(lambda: log.exists() and log.read_text().endswith("\n"))
        starter.kill()
    client = Path("/proc") / log.read_text().strip()
    if Path("/proc/self").exists():
        eventually(lambda: not client.exists())


def test_the_pom_leaves_out_what_an_artifact_alone_depends_on() -> None:
    pom = maven.pom_of("toy", (JAR, Jar("g", "a", "2", "bin", "tar.gz", alone=True)))
    plain, alone = [line for line in pom.splitlines() if "<dependency>" in line]
    assert "<exclusion>" not in plain
    assert "<exclusion>" in alone
    assert "<type>tar.gz</type><classifier>bin</classifier>" in alone


def test_servers_of_one_version_share_their_libraries_and_another_version_has_its_own() -> None:
    assert maven.key_for(RELEASES["iceberg"]) == maven.key_for(RELEASES["iceberg-lenient"])
    assert maven.key_for(RELEASES["iceberg"]) != maven.key_for(RELEASES["iceberg-1.10"])


MODULE = GoModule("example.org/toy", "example.org/toy/cmd/toy", "v1.0.0", "h1:right=")
GO = """case $1 in
mod) echo 'go: downloading'; echo '{"Path": "example.org/toy", "Sum": "h1:%s="}' ;;
install) mkdir -p $GOBIN; printf toy > $GOBIN/toy ;;
esac"""


def test_a_go_command_is_built_once_and_then_needs_no_go(
    cache: Cache, tool_on_path: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool_on_path("go", GO % "right")
    assert not builds.go_command_is_cached(cache, MODULE)
    assert builds.go_command(cache, "s3", MODULE, 1).read_text() == "toy"
    monkeypatch.setenv("PATH", "/nonexistent")
    assert builds.go_command_is_cached(cache, MODULE)
    assert builds.go_command(Cache(cache.directory), "s3", MODULE, 1).read_text() == "toy"


def test_a_go_module_with_another_sum_is_not_built(cache: Cache, tool_on_path: Tool) -> None:
    tool_on_path("go", GO % "wrong")
    with pytest.raises(FetchFailed, match="has the sum h1:wrong=, and h1:right= is pinned"):
        builds.go_command(cache, "s3", MODULE, 1)


def test_a_crate_is_built_at_its_pinned_version_and_only_the_command_is_kept(
    cache: Cache, tool_on_path: Tool, tmp_path: Path
) -> None:
    script = 'for a in "$@"; do case $p in --root) r=$a;; --target-dir) t=$a;; esac; p=$a; done; '
    script += f'echo "$@" > {tmp_path}/arguments; mkdir -p $r/bin $t; printf toy > $r/bin/toy; printf junk > $t/junk'
    tool_on_path("cargo", script)
    binary = builds.cargo_command(cache, "unity", Crate("no-such-crate", "1.2.3", "bin", "toy", "0" * 64), 1)
    assert binary.read_text() == "toy"
    assert sorted(path.name for path in binary.parents[1].iterdir()) == ["bin", "manifest.json"]
    assert "--locked" in (tmp_path / "arguments").read_text()
    assert "=1.2.3" in (tmp_path / "arguments").read_text()


def test_all_servers_together_stay_below_the_memory_limit() -> None:
    assert sum(release.memory_mib for release in RELEASES.values()) <= MEMORY_LIMIT_MIB
    for name, release in RELEASES.items():
        assert release.heap_mib < release.memory_mib, name


def test_every_release_with_libraries_pins_the_first_of_them() -> None:
    for name, release in RELEASES.items():
        if release.jars:
            assert len(release.jars[0].sha256) == 64, name


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs the right to mount")
def test_a_cache_on_a_disk_that_is_really_full_is_said(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        with pytest.raises(FetchFailed, match="no space left in the cache directory"):
            Cache(small).obtain("toy", lambda directory: (directory / "a").write_bytes(b"x" * 2**21) and None)
    finally:
        subprocess.run(["umount", small], check=True)
