"""The data source `lance_ns`: tables in SQL, in `spark.read` and `df.write`, and in streams.

It has no `pushFilters`: Spark would share the last filter among all scans of a DataFrame. `columns` and `filter` are
options, and `lance_ns_spark.read` is the faster way. Spark runs what is here in processes of its own on the driver's
machine, and `read` and `write` in tasks.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

# This module is imported only where there is a session.
from pyspark.sql.datasource import (  # noqa: TID253
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)

from lance_ns import profiles
from lance_ns_spark import commits, frames, job_ids, options, types
from lance_ns_spark.commits import Written
from lance_ns_spark.options import Options
from lance_ns_spark.scans import Part, Scan

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from lance_ns_spark.streaming import StreamReader, StreamWriter

NAME = "lance_ns"
"""The format's name."""
TASKS_VARIABLE = "LANCE_NS_SPARK_TASKS"
"""Tells the processes that plan a read about how many tasks are run at once."""


def register(spark: "SparkSession") -> None:
    """Make the format `lance_ns` known to a session, which `lance_ns_spark.session` does by itself.

    The processes that Spark starts for it see the profiles that this one sees.
    """
    context = spark.sparkContext
    context.environment[TASKS_VARIABLE] = str(context.defaultParallelism)
    if (file := profiles.config_file()) is not None:
        context.environment[profiles.CONFIG_VARIABLE] = str(file.absolute())
    spark.dataSource.register(LanceSource)


class LanceSource(DataSource):
    """A table of any catalog, as Spark sees it."""

    def __init__(self, options: Mapping[str, str]) -> None:
        super().__init__(dict(options))
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return NAME

    @property
    def _chosen(self) -> Options:
        return options.parsed(self._given)

    def schema(self) -> "StructType":
        """The columns of the table, or those that are asked for."""
        return types.spark_schema(self._chosen.scan().schema)

    def reader(self, schema: "StructType") -> "TableReader":  # noqa: ARG002
        """What reads the table at the version that it has now."""
        return TableReader(self._chosen)

    def writer(self, schema: "StructType", overwrite: bool) -> "TableWriter":
        """What writes to the table."""
        return TableWriter(self._chosen, schema, overwrite)

    def streamReader(self, schema: "StructType") -> "StreamReader":  # noqa: ARG002, N802
        """What reads the rows that are appended to the table."""
        from lance_ns_spark.streaming import StreamReader

        return StreamReader(self._chosen)

    def streamWriter(self, schema: "StructType", overwrite: bool) -> "StreamWriter":  # noqa: N802
        """What appends the rows of a stream to the table."""
        from lance_ns_spark.streaming import StreamWriter

        return StreamWriter(self._chosen, schema, overwrite)


class PartOfTable(InputPartition):
    """What one task reads. It pickles with the connection and shows nothing of it."""

    def __init__(self, scan: Scan, part: Part) -> None:
        super().__init__(None)
        self.scan = scan
        self.part = part

    def __repr__(self) -> str:
        return f"PartOfTable({self.scan.table}, {self.part})"


def tasks_of(chosen: Options) -> int:
    """About how many tasks are to read."""
    return chosen.number("tasks") or int(os.environ.get(TASKS_VARIABLE) or os.cpu_count() or 1)


class TableReader(DataSourceReader):
    """Reads a table at one version."""

    def __init__(self, chosen: Options) -> None:
        self._scan = chosen.scan()
        self._tasks = tasks_of(chosen)

    def partitions(self) -> Sequence[InputPartition]:
        """The shares of the tasks."""
        return [PartOfTable(self._scan, part) for part in self._scan.parts(self._tasks)]

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """What a task's share has."""
        assert isinstance(partition, PartOfTable)  # noqa: S101
        return partition.scan.batches(partition.part)


class Fragments(WriterCommitMessage):
    """What a task wrote."""

    def __init__(self, written: Written) -> None:
        self.written = written


class TableWriter(DataSourceArrowWriter):
    """Writes one version of a table."""

    def __init__(self, chosen: Options, schema: "StructType", overwrite: bool) -> None:
        self._table = chosen.table()
        job = chosen.values.get("job")
        self._job = job_ids.checked(job) if job is not None else job_ids.fresh()
        self._again = commits.find(self._table, self._job) is not None
        mode: commits.WriteMode = "overwrite" if overwrite else "append"
        if not self._again:
            ready = frames.ready_schema(schema, self._table, mode, chosen.vectors(), chosen.flag("evolve"))
            self._target = commits.prepare(self._table, ready, mode)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write a task's rows as fragments that no version has yet."""
        if self._again:
            for _ in iterator:
                pass
            return Fragments(Written((), 0, 0))
        return Fragments(frames.FragmentWriter(self._target, None)(iterator))

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Make a version of all that was written."""
        if not self._again:
            commits.commit(self._target, list(_written(messages)), self._job)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Delete the files that are known, and leave the table as it was."""
        if not self._again:
            commits.give_up(self._target, list(_written(messages)))


def _written(messages: Sequence[Any]) -> Iterator[Written]:
    for message in messages:
        if isinstance(message, Fragments):
            yield message.written
