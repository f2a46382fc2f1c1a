"""Work that Spark spreads over its executors: a list of items, a function, and results that arrive as they are done.

Rows never pass through the JVM here. Spark plans, schedules and retries; a task is Python that moves Arrow.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import attrs

from lance_ns.errors import Internal, LanceNsError, ServiceUnavailable, Throttling

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

T = TypeVar("T")
R = TypeVar("R")
Calls: TypeAlias = "Callable[[Iterator[pa.RecordBatch]], Iterable[tuple[int, Callable[[], R]]]]"
"""What a task makes of what it is given: numbered calls."""

_PASSING = (ServiceUnavailable, Throttling, Internal)
"""Errors after which Spark may try a task again; others would only come again."""


@attrs.frozen
class Done(Generic[R]):
    """An item's outcome: its number, and what was made of it or why it failed."""

    number: int
    result: R | None = None
    error: LanceNsError | None = None


def run(
    spark: "SparkSession",
    what: str,
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    arrived: Callable[[int, R], None] | None = None,
) -> list[R]:
    """Do the work for every item, each in a task of its own, and give the results in the order of the items.

    Args:
        spark: the session.
        what: what Spark's pages call the job.
        work: the function; it and the items travel to the workers by pickle, never as part of a plan.
        items: what it is called with.
        arrived: told each result as soon as its task is done, by another thread, so that a job can show progress and
            note what it need not do again. A task that Spark runs twice may arrive twice.

    Raises:
        LanceNsError: the first error that the work raised, of the item that comes first.
    """
    outcomes = run_all(spark, what, work, items, arrived=arrived)
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return [outcome.result for outcome in outcomes]  # type: ignore[misc]  # without an error there is a result


def run_all(
    spark: "SparkSession",
    what: str,
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    arrived: Callable[[int, R], None] | None = None,
) -> list[Done[R]]:
    """As `run`, but an item that fails does not stop the others: its error is its outcome."""
    if not items:
        return []
    rows = spark.range(0, len(items), 1, len(items))
    outcomes = _outcomes(rows, what, _by_number(work, list(items)), arrived)
    return [outcomes[number] for number in range(len(items))]


def run_on(
    rows: "DataFrame",
    what: str,
    work: "Callable[[Iterator[pa.RecordBatch]], R]",
    *,
    arrived: Callable[[int, R], None] | None = None,
) -> list[Done[R]]:
    """Do the work for every partition of a DataFrame, and give the outcomes in the order of the partitions."""
    outcomes = _outcomes(rows, what, lambda batches: [(_partition(), lambda: work(batches))], arrived)
    return [outcomes[number] for number in sorted(outcomes)]


def _outcomes(
    rows: "DataFrame", what: str, calls: "Calls[R]", arrived: Callable[[int, R], None] | None
) -> dict[int, Done[R]]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    spark = rows.sparkSession
    context = spark.sparkContext
    news: Any = None
    if arrived is not None:
        news = context.accumulator([], _Arrivals(arrived))  # type: ignore[arg-type]  # only duck-typed
    context.setJobDescription(what)
    try:
        found = rows.mapInArrow(_task(calls, news, _attempts(spark)), "outcome binary").collect()
    except (PySparkException, Py4JError) as error:
        raise Internal(f"{what}: a task failed: {_cause(error)}", native=type(error).__name__) from error
    finally:
        context.setJobDescription(None)  # type: ignore[arg-type]
    return {done.number: done for done in (pickle.loads(row.outcome) for row in found)}  # noqa: S301  # our own


def _by_number(work: Callable[[T], R], items: list[T]) -> "Calls[R]":
    def calls(batches: "Iterator[pa.RecordBatch]") -> Iterator[tuple[int, Callable[[], R]]]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield number, partial(work, items[number])

    return calls


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None  # noqa: S101  # this runs in tasks only
    return context.partitionId()


def _task(
    calls: "Calls[R]", news: Any, attempts: int
) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    def task(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        for number, call in calls(batches):
            done = _outcome(call, number, attempts)
            if news is not None and done.error is None:
                news.add([(number, done.result)])
            yield pa.RecordBatch.from_pydict({"outcome": pa.array([pickle.dumps(done)], pa.binary())})
        for _ in batches:  # what a call that failed did not read: Spark wants to be rid of it
            pass

    return task


def _outcome(call: Callable[[], R], number: int, attempts: int) -> Done[R]:
    try:
        return Done(number, call())
    except LanceNsError as error:
        from pyspark import TaskContext

        context = TaskContext.get()
        if isinstance(error, _PASSING) and context is not None and context.attemptNumber() + 1 < attempts:
            raise
        return Done(number, error=error)


def _attempts(spark: "SparkSession") -> int:
    """How often Spark tries a task: in one process only once, unless its master says `local[N,F]`."""
    context = spark.sparkContext
    master = context.master or ""
    if master.startswith("local-cluster") or not master.startswith("local"):
        return int(context.getConf().get("spark.task.maxFailures", "4") or 4)
    return int(master.rstrip("]").partition(",")[2] or 1)


class _Arrivals:
    """Hands results on as their tasks end. An accumulator is the one way that Spark offers for that."""

    def __init__(self, arrived: Callable[[int, Any], None] | None) -> None:
        self._arrived = arrived

    def zero(self, value: list[Any]) -> list[Any]:  # noqa: ARG002
        return []

    def addInPlace(self, held: list[Any], added: list[Any]) -> list[Any]:  # noqa: N802
        if self._arrived is None:  # in a worker
            return held + added
        for number, result in added:
            self._arrived(number, result)
        return held

    def __getstate__(self) -> dict[str, Any]:
        return {"_arrived": None}


def _cause(error: Exception) -> str:
    """The line of a Python traceback that says what went wrong, or the first of what Spark says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [
        line
        for line in lines
        if line.partition(":")[0].endswith(("Error", "Exception")) and " " not in line.partition(":")[0]
    ]
    return (raised or lines or [type(error).__name__])[-1 if raised else 0]
