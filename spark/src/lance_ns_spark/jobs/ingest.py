"""Ingest: anything that Spark reads becomes a Lance table in a catalog.

Parquet files and Lance tables are moved as Arrow by the tasks themselves, without passing through the JVM, and a run
that broke off is resumed. Everything else, and everything that goes through SQL, is read by Spark.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns_spark import commits, job_ids, journal, moving
from lance_ns_spark.arrow_files import ArrowSource, LanceFragments, ParquetFiles
from lance_ns_spark.commits import WriteMode
from lance_ns_spark.fitting import fitting_schema, grow
from lance_ns_spark.indexes import IndexSpec
from lance_ns_spark.progress import Progress, silent
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.sources import LANCE, TABLE, Source
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "source"
"""What a query calls the source."""
_one_view = threading.Lock()
"""Views belong to the session, which jobs may share."""


def ingest(
    spark: "SparkSession",
    source: Source,
    into: Table,
    *,
    mode: WriteMode = "append",
    sql: str | None = None,
    vectors: Mapping[str, int] | None = None,
    indexes: Sequence[IndexSpec] = (),
    job: str | None = None,
    evolve: bool = False,
    files: FileOptions | None = None,
    state: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Result:
    """Read a source into a table: one version, however often the job is run.

    Args:
        spark: the session.
        source: what is read.
        into: the table; it is created where it is missing.
        mode: `append` adds to what is there, `overwrite` replaces it, `create` refuses.
        sql: a query over the view `source` whose rows are written instead of the source's.
        vectors: the dimensions of columns of lists that become vectors.
        indexes: indexes that the table is to have afterwards.
        job: the job's id. A job that is run again with the same one does nothing where it was done, and only what is
            missing where it broke off. Without one the job cannot be run again.
        evolve: whether columns that the table lacks are added to it.
        files: how data files are made.
        state: a directory for notes of what is done; without one a directory in the user's cache. A stream keeps its
            position there, and so needs one that stays.
        progress: who is told how far it is.

    Raises:
        TableAlreadyExists: mode `create`, and the table has data.
        TableSchemaValidationError: the source does not fit the table.
        LanceNsError: whatever else went wrong. The table has the version that it had.
    """
    started = datetime.now(UTC)
    kept = journal.directory_of(job_ids.checked(job), state) if job is not None else None
    if source.stream and (kept is None or mode != "append"):
        raise InvalidInput(
            "a stream is appended, and read from where the same job left it", hint="give a `job`, and mode append"
        )
    job = job or job_ids.fresh()
    files = files or FileOptions()
    found = Input(name=source.name, version=source.version)
    output = None if source.stream else moving.done_before(into, job, kept)
    if output is not None:
        pass
    elif source.stream:
        from lance_ns_spark import streams

        assert kept is not None  # noqa: S101  # as was checked
        frame = queried(spark, source, streams.read(spark, source), sql)
        output = streams.append_what_is_new(
            frame, into, job=job, checkpoint=kept / "checkpoint", vectors=vectors, evolve=evolve, files=files
        )
    elif source.is_arrow and sql is None and (arrow := looked_at(source)) is not None:
        found = _as_input(source, arrow)
        output = _moved(spark, arrow, into, mode, vectors, job, evolve, files, kept, progress)
    else:
        from lance_ns_spark import frames

        frame = queried(spark, source, read(spark, source), sql)
        output = frames.write(
            frame, into, mode=mode, job=job, vectors=vectors, evolve=evolve, files=files, progress=progress
        )
    outputs = [output, *_indexed(spark, into, indexes, job, progress)]
    return Result(
        job=job,
        kind="ingest",
        started=started,
        ended=datetime.now(UTC),
        inputs=[found],
        outputs=outputs,
        summary={
            "rows": output.rows,
            "bytes": output.bytes,
            "fragments": output.fragments,
            "version": output.version,
            "done before": output.again,
        },
    )


def read(spark: "SparkSession", source: Source) -> "DataFrame":
    """A source as a DataFrame, as Spark reads it."""
    if source.format == LANCE:
        from lance_ns_spark import reading

        assert isinstance(source.table, Table)  # noqa: S101  # the source has checked it
        return reading.read(spark, source.table, columns=source.columns, filter=source.filter, version=source.version)
    if source.format == TABLE:
        frame = spark.table(str(source.table))
    else:
        reader = spark.read.format(source.format).options(**source.options)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        frame = reader.load(list(source.path)) if source.path else reader.load()
    return frame if source.columns is None else frame.select(*source.columns)


def queried(spark: "SparkSession", source: Source, frame: "DataFrame", sql: str | None) -> "DataFrame":
    """The rows of a query over a DataFrame, which it calls `source`, or the DataFrame itself."""
    if sql is None or source.table == VIEW:
        return frame if sql is None else spark.sql(sql)
    with _one_view:
        frame.createOrReplaceTempView(VIEW)
        try:
            return spark.sql(sql)  # resolved now: the view is not needed any more
        finally:
            spark.catalog.dropTempView(VIEW)


def looked_at(source: Source) -> ArrowSource | None:
    """A source that tasks can read, as it is now; None where only Spark can read it."""
    if source.format == LANCE:
        assert isinstance(source.table, Table)  # noqa: S101  # the source has checked it
        return LanceFragments.found(source.table, version=source.version, columns=source.columns, filter=source.filter)
    files = ParquetFiles.found(source.path, columns=source.columns, storage=source.storage)
    return None if files.is_partitioned else files


def _as_input(source: Source, found: ArrowSource) -> Input:
    version = found.version if isinstance(found, LanceFragments) else None
    return Input(name=source.name, version=version, rows=found.rows)


def _moved(
    spark: "SparkSession",
    source: ArrowSource,
    into: Table,
    mode: WriteMode,
    vectors: Mapping[str, int] | None,
    job: str,
    evolve: bool,
    files: FileOptions,
    kept: Path | None,
    progress: Progress,
) -> Output:
    existing = into.existing() if mode == "append" else None
    schema = fitting_schema(
        source.schema,
        vectors=vectors,
        existing=None if existing is None else existing.schema,
        evolve=evolve,
    )
    if existing is not None:
        grow(into, schema)
    target = commits.prepare(into, schema, mode)
    lineage = moving.lineage_of(source)
    return moving.move(
        spark,
        "ingest",
        source,
        target,
        job=job,
        kept=kept,
        files=files,
        verify=False,
        properties=lineage,
        progress=progress,
    )


def _indexed(
    spark: "SparkSession", into: Table, specs: Sequence[IndexSpec], job: str, progress: Progress
) -> list[Output]:
    """Build indexes; one that fails does not stop the others, nor take the rows back."""
    from lance_ns_spark import indexes

    outputs = []
    for spec in specs:
        id = job_ids.job_id(pipeline=job, step="index", parameters={"index": spec.called})
        try:
            outputs.append(indexes.build(spark, into, spec, job=id, progress=progress))
        except LanceNsError as error:
            outputs.append(Output(name=f"{into} index {spec.called}", error=str(error)))
    return outputs
