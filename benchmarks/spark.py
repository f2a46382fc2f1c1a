"""The figures of the pipeline: rows through Spark beside Parquet, and beside the JVM connector on its own Spark.

Each connector is held to Parquet on the Spark that it runs on, in the same run; that is what makes two Sparks
comparable. Rows lie in Spark's memory before a write is measured.
"""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks import jvm
from benchmarks.children import Failed, Worker
from benchmarks.measure import Figure, Goal, at_most, enough, figure, in_turns
from benchmarks.progress import say
from servers.errors import ServersError

BACKEND = "spark"
PARQUET, OURS, JVM = "Spark's Parquet", "lance-ns-spark", "the JVM connector"
JVM_PARQUET = "Parquet on the JVM connector's Spark"
SECONDS = float(os.environ.get("LANCE_NS_BENCH_SPARK_SECONDS", "5"))
"""The shortest time that a base may take."""
SCALE = float(os.environ.get("LANCE_NS_BENCH_SPARK_SCALE", "1"))
"""A part of the rows, to try the suite itself."""
ROWS = {"narrow": int(10_000_000 * SCALE), "vectors": int(600_000 * SCALE)}
WORDS = {"narrow": "narrow rows", "vectors": "vectors"}
ROUNDS = 3
FRAGMENTS = 64
GROWTH = (4, 16)
TASKS = (2, 8, 32)
MASTER = "local[2]"


class Sparks:
    """Two Sparks, ours and the JVM connector's."""

    def __init__(self, stack: ExitStack, place: Path) -> None:
        common = {"rows": ROWS, "master": MASTER}
        settings = {**common, "client": "spark_ours", "place": str(place / "ours")}
        self.ours = stack.enter_context(Worker(sys.executable, settings))
        self.jvm: Worker | None = None
        self.why_not = ""
        try:
            theirs = {**common, "client": "spark_jvm", "place": str(place / "jvm"), "jars": jvm.jars()}
            self.jvm = stack.enter_context(Worker(jvm.python(), theirs))
        except ServersError as problem:
            self.why_not = f"{JVM} could not be had: {problem}"
            say(self.why_not)

    def figures(self) -> Iterator[Figure]:
        """All of them."""
        for kind, write, scan in (("narrow", at_most(0.5), at_most(0.9)), ("vectors", at_most(0.25), at_most(1.1))):
            yield self._beside(f"write {WORDS[kind]}", write, ("write", kind))
            yield self._beside(f"full scan of {WORDS[kind]}", scan, ("scan", kind), more={"data source": "source_scan"})
            self._check(kind)
        self._forget()
        yield self._beside("filter, 1 % of scattered rows", at_most(0.6), ("filter", "scattered"))
        yield self._beside("filter, 1 % in one run of keys", at_most(0.6), ("filter", "contiguous"))
        yield self._beside("sum of a column", at_most(0.6), ("sum",))
        yield self._counted()
        for kind in WORDS:
            yield self._arrow_only(kind)
        yield from self._growth()
        yield from self._tasks()
        yield self._beside_pylance("compaction", "compact", FRAGMENTS)
        yield self._beside_pylance("index, BTREE", "index", "BTREE")

    def _beside(self, what: str, goal: Goal, method: tuple[str, ...], more: dict[str, str] | None = None) -> Figure:
        """An operation beside Parquet on the same Spark, and the JVM connector beside Parquet on its own."""
        say(f"spark: {what}")
        name, *arguments = method
        times = enough(lambda times: self.ours.seconds(f"parquet_{name}", *arguments, times=times), SECONDS)
        calls = {
            PARQUET: partial(self.ours.seconds, f"parquet_{name}", *arguments, times=times),
            OURS: partial(self.ours.seconds, f"lance_{name}", *arguments, times=times),
            **{
                each: partial(self.ours.seconds, asked, *arguments, times=times) for each, asked in (more or {}).items()
            },
        }
        if self.jvm:
            calls[JVM_PARQUET] = partial(self.jvm.seconds, f"parquet_{name}", *arguments, times=times)
            calls[JVM] = partial(self.jvm.seconds, f"lance_{name}", *arguments, times=times)
        for candidate, call in calls.items():
            if candidate != PARQUET:
                call()  # the first time compiles
        costs = in_turns(calls, rounds=ROUNDS)
        others = {**costs.others(PARQUET, OURS, *(more or {}))}
        if self.jvm:
            others[JVM] = costs.ratio(JVM, JVM_PARQUET).value
        note = f"{JVM} ({jvm.NAME}) beside Parquet on its own Spark ({jvm.SPARK})" if self.jvm else self.why_not
        return figure(what, BACKEND, costs.ratio(OURS, PARQUET), goal, PARQUET, note, others)

    def _check(self, kind: str) -> None:
        """Everybody has written the same rows."""
        workers = [(self.ours, "lance"), (self.ours, "parquet"), *([(self.jvm, "lance")] if self.jvm else [])]
        found = {worker.answer(f"{form}_count", kind) for worker, form in workers}
        if found != {ROWS[kind]}:
            raise Failed(f"of {ROWS[kind]} {WORDS[kind]} there are {found}")

    def _forget(self) -> None:
        for worker in (self.ours, self.jvm):
            if worker:
                worker.answer("forget")

    def _counted(self) -> Figure:
        """A count comes from the table's metadata: no job is run for it."""
        before = self.ours.answer("jobs")
        self.ours.answer("lance_count", "narrow")
        if self.ours.answer("jobs") != before:
            raise Failed("counting ran a job")
        return self._beside("count", at_most(0.6), ("count", "narrow"))

    def _arrow_only(self, kind: str) -> Figure:
        what = f"ingest {WORDS[kind]} from Parquet, as Arrow"
        say(f"spark: {what}")
        base = "Spark's Parquet into Parquet"
        times = enough(lambda times: self.ours.seconds("parquet_copy", kind, times=times), SECONDS)
        calls = {
            base: partial(self.ours.seconds, "parquet_copy", kind, times=times),
            OURS: partial(self.ours.seconds, "arrow_ingest", kind, times=times),
        }
        calls[OURS]()
        costs = in_turns(calls, rounds=ROUNDS)
        return figure(what, BACKEND, costs.ratio(OURS, base), at_most(0.3), base)

    def _growth(self) -> Iterator[Figure]:
        """How the time for a row grows with their number."""
        sizes = (1, *GROWTH)
        for times in sizes:
            self.ours.answer("parquet_rows", times)
        for what, method in (("ingest as Arrow", "ingest_rows"), ("full scan", "scan_rows")):
            say(f"spark: {what}, {', '.join(f'{times}x' for times in sizes)} the rows")
            calls = {str(times): partial(self._of_each, method, times) for times in sizes}
            for call in calls.values():
                call()
            costs = in_turns(calls, rounds=ROUNDS)
            for times in GROWTH:
                ratio = costs.ratio(str(times), "1")
                yield figure(f"{what}, time of each of {times}x the rows", BACKEND, ratio, at_most(1.5), "of 1x")

    def _tasks(self) -> Iterator[Figure]:
        """How the time for the same rows grows with the number of tasks that they are shared out among."""
        say(f"spark: the same rows in {', '.join(map(str, TASKS))} tasks")
        self.ours.answer("fragmented", FRAGMENTS)
        fewest, *more = TASKS
        times = enough(lambda times: self.ours.seconds("sum_in_tasks", fewest, times=times), SECONDS)
        calls = {str(many): partial(self.ours.seconds, "sum_in_tasks", many, times=times) for many in TASKS}
        costs = in_turns(calls, rounds=ROUNDS)
        for many in more:
            ratio = costs.ratio(str(many), str(fewest))
            yield figure(f"sum of a column in {many} tasks", BACKEND, ratio, None, f"in {fewest} tasks")

    def _of_each(self, method: str, times: int) -> float:
        repeated = max(1, GROWTH[-1] // times // 4)
        return self.ours.seconds(method, times, times=repeated) / repeated / times

    def _beside_pylance(self, what: str, method: str, argument: str | int) -> Figure:
        say(f"spark: {what}")
        base = "pylance in one process"
        calls = {
            base: partial(self.ours.seconds, f"pylance_{method}", argument),
            OURS: partial(self.ours.seconds, method, argument),
        }
        for call in calls.values():
            call()
        costs = in_turns(calls, rounds=ROUNDS)
        return figure(what, BACKEND, costs.ratio(OURS, base), None, base)


def figures() -> tuple[list[Figure], str]:
    """The figures of the pipeline, and the version of Spark."""
    from importlib.metadata import version

    with tempfile.TemporaryDirectory(prefix="lance-ns-bench-spark-") as place, ExitStack() as stack:
        sparks = Sparks(stack, Path(place))
        return list(sparks.figures()), f"PySpark {version('pyspark')}, {MASTER}"
