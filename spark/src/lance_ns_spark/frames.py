"""Writing DataFrames: tasks write fragments, the driver makes one version of them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from lance_ns_spark import commits, crossing, job_ids, tasks, types
from lance_ns_spark.commits import Committed, Target, WriteMode, Written
from lance_ns_spark.fitting import fitted, fitting_schema, grow
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Output
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions, write_fragments

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


def write(
    df: "DataFrame",
    table: Table,
    *,
    mode: WriteMode = "append",
    job: str | None = None,
    vectors: Mapping[str, int] | None = None,
    evolve: bool = False,
    files: FileOptions | None = None,
    progress: Progress = silent,
) -> Output:
    """Write the rows of a DataFrame as one version of a table, which is created if it is missing.

    Args:
        df: the rows. Columns go by name; one that is missing is null where the table allows it.
        table: where they go.
        mode: `create`, `append` or `overwrite`.
        job: the job's id. One that has written this table before, within the retry window, writes nothing.
        vectors: the lengths of the columns of arrays that become vectors in a new table.
        evolve: add the columns that the table lacks, rather than refuse them.
        files: how data files are made.
        progress: told whenever a task is done.

    Raises:
        Unsupported: a column has a type that no table has.
        TableSchemaValidationError: the rows do not fit the table; nothing of them is in it.
        TableAlreadyExists: mode `create`, and the table has data.
        ConcurrentModification: the table changed in a way that what was written does not fit any more.
    """
    job = job_ids.checked(job) if job is not None else job_ids.fresh()
    earlier = commits.find(table, job)
    if earlier is not None:
        return Output(name=table.name, location=table.place().location, version=earlier, again=True)
    schema = ready_schema(df.schema, table, mode, vectors, evolve)
    counted = crossing.counted(df, schema)
    if counted is not None:
        rows, watch = counted
        try:
            return _written(rows, commits.prepare(table, schema, mode), files, job, progress, watch)
        except crossing.LongValue:
            pass  # these are rows that Spark must weigh
    return _written(df, commits.prepare(table, schema, mode), files, job, progress)


def _written(
    df: "DataFrame",
    target: Target,
    files: FileOptions | None,
    job: str,
    progress: Progress,
    watch: crossing.Watch | None = None,
) -> Output:
    counter = Counter(progress, "write", target.table.name, 0)
    arrived: dict[int, Written] = {}

    def note(number: int, written: Written) -> None:
        arrived[number] = written
        counter.add(number, rows=written.rows, bytes=written.bytes)

    try:
        outcomes = tasks.run_on(df, f"write {target.table}", FragmentWriter(target, files, watch), arrived=note)
        arrived.update({done.number: done.result for done in outcomes if done.result is not None})
        for done in outcomes:
            if done.error is not None:
                raise done.error
        written = [arrived[done.number] for done in outcomes]
        committed = commits.commit(target, written, job)
    except BaseException:
        commits.give_up(target, list(arrived.values()))
        raise
    return output(target, committed, written)


def ready_schema(
    rows: "StructType", table: Table, mode: WriteMode, vectors: Mapping[str, int] | None, evolve: bool
) -> "pa.Schema":
    """The schema in which rows of Spark go into a table, whose missing columns are added to it if `evolve` says so.

    Raises:
        Unsupported: a column has a type that no table has.
        TableSchemaValidationError: the rows do not fit the table.
    """
    existing = table.existing() if mode == "append" else None
    has = existing.schema if existing is not None else None
    schema = fitting_schema(types.lance_schema(rows, vectors=vectors, existing=has), existing=has, evolve=evolve)
    if has is not None and len(schema) > len(has):
        grow(table, schema)
    return schema


def output(target: Target, committed: Committed, written: list[Written]) -> Output:
    """What a job tells of the version that it made."""
    return Output(
        name=target.table.name,
        location=target.place.location,
        version=committed.version,
        read_version=target.read_version,
        rows=sum(each.rows for each in written),
        bytes=sum(each.bytes for each in written),
        fragments=sum(len(each.fragments) for each in written),
        again=committed.again,
    )


class FragmentWriter:
    """Writes the batches of a task, as Spark hands them over, as fragments of a table."""

    def __init__(self, target: Target, files: FileOptions | None, watch: crossing.Watch | None = None) -> None:
        self._target = target
        self._files = files
        self._watch = watch

    def __call__(self, batches: "Iterator[pa.RecordBatch]") -> Written:
        """Write them; without any row there is no fragment."""
        if self._watch is not None:
            batches = self._watch(batches)
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return Written((), 0, 0)
        return write_fragments(self._target, fitted(_chain(first, batches), self._target.schema), self._files)


def _chain(first: "pa.RecordBatch", rest: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    yield first
    yield from rest
