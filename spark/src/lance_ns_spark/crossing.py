"""Rows on their way from Java to Python in batches that are counted, and not weighed.

Spark weighs a batch after every row, so that none takes too much memory. For narrow rows that takes longer than all the
rest of the way. Where the types say what a row takes at most, nothing need be weighed; and to measure a text, or a list
that becomes a vector, is a look at a number. One that is too long is cut short, so that the task that meets it can
tell, and stops. Whoever wanted the rows begins anew then, with batches as Spark weighs them.
"""

import secrets
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import Unsupported

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

ROWS = 8192
"""How many rows a batch has at most."""
BYTES = 64 * 1024 * 1024
"""How many bytes it takes at most, and so how long its texts may be: Spark's own measure."""

_WEIGHT = "spark.sql.execution.arrow.maxBytesPerBatch"
_COUNT = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NOT_WEIGHED = str(2**31 - 1)
_OBSERVED = "CollectMetrics"
"""What a plan has for `df.observe`, whose results reach no one but the session that it was made in."""


class LongValue(Unsupported):
    """A row has a text, or a list, too long for batches that are not weighed."""


@attrs.frozen
class Watch:
    """Looks out in a task for what was cut short."""

    mark: str
    """What stands for a long text; nobody else can have written it."""
    texts: tuple[str, ...]
    vectors: Mapping[str, int]
    """The length of each vector: a list that has more is cut to one more."""

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """The same batches.

        Raises:
            LongValue: there was more.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            for name in self.texts:
                column = batch.column(name)
                if pc.index(column, pa.scalar(self.mark, column.type)).as_py() >= 0:
                    raise LongValue(f"column {name!r} has a long text")
            for name, length in self.vectors.items():
                if (pc.max(pc.list_value_length(batch.column(name))).as_py() or 0) > length:
                    raise LongValue(f"column {name!r} has a long list")
            yield batch


def counted(df: "DataFrame", schema: "pa.Schema") -> "tuple[DataFrame, Watch] | None":
    """The rows of a DataFrame in batches that are counted, and who must watch them; None if Spark has to weigh them.

    It has to where a row may hold more than numbers, times, texts, and lists of numbers that are vectors of a known
    length in the schema they are written in, and where a setting says how.
    """
    import pyarrow as pa
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    numbers, small = t.NumericType, (t.NumericType, t.BooleanType, t.DatetimeType, t.DayTimeIntervalType)
    texts: list[str] = []
    vectors: dict[str, int] = {}
    if len({name.lower() for name in df.columns}) < len(df.columns):
        return None  # Spark may not know one from the other
    for field in df.schema:
        name, type, target = field.name, field.dataType, schema.field(field.name).type
        if type == t.StringType():
            texts.append(name)
        elif (
            isinstance(type, t.ArrayType)
            and isinstance(type.elementType, numbers)
            and pa.types.is_fixed_size_list(target)
        ):
            vectors[name] = target.list_size
        elif not isinstance(type, small):
            return None
    # A value takes at most as many bytes as a decimal.
    rows = max(1, min(ROWS, BYTES // (16 * (len(df.columns) + sum(vectors.values())))))
    longest = BYTES // rows // max(1, len(texts))
    watch = Watch(secrets.token_hex(16), tuple(texts), vectors)
    cut = {name: f.when(f.octet_length(df[name]) > longest, watch.mark).otherwise(df[name]) for name in texts}
    cut |= {
        name: f.when(f.size(df[name]) > length, f.slice(df[name], 1, length + 1)).otherwise(df[name])
        for name, length in vectors.items()
    }
    alike = _with_rows_counted(df, rows)
    return None if alike is None else (alike.withColumns(cut), watch)


def _with_rows_counted(df: "DataFrame", most: int) -> "DataFrame | None":
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
        other.conf().set(_COUNT, str(min(asked, most) if asked > 0 else most))
        engine: Any = spark._jvm  # noqa: SLF001
        rows = engine.org.apache.spark.sql.classic.Dataset.ofRows(other, plan)
    except (AttributeError, TypeError, Py4JError):
        return None
    return DataFrame(rows, SparkSession(spark.sparkContext, other))
