"""Running scenarios: each with a connection and a scratch directory of its own, in the subject's mode."""

import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

import attrs

from lance_ns.errors import LanceNsError
from lance_ns.namespace import Namespace
from lance_ns.registry import find
from lance_ns_conformance.cassettes.form import CassetteError
from lance_ns_conformance.cassettes.session import live_secrets, made, recording, refuse_leaks, replaying
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.scenario import NotApplicable, Scenario, every_scenario
from lance_ns_conformance.subject import Subject
from lance_ns_conformance.world import World


@attrs.frozen(kw_only=True)
class Result:
    """How one scenario ended.

    Attributes:
        scenario: which one.
        passed: whether the behaviour is there.
        seconds: how long it took.
        reason: what was wrong, on one line.
        details: what was wrong, with all that led to it.
        applicable: whether it applies to this catalog at all; one that does not has neither passed nor failed.
        why: why it does not apply.
        deviation: why the server cannot satisfy it, when it failed as its description says.
        exchange: the last requests and answers, without secrets, when it failed.
    """

    scenario: Scenario
    passed: bool
    seconds: float
    reason: str = ""
    details: str = ""
    applicable: bool = True
    why: str = ""
    deviation: str = ""
    exchange: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it speaks against the backend."""
        return self.applicable and not self.passed and not self.deviation


class Deviates(Exception):
    """A scenario failed as the description of its server says; the message is the reason that stands there."""


def applicable(subject: Subject, scenarios: Iterable[Scenario] | None = None) -> tuple[list[Scenario], list[Scenario]]:
    """The scenarios that apply to what a backend declares and to the subject's mode, and those that do not."""
    everything = [
        each
        for each in (every_scenario() if scenarios is None else scenarios)
        if not each.backends or subject.backend in each.backends
    ]
    left_out = [each for each in everything if why_not(each, subject)]
    return [each for each in everything if each not in left_out], left_out


def why_not(scenario: Scenario, subject: Subject) -> str | None:
    """Why a scenario is not run on a subject, or None when it is."""
    lacking = scenario.needs - find(subject.backend).capabilities
    if lacking:
        return f"needs {', '.join(sorted(lacking))}"
    if (scenario.live_only or scenario.robust) and subject.mode != "live":
        return "depends on timing, so it runs live only"
    if subject.server is not None and subject.server.scope == "dialect" and not scenario.dialect:
        return f"is the same on every server, so {subject.server.name} need not show it"
    return None


def perform(
    scenario: Scenario, subject: Subject, scratch: Path, exchange: Callable[[list[str]], None] = lambda _: None
) -> None:
    """Run a scenario in the subject's mode; it raises when the behaviour is not there.

    Args:
        scenario: the behaviour.
        subject: the backend.
        scratch: an empty directory.
        exchange: is told the last requests and answers when the scenario fails.

    Raises:
        NotApplicable: the scenario found out that it does not apply.
        Deviates: it failed as the description of its server says.
        CassetteError: the recording is not what the scenario asks for.
    """
    reason = subject.deviation(scenario.id)
    with subject.room(scratch) as room:
        world = World(subject, scenario.id, room)
        _tidy_up(world)
        tape: Recorder | Player | None = None
        failure: Exception | None = None
        try:
            with _meeting(scenario, subject, room) as tape:
                _show(scenario, world)
        except Exception as error:  # noqa: BLE001  # whatever a scenario meets is its result
            failure = error
        finally:
            _tidy_up(world)
    expected = failure is None or isinstance(failure, NotApplicable) or reason is not None
    if subject.mode == "record" and isinstance(tape, Recorder) and expected:
        _keep(scenario, subject, scratch, tape, failure)
    if isinstance(failure, NotApplicable):
        raise failure
    if reason is not None and not isinstance(failure, CassetteError):
        assert failure is not None, f"the scenario is said to fail ({reason}), and passes: take it off the deviations"
        raise Deviates(reason) from failure
    if failure is not None:
        lines = tape.lines() if tape else []
        if lines:
            exchange(lines)
            failure.add_note("\n".join(["the last requests and answers:", *(f"  {line}" for line in lines)]))
        raise failure


def run(
    subject: Subject, scenarios: Iterable[Scenario], progress: Callable[[Result], None] = lambda _: None
) -> Iterator[Result]:
    """Run scenarios one after the other and tell how each ended."""
    for scenario in scenarios:
        started = time.monotonic()
        exchange: list[str] = []
        reason = details = why = deviation = ""
        with tempfile.TemporaryDirectory(prefix="lance-ns-") as scratch:
            try:
                perform(scenario, subject, Path(scratch), exchange.extend)
            except NotApplicable as error:
                why = str(error)
            except Deviates as error:
                deviation = str(error)
            except Exception as error:  # noqa: BLE001  # whatever a scenario meets is its result
                reason = str(error) or _where(error)
                details = traceback.format_exc()
        result = Result(
            scenario=scenario,
            passed=not (details or why or deviation),
            seconds=time.monotonic() - started,
            reason=reason.splitlines()[0] if reason else "",
            details=details,
            applicable=not why,
            why=why,
            deviation=deviation,
            exchange=tuple(exchange),
        )
        progress(result)
        yield result


def tidy(ns: Namespace, world: World) -> None:
    """Remove what a scenario left in a catalog that others use, as far as that goes."""
    own = world.name("")
    try:
        left = [name for name in ns.list_namespaces(world.expect.base) if name.endswith(own)]
    except LanceNsError:
        return
    for name in left:
        _remove(ns, (*world.expect.base, name))


def _show(scenario: Scenario, world: World) -> None:
    """Let the scenario show its behaviour on a connection."""
    try:
        with world.connect() as ns:
            scenario.body(ns, world)
    finally:
        world.close()


def _meeting(
    scenario: Scenario, subject: Subject, room: Path
) -> AbstractContextManager[Recorder | None] | AbstractContextManager[Player]:
    """How the scenario meets its server."""
    if subject.mode == "replay":
        return replaying(subject, scenario.id, room)
    if subject.records is None or scenario.robust:
        return nullcontext()
    return recording(subject, room, everything=subject.mode == "record")


def _keep(scenario: Scenario, subject: Subject, scratch: Path, recorder: Recorder, ended: Exception | None) -> None:
    """Put what was recorded into its file, once it is proven that its replay ends as the recording did."""
    path = subject.cassette(scenario.id)
    assert path is not None, "there is no directory for cassettes"
    cassette = made(subject, scenario.id, recorder)
    if not cassette.interactions:
        path.unlink(missing_ok=True)
        return
    refuse_leaks(cassette, f"what was recorded for {path}", live_secrets(subject, scratch))
    replayed = subject.as_replayed()
    room = scratch / "replayed"
    room.mkdir(parents=True)
    again: Exception | None = None
    try:
        with replaying(replayed, scenario.id, room, cassette):
            _show(scenario, World(replayed, scenario.id, room))
    except Exception as error:  # noqa: BLE001  # whatever it is, it must be what the recording ended with
        again = error
    if type(again) is not type(ended):
        raise CassetteError(f"what was recorded cannot be replayed: {again}") from again
    cassette.write(path)


def _where(error: Exception) -> str:
    """The line that failed: a bare assertion says no more by itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {last.line}"


def _tidy_up(world: World) -> None:
    """Remove what this scenario left, or what one that was killed did; unseen by recorders, and never on replay."""
    if world.subject.mode == "replay":
        return
    for id in world.foreign:
        with suppress(Exception):
            world.needs_native().remove(id)
    world.close()
    with suppress(LanceNsError), world.connect() as ns:
        tidy(ns, world)


def _remove(ns: Namespace, id: tuple[str, ...]) -> None:
    try:
        for child in list(ns.list_namespaces(id)):
            _remove(ns, (*id, child))
    except LanceNsError:
        pass  # no namespaces at this depth
    try:
        for table in list(ns.list_tables(id)):
            ns.deregister_table((*id, table))
        ns.drop_namespace(id, mode="skip")
    except LanceNsError:
        pass  # what cannot be removed stays; the next run uses the same names and says so
