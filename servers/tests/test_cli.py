"""The command line: what it prints, and what it returns."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from servers import cli, lifecycle
from servers.kinds import registry
from servers.kinds.base import Machine
from servers.tests.toy import BROKEN, Toy
from servers.tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Toy]]:
    """A command line that knows toys alone, in directories of its own."""
    monkeypatch.setenv("LANCE_NS_SERVERS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LANCE_NS_SERVERS_STATE", str(tmp_path / "state"))
    made = {"toy": Toy(), "broken": Toy("broken", BROKEN)}
    monkeypatch.setattr(registry, "SERVERS", made)
    monkeypatch.setattr(registry, "TIERS", {"all": tuple(made)})
    monkeypatch.setattr(cli, "SERVERS", made)
    monkeypatch.setattr(cli, "TIERS", {"all": tuple(made)})
    yield made
    lifecycle.down(Machine.at(tmp_path / "cache", tmp_path / "state"), made.values())


@pytest.mark.usefixtures("toys")
def test_up_status_env_logs_and_down_tell_one_story(capsys: pytest.CaptureFixture[str]) -> None:
    import tomllib

    assert cli.main(["up", "toy"]) == 0
    up = capsys.readouterr()
    address = re.search(r"toy 1\.0 is up after [\d.]+ s: (http://127\.0\.0\.1:\d+)", up.err)
    assert address
    assert cli.main(["status"]) == 0
    shown = capsys.readouterr().out
    assert re.search(
        r"^toy +up +1\.0 +\d+ +\d+ +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +[\d.]+ s +\d+ MiB$", shown, re.MULTILINE
    )
    assert re.search(r"^broken +down", shown, re.MULTILINE)
    assert cli.main(["env"]) == 0
    profiles = tomllib.loads(capsys.readouterr().out)["profiles"]
    assert profiles == {"toy-live": {"backend": "toy", "endpoint": address.group(1)}}
    assert cli.main(["logs", "toy", "-n", "1"]) == 0
    assert capsys.readouterr().out == "toy is listening\n"
    assert cli.main(["up", "toy"]) == 0
    assert "is up already" in capsys.readouterr().err
    assert cli.main(["down"]) == 0
    assert capsys.readouterr().err == "toy: ended\n"


@pytest.mark.usefixtures("toys")
def test_a_server_that_does_not_start_is_a_message_and_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["up", "broken"]) == 1
    shown = capsys.readouterr().err
    assert "broken did not start: its process ended" in shown
    assert "toy has no batteries" in shown
    assert "Traceback" not in shown


@pytest.mark.usefixtures("toys")
def test_a_killed_server_makes_status_fail_and_say_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["up", "toy"]) == 0
    state = Machine.at(tmp_path / "cache", tmp_path / "state").server_state("toy")
    process = state.process()
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    eventually(lambda: not process.alive())
    capsys.readouterr()
    assert cli.main(["status", "toy"]) == 1
    shown = capsys.readouterr().out
    assert "died" in shown
    assert "`python -m servers up toy` starts it anew" in shown


@pytest.mark.usefixtures("toys")
def test_what_a_machine_cannot_have_fails_when_it_is_named_and_is_a_remark_otherwise(
    toys: dict[str, Toy], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from servers.errors import Missing

    def prepare(_: Machine) -> None:
        message = "broken needs glue: none is on the table."
        raise Missing(message)

    monkeypatch.setattr(toys["broken"], "prepare", prepare)
    assert cli.main(["up", "broken"]) == 1
    assert cli.main(["fetch", "broken"]) == 1
    capsys.readouterr()
    assert cli.main(["up"]) == 0
    assert cli.main(["fetch"]) == 0
    assert "broken: not to be had on this machine. broken needs glue" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["up", "hive"], "there is no server `hive`"),
        (["logs", "toy"], "it was never started here"),
        (["env"], "no such server is up"),
    ],
)
@pytest.mark.usefixtures("toys")
def test_mistakes_are_messages(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(arguments) == 1
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("toys")
def test_a_port_that_is_no_port_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["up", "toy", "--port", "toy=99999"])
    assert "is not of the form SERVER=NUMBER" in capsys.readouterr().err


@pytest.mark.usefixtures("toys")
def test_a_state_directory_that_cannot_be_made_is_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LANCE_NS_SERVERS_STATE", str(tmp_path / "file" / "state"))
    assert cli.main(["up", "toy"]) == 1
    assert "the system refused: Not a directory" in capsys.readouterr().err


# A run in the background hands down an ignored SIGINT; this one must listen to it all the same.
INTERRUPTED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from servers import cli
from servers.kinds import registry
from servers.tests.toy import SILENT, Toy
for module in (registry, cli):
    module.SERVERS = {"silent": Toy("silent", SILENT)}
    module.TIERS = {"all": ("silent",)}
sys.exit(cli.main(["up", "silent"]))
"""


def test_ctrl_c_in_the_middle_of_a_start_leaves_no_process_and_no_stack_trace(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "LANCE_NS_SERVERS_CACHE": str(tmp_path / "cache"),
        "LANCE_NS_SERVERS_STATE": str(tmp_path / "state"),
    }
    state = Machine.at(tmp_path / "cache", tmp_path / "state").server_state("silent")
    command = [sys.executable, "-c", INTERRUPTED]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as starter:
        eventually(state.process)
        starter.send_signal(signal.SIGINT)
        _, shown = starter.communicate()
    assert starter.returncode == 130
    assert "interrupted" in shown
    assert "Traceback" not in shown
    assert state.processes() == []


def test_the_real_table_can_be_listed_from_a_fresh_machine(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "LANCE_NS_SERVERS_CACHE": str(tmp_path / "cache"),
        "LANCE_NS_SERVERS_STATE": str(tmp_path / "state"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "servers", "status"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in registry.SERVERS:
        assert re.search(rf"^{re.escape(name)} +down", done.stdout, re.MULTILINE)
