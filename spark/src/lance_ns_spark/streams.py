"""Streams that are read as jobs: what is new since the job ran last becomes versions of a table, each batch once."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lance_ns.errors import Internal, LanceNsError, Unsupported
from lance_ns_spark import frames, job_ids
from lance_ns_spark.results import Output
from lance_ns_spark.sources import LANCE, TABLE, Source
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

QUERY = "sql.streaming.queryId"
"""Where Spark tells a batch the id of its stream, which is that of its checkpoint."""


def read(spark: "SparkSession", source: Source) -> "DataFrame":
    """A source as a stream. Where files' schema is not told, it is that of the files that are there.

    Raises:
        Unsupported: a Lance table is a stream by the format `lance_ns` only.
    """
    if source.format == LANCE:
        raise Unsupported(
            "a connection cannot be read as a stream", hint="use format 'lance_ns' with the options table and profile"
        )
    if source.format == TABLE:
        frame = spark.readStream.table(str(source.table))
    else:
        if source.format == "lance_ns":
            from lance_ns_spark.source import register

            register(spark)
        reader = spark.readStream.format(source.format).options(**source.options)
        if source.schema is not None:
            reader = reader.schema(source.schema)
        elif source.path:
            there = spark.read.format(source.format).options(**source.options).load(list(source.path))
            reader = reader.schema(there.schema)
        frame = reader.load(source.path[0] if source.path else None)
    return frame if source.columns is None else frame.select(*source.columns)


def append_what_is_new(
    stream: "DataFrame",
    into: Table,
    *,
    job: str,
    checkpoint: Path,
    vectors: Mapping[str, int] | None,
    evolve: bool,
    files: FileOptions,
) -> Output:
    """Append all that a stream has now, and stop. The checkpoint keeps the position for the next time.

    A batch is a job of its own, with an id that is the stream's and the batch's: one that was committed before the
    driver died is not written again.
    """
    from pyspark.errors import PySparkException

    written: list[Output] = []
    failures: list[LanceNsError] = []

    def append(batch: "DataFrame", number: int) -> None:
        query = batch.sparkSession.sparkContext.getLocalProperty(QUERY)
        id = job_ids.job_id(pipeline=job, step=str(query), parameters={"batch": number})
        try:
            written.append(
                frames.write(batch, into, mode="append", job=id, vectors=vectors, evolve=evolve, files=files)
            )
        except LanceNsError as error:
            failures.append(error)
            raise

    query = (
        stream.writeStream.foreachBatch(append)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except PySparkException as error:
        if failures:
            raise failures[0] from None
        raise Internal(f"the stream into {into} failed: {str(error).splitlines()[0]}") from error
    finally:
        query.stop()
    existing = into.existing()
    return Output(
        name=str(into),
        location=None if existing is None else str(existing.uri),
        version=written[-1].version if written else None,
        rows=sum(output.rows for output in written),
        bytes=sum(output.bytes for output in written),
        fragments=sum(output.fragments for output in written),
        details={"batches": len(written)},
    )
