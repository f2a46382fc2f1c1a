"""Rows on their way from Java to Python in batches that are counted, and not weighed.

Spark weighs a batch after every row, so that none takes too much memory. For narrow rows that takes longer than all the
rest of the way. Where the types say what a row takes at most, texts apart, nothing need be weighed, and to measure a
text is a look at a number: one that is long is replaced by a mark, and the task that meets the mark stops. Whoever
wanted the rows begins anew then, with batches as Spark weighs them.
"""

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import Unsupported

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ROWS = 8192
"""How many rows a batch has at most."""
BYTES = 64 * 1024 * 1024
"""How many bytes it takes at most, and so how long each text may be: Spark's own measure."""

_WEIGHT = "spark.sql.execution.arrow.maxBytesPerBatch"
_COUNT = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NOT_WEIGHED = str(2**31 - 1)
_OBSERVED = "CollectMetrics"
"""What a plan has for `df.observe`, whose results reach no one but the session that it was made in."""


class LongText(Unsupported):
    """A row has a text too long for batches that are not weighed."""


@attrs.frozen
class Watch:
    """Looks out for the mark in a task."""

    mark: str
    texts: tuple[str, ...]

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """The same batches.

        Raises:
            LongText: the mark stands for a text.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            for name in self.texts:
                column = batch.column(name)
                if pc.index(column, pa.scalar(self.mark, column.type)).as_py() >= 0:
                    raise LongText(f"column {name!r} has a long text")
            yield batch


def counted(df: "DataFrame") -> "tuple[DataFrame, Watch] | None":
    """The rows of a DataFrame in batches that are counted, and who must watch them; None if Spark has to weigh them.

    It has to where a row may hold more than numbers, times and texts, and where a setting says how.
    """
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    small = (t.NumericType, t.BooleanType, t.DatetimeType, t.DayTimeIntervalType)
    texts = [field.name for field in df.schema if field.dataType == t.StringType()]
    others = [field for field in df.schema if field.name not in texts]
    if not all(isinstance(field.dataType, small) for field in others) or len(set(df.columns)) < len(df.columns):
        return None
    rows = _with_rows_counted(df)
    if rows is None:
        return None
    watch = Watch(secrets.token_hex(16), tuple(texts))
    longest = f.lit(BYTES // ROWS // max(1, len(texts)))
    shortened = {
        name: f.when(f.octet_length(df[name]) > longest, f.lit(watch.mark)).otherwise(df[name]) for name in texts
    }
    return rows.withColumns(shortened), watch


def _with_rows_counted(df: "DataFrame") -> "DataFrame | None":
    """The same rows in a session of their own, which has all settings of the other one but these two."""
    from py4j.protocol import Py4JError
    from pyspark.sql import DataFrame, SparkSession

    spark = df.sparkSession
    asked = int(spark.conf.get(_COUNT) or 0)
    # PySpark has no public way to this: a version that lacks one of these names weighs batches as ever.
    try:
        java: Any = spark._jsparkSession  # noqa: SLF001
        plan: Any = df._jdf.logicalPlan()  # noqa: SLF001
        if java.sessionState().conf().settings().containsKey(_WEIGHT) or _OBSERVED in plan.toString():
            return None
        other = java.cloneSession()
        other.conf().set(_WEIGHT, _NOT_WEIGHED)
        other.conf().set(_COUNT, str(min(asked, ROWS) if asked > 0 else ROWS))
        engine: Any = spark._jvm  # noqa: SLF001
        rows = engine.org.apache.spark.sql.classic.Dataset.ofRows(other, plan)
    except (AttributeError, TypeError, Py4JError):
        return None
    return DataFrame(rows, SparkSession(spark.sparkContext, other))
