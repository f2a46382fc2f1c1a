"""Work on what may be broken: an item that ends the process of its task is found, and the others are done."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from lance_ns.errors import Internal
from lance_ns_spark import tasks
from lance_ns_spark.tasks import Done

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")


def run_apart(
    spark: "SparkSession",
    what: str,
    work: Callable[[T], R],
    items: Sequence[T],
    *,
    arrived: Callable[[int, R], None],
) -> list[Done[R]]:
    """As `tasks.run_all`. When Spark gives up because tasks died, halves are tried, down to the items that kill."""
    try:
        return tasks.run_all(spark, what, work, items, arrived=arrived)
    except Internal as error:
        if len(items) == 1:
            return [Done(0, error=error)]
    half = len(items) // 2
    second = run_apart(spark, what, work, items[half:], arrived=lambda number, result: arrived(half + number, result))
    return run_apart(spark, what, work, items[:half], arrived=arrived) + second
