"""Reading tables: as a DataFrame, as a count, as aggregates. The short way is the fast way.

    docs = read(spark, "ml$docs", profile="prod", columns=["id", "title"], filter="year >= 2020")

Tasks read Arrow straight from the table and hand it to Spark; columns, filter, limit and searches are pylance's.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_ns.identifiers import Identifier
from lance_ns_spark import aggregates, scans, tasks, types
from lance_ns_spark.aggregates import Partial
from lance_ns_spark.scans import Columns, Part, Scan
from lance_ns_spark.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

COUNTED_HERE = 100_000_000
"""Up to how many rows a filter is counted by the driver, rather than by tasks."""


def read(
    spark: "SparkSession",
    table: Table | Identifier,
    *,
    columns: Columns | None = None,
    filter: str | None = None,
    version: int | str | None = None,
    limit: int | None = None,
    batch_rows: int | None = None,
    nearest: Mapping[str, Any] | None = None,
    full_text: str | Mapping[str, Any] | None = None,
    profile: str | None = None,
    backend: str | None = None,
    properties: Mapping[str, Any] | None = None,
) -> "DataFrame":
    """A table as a DataFrame, at the version that it has now or at the one that is named.

    Args:
        spark: the session.
        table: the table, or its identifier in the catalog that `profile`, or `backend` and `properties`, lead to.
        columns: names of columns, or new names and the SQL expressions that make them.
        filter: a condition in SQL.
        version: a version's number, or a tag.
        limit: the most rows, of the whole table.
        batch_rows: how many rows come to Spark at once; without it as many as make some megabytes.
        nearest: a vector search, as pylance takes it: `{"column": "v", "q": […], "k": 10}`. Adds `_distance`.
        full_text: the words to search for, or a query as pylance takes it. Adds `_score`.
        profile: the profile of the catalog.
        backend: the backend of the catalog.
        properties: its properties.

    Raises:
        TableNotFound: the catalog has no such table.
        InvalidInput: there is no such column, or an expression cannot be understood.
        Unsupported: Spark has no type for a column; the error names it and says what to do.
    """
    scan = scans.of(
        _table(table, profile, backend, properties),
        columns=columns,
        filter=filter,
        version=version,
        limit=limit,
        batch_rows=batch_rows,
        nearest=nearest,
        full_text=full_text,
    )
    return frame(spark, scan)


def frame(spark: "SparkSession", scan: Scan) -> "DataFrame":
    """A scan as a DataFrame."""
    schema = types.spark_schema(scan.schema)
    parts = scan.parts(spark.sparkContext.defaultParallelism)
    if not parts:
        return spark.createDataFrame([], schema)
    return spark.range(0, len(parts), 1, len(parts)).mapInArrow(_reader(scan, parts), schema)


def count(
    table: Table | Identifier,
    *,
    filter: str | None = None,
    version: int | str | None = None,
    spark: "SparkSession | None" = None,
    profile: str | None = None,
    backend: str | None = None,
    properties: Mapping[str, Any] | None = None,
) -> int:
    """How many rows a table has, from its metadata; with a filter, how many rows it finds.

    No job of Spark is run, unless a session is given and the table is so large that its tasks are faster.
    """
    scan = scans.of(_table(table, profile, backend, properties), filter=filter, version=version)
    if filter is None or spark is None or scan.dataset.count_rows() <= COUNTED_HERE:
        return scan.count()
    parts = scan.parts(4 * spark.sparkContext.defaultParallelism)
    return sum(tasks.run(spark, f"count {scan.table}", _Counting(scan), parts))


def aggregate(
    spark: "SparkSession",
    table: Table | Identifier,
    measures: Mapping[str, str],
    *,
    by: Sequence[str] | Mapping[str, str] = (),
    filter: str | None = None,
    version: int | str | None = None,
    profile: str | None = None,
    backend: str | None = None,
    properties: Mapping[str, Any] | None = None,
) -> "pa.Table":
    """Counts, sums, averages and extremes of a table, computed by the tasks that read it; no row comes to Spark.

        aggregate(spark, "ml$docs", {"n": "count(*)", "longest": "max(length)"}, by=["year"], profile="prod")

    Args:
        spark: the session.
        table: the table, or its identifier in the catalog that `profile`, or `backend` and `properties`, lead to.
        measures: names, and a call of `count`, `sum`, `min`, `max` or `avg` for each, of `*` or of an SQL expression.
        by: the columns to group by, or names and expressions.
        filter: a condition in SQL.
        version: a version's number, or a tag.
        profile: the profile of the catalog.
        backend: the backend of the catalog.
        properties: its properties.

    Raises:
        TableNotFound: the catalog has no such table.
        InvalidInput: something else is asked for, an expression cannot be understood, or a sum is too large.
    """
    wanted = aggregates.parsed(measures, by)
    scan = scans.of(
        _table(table, profile, backend, properties), columns=wanted.columns or None, filter=filter, version=version
    )
    if not wanted.columns:
        import pyarrow as pa

        rows = scan.count()
        return pa.table({each.name: pa.array([rows], pa.int64()) for each in wanted.measures})
    partial = Partial(scan, wanted)
    nothing = partial(None)
    parts = scan.parts(spark.sparkContext.defaultParallelism)
    return aggregates.finished(
        [nothing, *tasks.run(spark, f"aggregate {scan.table}", partial, parts)], wanted, scan.schema
    )


def _table(
    table: Table | Identifier, profile: str | None, backend: str | None, properties: Mapping[str, Any] | None
) -> Table:
    if isinstance(table, Table):
        return table
    return Table.of(table, profile=profile, backend=backend, properties=properties)


def _reader(scan: Scan, parts: list[Part]) -> Any:
    # What is called here is what Spark's plan shows.
    def lance_table(numbers: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from scan.batches(parts[number])

    return lance_table


class _Counting:
    """Counts the rows that a filter finds in a part of a table."""

    def __init__(self, scan: Scan) -> None:
        self._scan = scan

    def __call__(self, part: Part) -> int:
        fragments = [self._scan.dataset.get_fragment(each) for each in part.fragments or ()]
        return sum(fragment.count_rows(self._scan.filter) for fragment in fragments)
