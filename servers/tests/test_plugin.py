"""The pytest plugin, in runs of its own with servers that take no JVM."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers import lifecycle
from servers.kinds.base import Machine
from servers.tests.toy import Toy
from servers.tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]

CONFTEST = """
from servers import pytest_plugin
from servers.errors import Missing
from servers.kinds import registry
from servers.tests.toy import BROKEN, Toy

class Absent(Toy):
    def prepare(self, machine):
        raise Missing("absent: nobody has ever seen one.")

for module in (registry, pytest_plugin):
    module.SERVERS = {
        "toy": Toy(), "other": Toy("other"), "broken": Toy("broken", BROKEN), "absent": Absent("absent"),
    }
    module.TIERS = {"live": ("toy", "broken", "absent"), "all": tuple(module.SERVERS)}
"""


class Run:
    """An inner run of pytest with directories of its own."""

    def __init__(self, directory: Path, shared: Path | None = None) -> None:
        self.directory = directory
        self._shared = shared or directory
        self.machine = Machine.at(self._shared / "cache", self._shared / "state")
        (directory / "conftest.py").write_text(CONFTEST)
        (directory / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers -p no:cacheprovider\n")

    def start(self, tests: str, *options: str) -> subprocess.Popen[str]:
        (self.directory / "test_inner.py").write_text(f"import os, time, pytest\n{tests}")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "LANCE_NS_SERVERS_CACHE": str(self._shared / "cache"),
            "LANCE_NS_SERVERS_STATE": str(self._shared / "state"),
        }
        environment.pop("PYTEST_XDIST_WORKER", None)
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", "-p", "servers.pytest_plugin", *options],
            cwd=self.directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def __call__(self, tests: str, *options: str) -> tuple[int, str]:
        with self.start(tests, *options) as process:
            shown, _ = process.communicate()
            return process.returncode, shown

    def processes(self) -> list[object]:
        return [each for name in ("toy", "other") for each in self.machine.server_state(name).processes()]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    made = Run(tmp_path)
    yield made
    lifecycle.down(made.machine, [Toy(), Toy("other")])


def row(shown: str, name: str) -> str:
    found = re.search(rf"^{name}  +\S.*$", shown, re.MULTILINE)
    assert found, shown
    return re.sub(r" {2,}", " | ", found.group(0))


USES_TOY = """
@pytest.mark.live("toy")
@pytest.mark.parametrize("n", range(4))
def test_toy(live_server, n):
    server = live_server("toy")
    assert server.properties == {"backend": "toy", "endpoint": server.endpoint}
    with open("pids", "a") as f: f.write(f"{server.pid}\\n")
"""


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_server_is_started_once_for_the_run_and_ended_with_it(run: Run, workers: tuple[str, ...]) -> None:
    code, shown = run(USES_TOY, "--live=live", *workers)
    assert code == 0, shown
    assert len(set((run.directory / "pids").read_text().split())) == 1
    assert row(shown, "toy") == "toy | 1.0 | 4 run"
    assert row(shown, "absent") == "absent | – | not run: no test asked for it"
    assert run.processes() == []


def test_a_server_that_was_up_before_is_used_and_left_up(run: Run) -> None:
    (outcome,) = lifecycle.up(run.machine, [Toy()])
    assert outcome.problem is None
    code, shown = run(USES_TOY, "--live=live")
    assert code == 0, shown
    assert lifecycle.status(run.machine, Toy()).condition == "up"


def test_without_the_option_live_tests_are_skipped_and_nothing_is_started(run: Run) -> None:
    code, shown = run(USES_TOY + "\n@pytest.mark.live\ndef test_any(): assert False\ndef test_plain(): pass\n", "-ra")
    assert code == 0
    assert "1 passed, 5 skipped" in shown
    assert "--live=live" in shown
    assert not (run.directory / "state").exists()


def test_a_server_that_cannot_be_had_is_skipped_and_named_with_the_reason(run: Run) -> None:
    tests = """
def test_absent(live_server): live_server("absent")
@pytest.mark.live("other")
def test_other(live_server): pass
"""
    code, shown = run(tests, "--live=live")
    assert code == 0, shown
    assert row(shown, "absent") == "absent | – | not run: nobody has ever seen one."
    assert row(shown, "other") == "other | – | not run: not in the tier `live`: --live=all has it"


def test_a_server_that_does_not_start_fails_the_test_with_its_last_words(run: Run) -> None:
    code, shown = run("def test_broken(live_server): live_server('broken')\n", "--live=live")
    assert code == 1
    assert "toy has no batteries" in shown
    assert row(shown, "broken") == "broken | – | 1 run, 1 failed"


def test_tests_count_for_the_servers_of_their_fixtures(run: Run) -> None:
    tests = """
@pytest.fixture(scope="session", params=["toy", "other"])
def server(request, live_server): return live_server(request.param)
@pytest.fixture(scope="session")
def derived(server): return server
def test_a(server): pass
def test_b(derived): pass
def test_c(derived): assert derived.name == "toy"
def test_d(): pass
"""
    code, shown = run(tests, "--live=all")
    assert code == 1
    assert row(shown, "toy") == "toy | 1.0 | 3 run"
    assert row(shown, "other") == "other | 1.0 | 3 run, 1 failed"


def test_a_run_that_is_killed_leaves_no_server_behind(run: Run) -> None:
    tests = "def test_long(live_server):\n    live_server('toy')\n    open('there', 'w').close()\n    time.sleep(600)\n"
    with run.start(tests, "--live=live") as process:
        eventually((run.directory / "there").exists)
        assert run.processes()
        process.send_signal(signal.SIGKILL)
        process.communicate()
    eventually(lambda: not run.processes())


def test_a_second_run_keeps_a_server_that_the_first_has_started(run: Run) -> None:
    first = "def test_long(live_server):\n    live_server('toy')\n    open('there', 'w').close()\n"
    first += "    while not os.path.exists('go'): time.sleep(0.02)\n"
    with run.start(first, "--live=live") as process:
        eventually((run.directory / "there").exists)
        elsewhere = run.directory / "second"
        elsewhere.mkdir()
        code, shown = Run(elsewhere, run.directory)("def test_it(live_server): live_server('toy')\n", "--live=live")
        assert code == 0, shown
        assert lifecycle.status(run.machine, Toy()).condition == "up"
        (run.directory / "go").touch()
        process.communicate()
    assert run.processes() == []
