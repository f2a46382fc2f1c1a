"""pytest fixtures on real servers: `live_server("hive3")`.

    python -m pytest -p servers.pytest_plugin -m live --live=live     the tier of every day
    python -m pytest -p servers.pytest_plugin -m live --live=all      every server that this machine can have

A test that needs a server carries the marker `live`, with the servers' names where it knows them:
`@pytest.mark.live("hive3")`. Without `--live` such tests are skipped. A server is started when it is first asked for,
once for all workers of pytest-xdist; what the run has started it ends, also when it is killed. A server that is up
already is used as it is and left up. The run closes with a table of what was tested and what was not, and why.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from servers import lifecycle, profiles
from servers.errors import Missing, ServersError
from servers.kinds.base import Machine, Profile
from servers.kinds.registry import SERVERS, select
from servers.paths import cache_directory, state_directory
from servers.processes import Identity
from servers.versions import TIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

PLUGIN = "lance-ns-servers"
USED, UNUSED = "live_server_used", "live_server_unused"


@dataclass(frozen=True, slots=True)
class LiveServer:
    """A server that answers."""

    name: str
    version: str
    endpoint: str
    port: int
    pid: int | None
    machine: Machine

    @property
    def profiles(self) -> dict[str, Profile]:
        """What it offers now: profiles on the object store come with the store, whichever was started first."""
        return profiles.collect(self.machine, [SERVERS[self.name]])

    @property
    def properties(self) -> Profile:
        """The connection properties of its first profile, `backend` among them."""
        return dict(next(iter(self.profiles.values())))


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--live`."""
    parser.getgroup("live", "real servers").addoption(
        "--live", choices=("off", *TIERS), default="off", help="the tier of servers that tests marked `live` may start"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker and the plugin's state."""
    config.addinivalue_line("markers", "live(*servers): needs real servers; run by `make live`")
    config.pluginmanager.register(LivePlugin(config), PLUGIN)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist on whose behalf it starts servers: the run's, not its own."""
    node.workerinput["live_holder"] = str(Identity.current())


@pytest.fixture(scope="session")
def live_server(request: pytest.FixtureRequest) -> Callable[[str], LiveServer]:
    """A factory: `live_server("hive3")` is that server, started if need be; the test is skipped if it cannot be had."""
    plugin = request.config.pluginmanager.get_plugin(PLUGIN)
    assert isinstance(plugin, LivePlugin)
    return plugin.server


@dataclass(slots=True)
class _Line:
    version: str = ""
    passed: int = 0
    failed: int = 0
    reasons: set[str] = field(default_factory=set)


class LivePlugin:
    """What one process of a run knows: the servers it has, the reasons for those it has not."""

    def __init__(self, config: pytest.Config) -> None:
        self._tier: str = config.getoption("--live")
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._is_worker = worker is not None
        self._holder = Identity.parse(worker["live_holder"]) if worker else Identity.current()
        self._machine = Machine.at(cache_directory(), state_directory())
        self._have: dict[str, LiveServer] = {}
        self._have_not: dict[str, ServersError] = {}
        # Fixtures with a wide scope ask for a server once; every test that uses them counts.
        self._fixtures: list[tuple[str, str]] = []
        self._servers_of_fixture: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._item: pytest.Item | None = None
        self._table: dict[str, _Line] = defaultdict(_Line)

    def server(self, name: str) -> LiveServer:
        """The server, started if need be."""
        if name not in SERVERS:
            select([name])
        self._note(name)
        why_not = self._why_not(name)
        if why_not is not None:
            self._skip(name, why_not)
        if name not in self._have and name not in self._have_not:
            self._start(name)
        problem = self._have_not.get(name)
        if isinstance(problem, Missing):
            self._skip(name, str(problem))
        if problem is not None:
            pytest.fail(str(problem), pytrace=False)
        return self._have[name]

    def _why_not(self, name: str) -> str | None:
        if self._tier == "off":
            return "real servers were not asked for: --live=live or --live=all"
        if name not in TIERS[self._tier]:
            return f"not in the tier `{self._tier}`: --live=all has it"
        return None

    def _start(self, name: str) -> None:
        # Every tier has the object store, so that tables can be there too; a server's own needs are added.
        for outcome in lifecycle.up(self._machine, select([name]), holder=self._holder):
            if outcome.server.name != name:
                continue
            if outcome.facts is None:
                self._have_not[name] = outcome.problem or ServersError(f"{name} is not up")
                return
            process = self._machine.server_state(name).process()
            self._have[name] = LiveServer(
                name,
                outcome.facts.version,
                outcome.facts.endpoint,
                outcome.facts.port,
                process.pid if process else None,
                self._machine,
            )

    def _note(self, name: str) -> None:
        for fixture in self._fixtures:
            self._servers_of_fixture[fixture].add(name)
        if self._item is not None:
            self._add(self._item, name)

    def _add(self, item: pytest.Item, name: str) -> None:
        known = self._have.get(name)
        entry = (USED, f"{name}\n{known.version if known else ''}")
        item.user_properties[:] = [each for each in item.user_properties if each != (USED, f"{name}\n")]
        if entry not in item.user_properties:
            item.user_properties.append(entry)

    def _skip(self, name: str, reason: str) -> None:
        reason = reason.removeprefix(f"{name}: ")
        if self._item is not None:
            self._item.user_properties.append((UNUSED, f"{name}\n{reason}"))
        pytest.skip(f"{name}: {reason}")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        """Remember which fixture is being made while a server is asked for."""
        self._fixtures.append((fixturedef.argname, repr(getattr(request, "param", None))))
        try:
            return (yield)
        finally:
            self._fixtures.pop()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Remember which test is running."""
        self._item = item
        try:
            return (yield)
        finally:
            self._item = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Start the servers that the marker names; skip what was not asked for."""
        for marker in item.iter_markers("live"):
            if self._tier == "off" and not marker.args:
                pytest.skip("needs a real server: run with --live=live or --live=all")
            for name in marker.args:
                self.server(name)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Count the test for the servers of its fixtures, which an earlier test may have asked for."""
        parameters: dict[str, object] = getattr(getattr(item, "callspec", None), "params", {})
        for fixture in getattr(item, "fixturenames", ()):
            for name in self._servers_of_fixture.get((fixture, repr(parameters.get(fixture))), ()):
                self._add(item, name)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Fill the table; with pytest-xdist the reports of all workers come to the run's own process."""
        if self._is_worker or not (report.when == "call" or report.outcome != "passed"):
            return
        properties = list(report.user_properties)
        unused = {
            str(value).partition("\n")[0]: str(value).partition("\n")[2] for key, value in properties if key == UNUSED
        }
        for name, reason in unused.items():
            self._table[name].reasons.add(reason)
        for key, value in properties:
            name, _, version = str(value).partition("\n")
            if key != USED or name in unused or report.skipped:
                continue
            line = self._table[name]
            line.version = version or line.version
            if report.passed:
                line.passed += 1
            else:
                line.failed += 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """The closing table: every server of the tier, and every other that a test asked for."""
        if self._is_worker or (self._tier == "off" and not self._table):
            return
        if self._tier == "off":
            return
        terminalreporter.section("real servers")
        for row in self.table():
            terminalreporter.write_line(row)

    def table(self) -> Iterator[str]:
        """The lines of the closing table."""
        rows = [("server", "version", "tests")]
        for name in [each for each in SERVERS if each in TIERS[self._tier] or each in self._table]:
            line = self._table.get(name, _Line())
            if line.passed or line.failed:
                tests = f"{line.passed + line.failed} run" + (f", {line.failed} failed" if line.failed else "")
            else:
                reasons = " / ".join(sorted(line.reasons)) or "no test asked for it"
                tests = f"not run: {reasons}"
            rows.append((name, line.version or "–", tests))
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for name, version, tests in rows:
            yield f"{name.ljust(widths[0])}  {version.ljust(widths[1])}  {tests}"

    def pytest_unconfigure(self) -> None:
        """End what this run has started and nobody else uses."""
        if not self._is_worker and self._tier != "off":
            lifecycle.let_go(self._machine, SERVERS.values(), self._holder)
