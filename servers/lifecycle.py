"""Starts servers, waits until they answer, tells how they are, ends them."""

import contextlib
import datetime as dt
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from servers import keeper
from servers.errors import Missing, NotReady, ServersError, StartFailed
from servers.kinds.base import Machine, Server
from servers.locks import file_lock
from servers.processes import MARK_VARIABLE, Identity, end, memory_mib
from servers.report import Progress
from servers.state import Facts, ServerState
from servers.tools import tail_of

# The keepers that this process has started: kept, so that they are reaped when they end.
_children: list["subprocess.Popen[bytes]"] = []


@dataclass(slots=True)
class Outcome:
    """What became of one server of an `up`."""

    server: Server
    facts: Facts | None = None
    problem: ServersError | None = None
    already: bool = False

    @property
    def missing(self) -> bool:
        """Whether this machine cannot have the server."""
        return isinstance(self.problem, Missing)


@dataclass(slots=True)
class Status:
    """One line of `status`."""

    name: str
    condition: str
    version: str = ""
    port: int | None = None
    pid: int | None = None
    began: str = ""
    ready_seconds: float | None = None
    memory_mib: int | None = None
    advice: str = ""


def up(
    machine: Machine,
    servers: Sequence[Server],
    *,
    holder: Identity | None = None,
    ports: Mapping[str, int] | None = None,
) -> list[Outcome]:
    """Start the servers and wait until all answer; those that run already are left as they are.

    With a `holder` a server runs on behalf of that process and ends after it; without one it stays until `down`.
    One that cannot start does not keep the others from starting.
    """
    outcomes = {server.name: Outcome(server) for server in servers}
    begun: list[_Start] = []
    # While it is starting a server belongs to this process: if we are killed now, it ends.
    starter = holder or Identity.current()
    with contextlib.ExitStack() as locks:
        try:
            for server in servers:
                locks.enter_context(file_lock(machine.server_state(server.name).lock))
            for server in servers:
                with _collect(outcomes[server.name]):
                    if not _adopt(machine, outcomes[server.name], holder):
                        server.prepare(machine)
            for server in servers:
                outcome = outcomes[server.name]
                if outcome.problem is not None or outcome.facts is not None:
                    continue
                with _collect(outcome):
                    _finish([start for start in begun if start.server.name in server.needs], outcomes)
                    lacking = [name for name in server.needs if name in outcomes and outcomes[name].problem]
                    if lacking:
                        message = f"{server.name} needs {', '.join(lacking)}, which could not be started."
                        raise StartFailed(message)
                    begun.append(_Start(machine, server, starter, holder, (ports or {}).get(server.name)))
            _finish(begun, outcomes)
        except BaseException:
            for start in begun:
                start.abandon()
            raise
    return list(outcomes.values())


def _finish(starts: "list[_Start]", outcomes: Mapping[str, Outcome]) -> None:
    """Look at the starting servers in turn until each has answered or failed."""
    waiting = [start for start in starts if not start.done]
    progress = Progress(f"starting {', '.join(start.server.name for start in waiting)}")
    try:
        while waiting:
            for start in waiting:
                with _collect(outcomes[start.server.name]):
                    outcomes[start.server.name].facts = start.look()
            waiting = [start for start in waiting if not start.done]
            progress.show(f"waiting for {', '.join(start.server.name for start in waiting)}" if waiting else "")
            time.sleep(0.1)
    finally:
        progress.done()


@contextlib.contextmanager
def _collect(outcome: Outcome) -> Iterator[None]:
    try:
        yield
    except ServersError as problem:
        outcome.problem = problem


def _adopt(machine: Machine, outcome: Outcome, holder: Identity | None) -> bool:
    """Take a server that is up already, ours or somebody else's; end one of ours that does not answer."""
    server, state = outcome.server, machine.server_state(outcome.server.name)
    endpoint = server.external()
    if endpoint is not None:
        outcome.facts = _adopt_external(machine, server, endpoint)
        return True
    facts = state.facts()
    if facts is None or state.process() is None:
        if facts is not None and facts.external:
            state.forget()
        elif facts is not None:
            machine.say(f"{server.name}: had ended by itself or was killed; starting it anew")
        _end(state)
        return False
    try:
        server.check(machine, facts)
    except NotReady as problem:
        machine.say(f"{server.name}: runs but does not answer ({problem}); starting it anew")
        _end(state)
        return False
    if facts.ready_seconds is None:
        # Its starter was killed before it could say so; the rest of the start is done now.
        server.settle(machine, facts)
        facts.ready_seconds = 0.0
        state.write_facts(facts)
    state.hold(holder)
    outcome.facts, outcome.already = facts, True
    return True


def _adopt_external(machine: Machine, server: Server, endpoint: str) -> Facts:
    facts = Facts(server.name, server.version(machine), 0, endpoint, _now(), 0.0, external=True)
    try:
        server.check(machine, facts)
    except NotReady as problem:
        message = f"{server.name}: the server that was named at {endpoint} does not answer: {problem}."
        raise StartFailed(message) from problem
    server.settle(machine, facts)
    machine.server_state(server.name).write_facts(facts)
    return facts


class _Start:
    """One server between its process's birth and its first right answer."""

    def __init__(
        self, machine: Machine, server: Server, starter: Identity, holder: Identity | None, wanted: int | None
    ) -> None:
        self.server = server
        self._machine = machine
        self._state = machine.server_state(server.name)
        self._holder, self._starter = holder, starter
        self.done = False
        port = machine.ports.choose(server.name, server.release.ports, wanted, machine.say)
        self._began = time.monotonic()
        self._facts = Facts(server.name, server.version(machine), port, server.endpoint(port), _now())
        self._state.fresh()
        self._state.hold(starter)
        self._keeper = _spawn(machine, server, self._state, port)
        self._state.write_facts(self._facts)

    def look(self) -> Facts | None:
        """Whether it answers by now; if it never will, end it and show the end of its log."""
        try:
            if not self._answers():
                return None
            self.server.settle(self._machine, self._facts)
        except (NotReady, OSError) as problem:
            self.abandon()
            raise StartFailed(self._explain(str(problem))) from problem
        except BaseException:
            self.abandon()
            raise
        self.done = True
        self._facts.ready_seconds = round(time.monotonic() - self._began, 1)
        self._state.write_facts(self._facts)
        if self._holder != self._starter:
            self._state.hold(self._holder)
            self._state.release(self._starter)
        return self._facts

    def abandon(self) -> None:
        """End it if it is not ready yet."""
        if not self.done:
            self.done = True
            _end(self._state)

    def _answers(self) -> bool:
        if self._keeper.poll() is not None:
            message = "its process ended"
            raise NotReady(message)
        try:
            self.server.check(self._machine, self._facts)
        except NotReady as problem:
            limit = self.server.release.ready_seconds
            if time.monotonic() > self._began + limit:
                message = f"no right answer within {limit:.0f} s; the last one: {problem}"
                raise NotReady(message) from problem
            return False
        return True

    def _explain(self, reason: str) -> str:
        tail = tail_of(self._state.log)
        hint = ""
        if "Address already in use" in tail or "address already in use" in tail:
            hint = (
                f" Port {self._facts.port} was taken in the meantime: start it again (another port is chosen), or "
                f"choose one with --port {self.server.name}=NUMBER."
            )
        elif "OutOfMemoryError" in tail or "Cannot allocate memory" in tail:
            hint = " It ran out of memory: end other servers with `python -m servers down`, and start it again."
        return f"{self.server.name} did not start: {reason}.{hint} The end of {self._state.log}:\n{tail}"


def _spawn(machine: Machine, server: Server, state: ServerState, port: int) -> "subprocess.Popen[bytes]":
    launch = server.launch(machine, state, port)
    # The user's own AWS settings must not reach servers that are given theirs.
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    command = [sys.executable, "-I", "-S", keeper.__file__, str(state.record), str(state.holders), "--"]
    _children[:] = [child for child in _children if child.poll() is None]
    with state.log.open("wb") as log:
        child = subprocess.Popen(
            [*command, *launch.command],
            cwd=launch.directory or state.data,
            env={**inherited, **launch.environment, MARK_VARIABLE: state.mark},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children.append(child)
    return child


def _end(state: ServerState) -> bool:
    """End every process of a server; whether there was one."""
    processes = state.processes()
    end(processes)
    state.forget()
    _children[:] = [child for child in _children if child.poll() is None]
    return bool(processes)


def _now() -> str:
    return dt.datetime.now(dt.UTC).astimezone().isoformat(timespec="seconds")


def down(machine: Machine, servers: Iterable[Server]) -> dict[str, str]:
    """End the servers, whoever holds them; what was found, by name, for those that were known."""
    found: dict[str, str] = {}
    for server in servers:
        state = machine.server_state(server.name)
        if not state.directory.exists():
            continue
        with file_lock(state.lock):
            facts = state.facts()
            if facts is not None and facts.external:
                state.forget()
                found[server.name] = f"left alone: {facts.endpoint} is not ours"
            elif _end(state):
                found[server.name] = "ended"
            elif facts is not None:
                found[server.name] = "had ended by itself or was killed before"
    return found


def let_go(machine: Machine, servers: Iterable[Server], holder: Identity) -> None:
    """Give up a holder's claim on the servers; those that nobody else wants are ended."""
    for server in servers:
        state = machine.server_state(server.name)
        if not (state.holders / str(holder.pid)).exists():
            continue
        with file_lock(state.lock):
            state.release(holder)
            if not state.other_holders(holder):
                _end(state)


def status(machine: Machine, server: Server) -> Status:
    """How a server is, found out by looking at its process and by a real call."""
    state = machine.server_state(server.name)
    facts = state.facts()
    if facts is None:
        strays = state.processes()
        if strays:
            advice = f"`python -m servers down {server.name}` ends what is left of it"
            return Status(server.name, "left over", pid=strays[0].pid, advice=advice)
        return Status(server.name, "down", port=machine.ports.known(server.name))
    line = Status(
        server.name,
        "up",
        facts.version,
        None if facts.external else facts.port,
        began=facts.began,
        ready_seconds=facts.ready_seconds,
    )
    process = state.process()
    if facts.external:
        line.condition = "elsewhere"
        line.advice = facts.endpoint
    elif process is None:
        line.condition = "died"
        what = "its start was broken off" if facts.ready_seconds is None else "it ended by itself or was killed"
        line.advice = (
            f"{what}: `python -m servers logs {server.name}` shows its last words, "
            f"`python -m servers up {server.name}` starts it anew"
        )
        return line
    else:
        line.pid = process.pid
        line.memory_mib = memory_mib(state.processes())
    try:
        server.check(machine, facts)
    except (NotReady, ServersError) as problem:
        line.condition = "starting" if facts.ready_seconds is None else "silent"
        line.advice = f"{problem}; `python -m servers logs {server.name}` shows what it does"
    return line


def log_of(machine: Machine, server: Server) -> Path:
    """The log of a server, or a message."""
    log = machine.server_state(server.name).log
    if not log.exists():
        message = (
            f"{server.name} has no log: it was never started here. `python -m servers up {server.name}` starts it."
        )
        raise ServersError(message)
    return log
