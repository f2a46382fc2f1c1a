"""Starting, watching and ending servers, with one that takes no JVM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from servers import lifecycle
from servers.errors import Missing, PortTaken, StartFailed
from servers.processes import Identity
from servers.tests.toy import BROKEN, SILENT, Toy
from servers.tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

    from servers.kinds.base import Machine

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")


@pytest.fixture
def toy(machine: Machine) -> Iterator[Toy]:
    made = Toy()
    yield made
    lifecycle.down(machine, [made])


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


def started(machine: Machine, toy: Toy, holder: Identity | None = None) -> lifecycle.Outcome:
    (outcome,) = lifecycle.up(machine, [toy], holder=holder)
    assert outcome.problem is None, outcome.problem
    return outcome


def is_ready(machine: Machine, name: str) -> bool:
    facts = machine.server_state(name).facts()
    return facts is not None and facts.ready_seconds is not None


def pid_of(machine: Machine, toy: Toy) -> int:
    process = machine.server_state(toy.name).process()
    assert process is not None
    return process.pid


def test_a_server_is_up_when_it_answers_and_status_tells_about_it(machine: Machine, toy: Toy) -> None:
    outcome = started(machine, toy)
    status = lifecycle.status(machine, toy)
    assert outcome.facts is not None
    assert (status.condition, status.version, status.port) == ("up", "1.0", outcome.facts.port)
    assert status.memory_mib
    assert status.began
    assert status.ready_seconds is not None
    assert toy.settled == 1
    assert machine.server_state("toy").other_holders() == ["stay"]


def test_a_server_that_is_up_is_not_started_again(machine: Machine, toy: Toy) -> None:
    started(machine, toy)
    pid = pid_of(machine, toy)
    assert started(machine, toy).already
    assert pid_of(machine, toy) == pid


def test_down_leaves_no_process_and_the_next_start_has_the_same_port(machine: Machine, toy: Toy) -> None:
    first = started(machine, toy)
    assert lifecycle.down(machine, [toy]) == {"toy": "ended"}
    assert machine.server_state("toy").processes() == []
    assert lifecycle.status(machine, toy).condition == "down"
    second = started(machine, toy)
    assert first.facts is not None
    assert second.facts is not None
    assert first.facts.port == second.facts.port


def test_a_server_that_ends_at_its_start_is_reported_with_its_last_words(machine: Machine) -> None:
    (outcome,) = lifecycle.up(machine, [Toy(script=BROKEN)])
    assert isinstance(outcome.problem, StartFailed)
    assert "its process ended" in str(outcome.problem)
    assert "toy has no batteries" in str(outcome.problem)
    assert machine.server_state("toy").processes() == []


def test_a_server_that_never_answers_is_ended_and_reported_with_its_last_words(machine: Machine) -> None:
    (outcome,) = lifecycle.up(machine, [Toy(script=SILENT, ready_seconds=1.0)])
    assert "no right answer within 1 s" in str(outcome.problem)
    assert "toy thinks" in str(outcome.problem)
    assert machine.server_state("toy").processes() == []


def test_a_port_that_is_taken_in_the_meantime_is_named(machine: Machine) -> None:
    script = "print('OSError: [Errno 98] Address already in use', flush=True)"
    (outcome,) = lifecycle.up(machine, [Toy(script=script)])
    assert "--port toy=NUMBER" in str(outcome.problem)


def test_a_command_that_does_not_exist_is_a_message(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    from servers.kinds.base import Launch

    toy = Toy()
    monkeypatch.setattr(toy, "launch", lambda *_: Launch(["/nonexistent/server"]))
    (outcome,) = lifecycle.up(machine, [toy])
    assert "cannot run /nonexistent/server: No such file or directory" in str(outcome.problem)


def test_a_killed_server_is_seen_as_died_with_advice_and_starts_anew(
    machine: Machine, toy: Toy, said: list[str]
) -> None:
    started(machine, toy)
    victim = machine.server_state("toy").process()
    assert victim is not None
    os.kill(victim.pid, signal.SIGKILL)
    eventually(lambda: not victim.alive())
    status = lifecycle.status(machine, toy)
    assert status.condition == "died"
    assert "python -m servers up toy" in status.advice
    assert "python -m servers logs toy" in status.advice
    assert not started(machine, toy).already
    assert said == ["toy: had ended by itself or was killed; starting it anew"]


def test_down_after_a_kill_says_that_it_was_gone(machine: Machine, toy: Toy) -> None:
    started(machine, toy)
    os.kill(pid_of(machine, toy), signal.SIGKILL)
    eventually(lambda: not machine.server_state("toy").processes())
    assert lifecycle.down(machine, [toy]) == {"toy": "had ended by itself or was killed before"}


def test_a_server_that_does_not_answer_any_more_is_silent_in_status_and_replaced_by_up(
    machine: Machine, toy: Toy, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from servers.errors import NotReady

    started(machine, toy)
    pid = pid_of(machine, toy)
    real, broken = toy.check, [True, True]

    def check(*arguments: Any) -> None:
        if broken:
            broken.pop()
            message = "it only hums"
            raise NotReady(message)
        real(*arguments)

    monkeypatch.setattr(toy, "check", check)
    assert lifecycle.status(machine, toy).condition == "silent"
    assert not started(machine, toy).already
    assert pid_of(machine, toy) != pid
    assert "it only hums" in said[0]


def test_a_recycled_pid_is_neither_taken_for_the_server_nor_killed(
    machine: Machine, toy: Toy, bystander: subprocess.Popen[bytes]
) -> None:
    started(machine, toy)
    lifecycle.down(machine, [toy])
    state = machine.server_state("toy")
    from servers.state import Facts

    state.write_facts(Facts("toy", "1.0", 1, "http://127.0.0.1:1", "", 1.0))
    state.record.write_text(f"{bystander.pid}:boot-1")
    assert lifecycle.status(machine, toy).condition == "died"
    assert lifecycle.down(machine, [toy]) == {"toy": "had ended by itself or was killed before"}
    assert bystander.poll() is None


def test_a_server_whose_pid_file_is_lost_is_found_and_ended(machine: Machine, toy: Toy) -> None:
    started(machine, toy)
    state = machine.server_state("toy")
    pid = pid_of(machine, toy)
    state.record.unlink()
    assert pid in [process.pid for process in state.processes()]
    assert lifecycle.down(machine, [toy]) == {"toy": "ended"}
    assert state.processes() == []


def test_a_server_ends_with_its_last_holder(machine: Machine, toy: Toy, bystander: subprocess.Popen[bytes]) -> None:
    holder = Identity.of(bystander.pid)
    started(machine, toy, holder)
    bystander.kill()
    bystander.wait()
    eventually(lambda: not machine.server_state("toy").processes())


def test_a_server_outlives_one_of_two_holders(machine: Machine, toy: Toy, bystander: subprocess.Popen[bytes]) -> None:
    other, me = Identity.of(bystander.pid), Identity.current()
    assert other is not None
    started(machine, toy, other)
    assert started(machine, toy, me).already
    lifecycle.let_go(machine, [toy], me)
    assert lifecycle.status(machine, toy).condition == "up"
    lifecycle.let_go(machine, [toy], other)
    assert machine.server_state("toy").processes() == []


def test_a_server_that_was_asked_to_stay_is_not_ended_by_a_holder_that_leaves(machine: Machine, toy: Toy) -> None:
    me = Identity.current()
    started(machine, toy)
    started(machine, toy, me)
    lifecycle.let_go(machine, [toy], me)
    assert lifecycle.status(machine, toy).condition == "up"


def test_a_server_does_not_outlive_its_keeper(machine: Machine, toy: Toy) -> None:
    started(machine, toy)
    server = machine.server_state("toy").process()
    assert server is not None
    (keeper,) = [each for each in machine.server_state("toy").processes() if each.pid != server.pid]
    os.kill(keeper.pid, signal.SIGKILL)
    eventually(lambda: not server.alive())


# A run in the background hands down an ignored SIGINT; the starter must listen to it all the same.
STARTER = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from servers import lifecycle
from servers.kinds.base import Machine
from servers.tests.toy import SILENT, Toy
machine = Machine.at(Path(sys.argv[1]), Path(sys.argv[2]))
try:
    lifecycle.up(machine, [Toy(), Toy("silent", SILENT)])
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_starter_that_is_stopped_in_the_middle_leaves_nothing_half_started(
    machine: Machine, number: signal.Signals, code: int
) -> None:
    directories = [str(machine.cache.directory), str(machine.state)]
    silent = machine.server_state("silent")
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, *directories], cwd=ROOT, stderr=subprocess.DEVNULL
    ) as starter:
        # Once the first is ready and the second has a process, the start is in its middle.
        eventually(lambda: silent.process() is not None and is_ready(machine, "toy"))
        starter.send_signal(number)
        assert starter.wait() == code
    eventually(lambda: not silent.processes())
    lifecycle.down(machine, [Toy(), Toy("silent")])
    assert machine.server_state("toy").processes() == []


def test_an_interruption_that_the_starter_survives_ends_what_was_starting(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent, interrupting = Toy("silent", SILENT), Toy("interrupting", SILENT)

    def check(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(interrupting, "check", check)
    with pytest.raises(KeyboardInterrupt):
        lifecycle.up(machine, [silent, interrupting])
    assert machine.server_state("silent").processes() == []
    assert machine.server_state("interrupting").processes() == []


def test_one_that_fails_does_not_keep_the_others_from_starting(machine: Machine) -> None:
    good, bad = Toy("good"), Toy("bad", BROKEN)
    outcomes = {outcome.server.name: outcome for outcome in lifecycle.up(machine, [bad, good])}
    assert outcomes["bad"].problem is not None
    assert outcomes["good"].facts is not None
    lifecycle.down(machine, [good])


def test_a_server_waits_for_what_it_needs_and_names_it_when_it_is_not_there(machine: Machine) -> None:
    store, catalog = Toy("store", BROKEN), Toy("catalog", needs=("store",))
    outcomes = {outcome.server.name: outcome for outcome in lifecycle.up(machine, [store, catalog])}
    assert str(outcomes["catalog"].problem) == "catalog needs store, which could not be started."


def test_what_a_machine_lacks_is_told_apart_from_what_failed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = Toy()

    def prepare(_: Machine) -> None:
        message = "no clay"
        raise Missing(message)

    monkeypatch.setattr(toy, "prepare", prepare)
    (outcome,) = lifecycle.up(machine, [toy])
    assert outcome.missing


def test_many_starters_at_once_start_one_server(machine: Machine, toy: Toy) -> None:
    outcomes: list[lifecycle.Outcome] = []
    threads = [threading.Thread(target=lambda: outcomes.append(started(machine, toy))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcome.already for outcome in outcomes) == [False, True, True, True]
    assert len(machine.server_state("toy").processes()) == 2


def test_a_server_that_somebody_else_runs_is_used_and_never_ended(machine: Machine, toy: Toy) -> None:
    facts = started(machine, toy).facts
    assert facts is not None
    elsewhere = Toy("elsewhere", endpoint=facts.endpoint)
    outcome = started(machine, elsewhere)
    assert outcome.facts is not None
    assert outcome.facts.endpoint == facts.endpoint
    assert lifecycle.status(machine, elsewhere).condition == "elsewhere"
    assert "is not ours" in lifecycle.down(machine, [elsewhere])["elsewhere"]
    assert lifecycle.status(machine, toy).condition == "up"


def test_a_named_server_that_does_not_answer_is_a_message(machine: Machine) -> None:
    (outcome,) = lifecycle.up(machine, [Toy(endpoint="http://127.0.0.1:9")])
    assert "the server that was named at http://127.0.0.1:9 does not answer" in str(outcome.problem)


def test_a_remembered_port_that_is_taken_is_replaced_and_said(machine: Machine, toy: Toy, said: list[str]) -> None:
    remembered = machine.ports.choose("toy")
    with socket.create_server(("127.0.0.1", remembered)):
        facts = started(machine, toy).facts
    assert facts is not None
    assert facts.port != remembered
    assert f"port {remembered} is taken by pid {os.getpid()}" in said[0]
    assert machine.ports.known("toy") == facts.port


def test_a_port_that_was_asked_for_and_is_taken_is_a_message_that_says_what_to_do(machine: Machine, toy: Toy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (outcome,) = lifecycle.up(machine, [toy], ports={"toy": port})
    assert isinstance(outcome.problem, PortTaken)
    assert f"port {port} is taken by pid {os.getpid()}" in str(outcome.problem)
    assert "--port toy=NUMBER" in str(outcome.problem)


def test_the_log_of_the_last_start_is_kept_beside_the_new_one(machine: Machine, toy: Toy) -> None:
    started(machine, toy)
    eventually(lambda: "listening" in machine.server_state("toy").log.read_text())
    lifecycle.down(machine, [toy])
    started(machine, toy)
    assert "listening" in machine.server_state("toy").log.with_suffix(".log.1").read_text()


def test_users_aws_settings_do_not_reach_the_servers(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "production")
    toy = Toy(script="import os; print(sorted(key for key in os.environ if key.startswith('AWS_')))")
    lifecycle.up(machine, [toy])
    assert machine.server_state("toy").log.read_text().strip() == "[]"
