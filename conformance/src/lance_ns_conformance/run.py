"""Running scenarios: each with a connection and a scratch directory of its own."""

import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs

from lance_ns.errors import LanceNsError
from lance_ns.namespace import Namespace
from lance_ns.registry import find
from lance_ns_conformance.scenario import Scenario, every_scenario
from lance_ns_conformance.subject import Subject
from lance_ns_conformance.world import World


@attrs.frozen(kw_only=True)
class Result:
    """How one scenario ended."""

    scenario: Scenario
    passed: bool
    seconds: float
    reason: str = ""
    details: str = ""


def applicable(subject: Subject, scenarios: Iterable[Scenario] | None = None) -> tuple[list[Scenario], list[Scenario]]:
    """The scenarios that apply to what a backend declares, and those that do not."""
    declared = find(subject.backend).capabilities
    everything = every_scenario() if scenarios is None else scenarios
    fitting = [each for each in everything if each.needs <= declared]
    return fitting, [each for each in everything if not each.needs <= declared]


def perform(scenario: Scenario, subject: Subject, scratch: Path) -> None:
    """Run a scenario; it raises when the behaviour is not there."""
    world = World(subject, scenario.id, scratch)
    with subject.connect(scratch) as ns:
        try:
            scenario.body(ns, world)
        finally:
            _tidy(ns, world)


def run(
    subject: Subject, scenarios: Iterable[Scenario], progress: Callable[[Result], None] = lambda _: None
) -> Iterator[Result]:
    """Run scenarios one after the other and tell how each ended."""
    for scenario in scenarios:
        started = time.monotonic()
        reason = details = ""
        with tempfile.TemporaryDirectory(prefix="lance-ns-") as scratch:
            try:
                perform(scenario, subject, Path(scratch))
            except Exception as error:  # noqa: BLE001  # whatever a scenario meets is its result
                reason = str(error) or _where(error)
                details = traceback.format_exc()
        result = Result(
            scenario=scenario,
            passed=not details,
            seconds=time.monotonic() - started,
            reason=reason.splitlines()[0] if reason else "",
            details=details,
        )
        progress(result)
        yield result


def _where(error: Exception) -> str:
    """The line that failed: a bare assertion says no more by itself."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {last.line}"


def _tidy(ns: Namespace, world: World) -> None:
    """Remove what a scenario left in a catalog that others use, as far as that goes."""
    own = world.name("")
    try:
        left = [name for name in ns.list_namespaces(world.expect.base) if name.endswith(own)]
    except LanceNsError:
        return
    for name in left:
        _remove(ns, (*world.expect.base, name))


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
