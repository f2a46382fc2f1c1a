"""The figures of one catalog: raw client, ours and the peer, each in a process of its own, in turns on one server."""

import secrets
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import peer
from benchmarks.backends.base import Adapter
from benchmarks.children import CLIENTS, Failed, Fresh, Worker
from benchmarks.measure import Figure, at_least, at_most, enough, figure, in_turns
from benchmarks.progress import say
from servers import lifecycle, profiles
from servers.kinds.base import Machine
from servers.kinds.registry import SERVERS, select
from servers.paths import cache_directory
from servers.processes import Identity

STATE = Path(__file__).parent.parent / "build" / "benchmarks" / "servers"
RAW, OURS, PEER = "the raw client", "lance-ns", "the peer"
FLOOR = "the raw client and importing pluggy and attrs"
SMALL = 1000
BLOCK = 0.25
"""The shortest time that a base may take, in seconds."""
THREADS = 16

OURS_COLD = """
import lance_ns
with lance_ns.connect({backend!r}, {properties!r}) as ns:
    assert ns.describe_table({id!r}).location
"""
RAW_COLD = """
import sys
sys.path.insert(0, {clients!r})
from {client} import Client
assert Client({settings!r}).describe(*{table!r})
"""
PEER_COLD = """
import lance_namespace
ns = lance_namespace.connect({peer!r}, {properties!r})
assert ns.describe_table(lance_namespace.DescribeTableRequest(id={id!r})).location
"""


class Catalog:
    """A running server that is full of tables, and the three that ask it."""

    def __init__(self, adapter: Adapter, properties: dict[str, Any], stack: ExitStack) -> None:
        self.adapter = adapter
        self.name = adapter.backend
        self._properties = properties
        mark = f"bench{secrets.token_hex(3)}"
        self.small, self.large, self.mixed, self.data = (f"{mark}_{part}" for part in ("s", "l", "m", "d"))
        self.table = (self.small, "t00000")
        self.raw = stack.enter_context(Worker(sys.executable, self._settings(f"raw_{self.name}")))
        self.ours = stack.enter_context(Worker(sys.executable, self._settings("ours")))
        self.peer = stack.enter_context(Worker(peer.python(), self._settings("peer"))) if adapter.peer else None
        self.lance = 0
        self._made: list[str] = []

    def _settings(self, client: str) -> dict[str, Any]:
        theirs = client == "peer"
        given = self.adapter.peers if theirs else self.adapter.ours if client == "ours" else self.adapter.given
        base = self.adapter.peers_base if theirs else self.adapter.base
        return {
            "client": client,
            "backend": self.name,
            "peer": self.adapter.peer,
            "properties": given(self._properties),
            "base": base(self._properties),
            "mixed": self.mixed,
            "table": self.table,
            "writes": self.adapter.writes,
        }

    def fill(self) -> None:
        """Make the namespaces, and see that all three find the same in them."""
        self.say(f"filling it with {SMALL + self.adapter.tables:,} tables")
        plan = {self.mixed: 0, self.data: 0, self.small: SMALL}
        if self.adapter.tables:
            plan[self.large] = self.adapter.tables
        for namespace, tables in plan.items():
            self._made.append(namespace)
            lance = self.raw.ask("fill", namespace=namespace, tables=tables)["answer"]
            self.lance = lance if namespace == self.small else self.lance
        self.ours.answer("write", self.data, "data")
        everybody = [each for each in (self.raw, self.ours, self.peer) if each]
        found = {each.name: each.answer("describe", *self.table) for each in everybody}
        if len({location.removeprefix("file:").lstrip("/") for location in found.values()}) != 1:
            raise Failed(f"they describe another table: {found}")
        if (listed := self.ours.answer("count", self.small)) != self.lance:
            raise Failed(f"ours lists {listed} of {self.lance} tables")

    def clear(self) -> None:
        """Take away what was made, from a server that is somebody else's."""
        self.say("taking away what was made")
        for namespace in self._made:
            self.raw.answer("clear", namespace)

    def figures(self) -> Iterator[Figure]:
        """All of them."""
        yield from self._cold()
        yield from self._describing()
        yield from self._listing()
        if self.adapter.tables:
            yield from self._listing_many()
        yield from self._threads()
        yield from self._bridge()

    def _cold(self) -> Iterator[Figure]:
        what = "cold process: import, connect, describe"
        self.say(what)
        raw, ours, theirs = (self._settings(client) for client in (f"raw_{self.name}", "ours", "peer"))
        bare = RAW_COLD.format(clients=str(CLIENTS), client=raw["client"], settings=raw, table=self.table)
        programs = {
            RAW: Fresh(sys.executable, bare),
            FLOOR: Fresh(sys.executable, f"import pluggy, attrs\n{bare}"),
            OURS: Fresh(sys.executable, OURS_COLD.format(**ours, id=[*ours["base"], *self.table])),
        }
        if self.peer:
            programs[PEER] = Fresh(peer.python(), PEER_COLD.format(**theirs, id=[*theirs["base"], *self.table]))
        for program in programs.values():
            program()
            program.on_the_clock.clear()
        costs = in_turns(programs, rounds=15, seldom={PEER: 5}, seconds=20)
        clock = {name: statistics.median(each.on_the_clock) for name, each in programs.items()}
        others = costs.others(RAW, *programs)
        note = f"on the clock {clock[OURS] / clock[RAW]:.2g}"
        yield figure(what, self.name, costs.ratio(OURS, RAW), at_most(1.3), RAW, note, others)
        if self.peer:
            note = f"on the clock {clock[PEER] / clock[OURS]:.2g}"
            note += f"; {self.adapter.cold_note}" if self.adapter.cold_note else ""
            yield figure(f"{what}, gain", self.name, costs.ratio(PEER, OURS), self.adapter.cold, PEER, note)

    def _describing(self) -> Iterator[Figure]:
        what = "describe, warm"
        self.say(what)
        times = enough(lambda times: self.raw.seconds("describe", *self.table, times=times), BLOCK)
        crew = {RAW: self.raw, OURS: self.ours, **({PEER: self.peer} if self.peer else {})}
        calls = {name: partial(each.seconds, "describe", *self.table, times=times) for name, each in crew.items()}
        for call in calls.values():
            call()
        costs = in_turns(calls, rounds=15, seldom={PEER: 7}, seconds=12)
        yield figure(what, self.name, costs.ratio(OURS, RAW), at_most(1.2), RAW, others=costs.others(RAW, *calls))

    def _listing(self) -> Iterator[Figure]:
        what = f"list the Lance tables among {SMALL:,}"
        self.say(what)
        way = self.adapter.listing
        times = enough(lambda times: self.raw.seconds(way.base, self.small, times=times), BLOCK)
        base = way.against
        calls = {
            base: partial(self.raw.seconds, way.base, self.small, times=times),
            OURS: partial(self.ours.seconds, "count", self.small, times=times),
        }
        once = {name: partial(self._as_often, self.raw, method, times) for name, method in way.others.items()}
        note = ""
        if self.peer and way.peer:
            once[PEER] = partial(self._as_often, self.peer, way.peer[0], times)
            seen = self.peer.answer(way.peer[0], self.small)
            note = "" if seen == self.lance else f"the peer lists {seen:,} of {self.lance:,}"
        note = "; ".join(part for part in (way.note, note) if part)
        costs = in_turns({**calls, **once}, rounds=9, seldom=dict.fromkeys(once, 3), seconds=25)
        others = costs.others(base, *calls, *once)
        yield figure(what, self.name, costs.ratio(OURS, base), way.goal, base, note, others)
        if PEER in once and way.peer and way.peer[1]:
            yield figure(f"{what}, gain", self.name, costs.ratio(PEER, OURS), way.peer[1], PEER, note)

    def _as_often(self, worker: Worker, method: str, times: int) -> float:
        """What something slow would take if it were done as often: it is done once."""
        return worker.seconds(method, self.small) * times

    def _listing_many(self) -> Iterator[Figure]:
        tables = self.adapter.tables
        what = f"list {tables:,} tables"
        self.say(f"{what}: time")
        times = enough(lambda times: self.ours.used("count", self.small, times=times), BLOCK)
        calls = {
            "few": lambda: self.ours.used("count", self.small, times=times) / times / SMALL,
            "many": lambda: self.ours.used("count", self.large) / tables,
        }
        costs = in_turns(calls, rounds=3, seconds=15, least=1)
        against = f"the same for {SMALL:,}"
        ratio = costs.ratio("many", "few")
        yield figure(f"{what}: time of each", self.name, ratio, at_most(1.5), against)
        self.say(f"{what}: memory")
        if self.adapter.pages:
            base = against
            peaks = {
                OURS: partial(self._peak, self.ours, "count", self.large),
                base: partial(self._peak, self.ours, "count", self.small),
            }
        else:
            base = "the raw client, which holds the names"
            peaks = {
                OURS: partial(self._peak, self.ours, "count", self.large, 2 * SMALL),
                base: partial(self._peak, self.raw, "names", self.large),
            }
        ratio = in_turns(peaks, rounds=1).ratio(OURS, base)
        goal = at_most(1.2 if self.adapter.pages else 3)
        yield figure(f"{what}: peak of memory", self.name, ratio, goal, base)

    def _peak(self, worker: Worker, method: str, *arguments: Any) -> float:
        return float(worker.ask("peak", method=method, arguments=arguments)["bytes"])

    def _threads(self) -> Iterator[Figure]:
        what = f"{THREADS} threads, mixed operations: throughput"
        self.say(what)

        def taken(worker: Worker, times: int) -> float:
            return float(worker.ask("threads", method="step", times=times * 20, workers=THREADS)["seconds"])

        times = enough(partial(taken, self.raw), 2 * BLOCK)
        taken(self.ours, 1)
        calls = {RAW: partial(taken, self.raw, times), OURS: partial(taken, self.ours, times)}
        costs = in_turns(calls, rounds=9, seconds=15)
        note = "; ".join(filter(None, ("" if self.adapter.writes else "reads only", self.adapter.threads_note)))
        yield figure(what, self.name, costs.ratio(RAW, OURS), at_least(0.8), RAW, note)

    def _bridge(self) -> Iterator[Figure]:
        what = "bridge: open a dataset"
        self.say(what)
        place = (self.data, "data")
        calls = {"by URI": "open_by_uri", "bridge": "open_through_the_bridge"}
        if len({self.ours.answer(method, *place) for method in calls.values()}) != 1:
            raise Failed("the bridge opens another dataset")
        times = enough(lambda times: self.ours.seconds("open_by_uri", *place, times=times), BLOCK)
        opening = {name: partial(self.ours.seconds, method, *place, times=times) for name, method in calls.items()}
        costs = in_turns(opening, rounds=15, seconds=10)
        against = "one describe, and opening by URI"
        yield figure(what, self.name, costs.ratio("bridge", "by URI"), at_most(1.1), against)

    def say(self, what: str) -> None:
        """Tell on standard error what is being done."""
        say(f"{self.name}: {what}")


def figures(adapter: Adapter) -> tuple[list[Figure], str]:
    """The figures of a backend on its server, and that server's version."""
    with ExitStack() as stack:
        place = server(adapter.server) if adapter.server else directory()
        version, properties = stack.enter_context(place)
        catalog = Catalog(adapter, properties, stack)
        if adapter.server and SERVERS[adapter.server].external():
            stack.callback(catalog.clear)
        catalog.fill()
        return list(catalog.figures()), version


@contextmanager
def server(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A server of this run's own: its version, and the properties that reach it."""
    machine, holder = Machine.at(cache_directory(), STATE), Identity.current()
    say(f"{name}: starting the server")
    try:
        for outcome in lifecycle.up(machine, select([name]), holder=holder):
            if outcome.problem:
                raise outcome.problem
            if outcome.server.name == name and outcome.facts:
                found = next(iter(profiles.collect(machine, [outcome.server]).values()))
                yield outcome.facts.version, {key: value for key, value in found.items() if key != "backend"}
    finally:
        lifecycle.let_go(machine, SERVERS.values(), holder)


@contextmanager
def directory() -> Iterator[tuple[str, dict[str, Any]]]:
    """An empty directory, for what needs no server; its version is pylance's."""
    from importlib.metadata import version as version_of

    with tempfile.TemporaryDirectory(prefix="lance-ns-bench-") as root:
        yield f"pylance {version_of('pylance')}", {"root": root}
