"""Steps as calls of jobs."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import attrs

from lance_ns.namespace import Namespace
from lance_ns_spark import sources
from lance_ns_spark.indexes import IndexSpec
from lance_ns_spark.pipeline import schema
from lance_ns_spark.pipeline.connections import Connections, from_environment
from lance_ns_spark.progress import Progress
from lance_ns_spark.results import Result
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lance_ns_spark.commits import WriteMode
    from lance_ns_spark.jobs.copy import How
    from lance_ns_spark.jobs.maintain import Policy


@attrs.frozen
class Work:
    """What a step needs to be done."""

    spark: "Callable[[], SparkSession]"
    """Starts Spark when it is first called."""
    connections: Connections
    job: str
    progress: Progress


def done(step: schema.Step, work: Work) -> Result:
    """Do a step."""
    return _DONE[type(step)](step, work)


def check(step: schema.Step) -> None:
    """Refuse what no catalog need be asked about: index types, and a policy that would not do.

    Raises:
        InvalidInput: something of it is wrong.
    """
    if isinstance(step, schema.Ingest):
        indexes_of(step.indexes)
    elif isinstance(step, schema.Maintain):
        policy_of(step)


def source_of(named: schema.Source, connections: Connections) -> sources.Source:
    """What an ingest reads."""
    table: Table | str | None = named.table
    storage = from_environment(named.storage)
    if named.profile is not None or named.backend is not None:
        ns = connections.namespace(named)
        if named.format == sources.LANCE and named.table is not None:
            table = Table.within(ns, named.table, called=named.profile)
        else:
            storage = {**ns.storage, **storage}
    return sources.Source(
        format=named.format,
        path=named.paths,
        table=table,
        version=named.version,
        columns=named.columns or None,
        filter=named.filter,
        options=from_environment(named.options),
        schema=named.schema,
        storage=storage,
        stream=named.stream,
    )


def indexes_of(named: tuple[schema.Index, ...]) -> list[IndexSpec]:
    """The indexes that a step names."""
    return [IndexSpec(each.column, each.type, each.name, each.params) for each in named]


def files_of(named: schema.Files | None) -> FileOptions | None:
    """How a step wants data files to be made."""
    if named is None:
        return None
    return FileOptions(
        rows_per_file=named.rows_per_file,
        bytes_per_file=named.bytes_per_file,
        storage_version=named.storage_version,
    )


def policy_of(step: schema.Maintain) -> "Policy":
    """What a step wants to be maintained."""
    from lance_ns_spark.jobs.maintain import Policy

    return Policy(
        compact=step.compact,
        target_rows=step.target_rows,
        small_below=step.small_below,
        deleted_share=step.deleted_share,
        most_segments=step.most_segments,
        indexes=indexes_of(step.indexes),
        optimize_indexes=step.optimize_indexes,
        keep_versions=None if step.keep_versions is None else schema.duration(step.keep_versions),
    )


def catalogs_of(step: schema.Inventory, connections: Connections) -> dict[str, Namespace]:
    """The catalogs that a step looks at, by the names that the report gives them."""
    return {each.called: connections.namespace(each) for each in step.inventory}


def _ingest(step: schema.Ingest, work: Work) -> Result:
    from lance_ns_spark.jobs.ingest import ingest

    return ingest(
        work.spark(),
        source_of(step.ingest, work.connections),
        work.connections.table(step.into),
        mode=cast("WriteMode", step.mode),
        sql=step.sql,
        vectors=step.vectors,
        indexes=indexes_of(step.indexes),
        job=work.job,
        evolve=step.evolve,
        files=files_of(step.files),
        state=step.state,
        progress=work.progress,
    )


def _copy(step: schema.Copy, work: Work) -> Result:
    from lance_ns_spark.jobs.copy import copy

    return copy(
        work.spark(),
        work.connections.tables(step.copy),
        work.connections.namespace(step.to),
        into=step.to.namespace,
        tree=step.to.tree,
        how=cast("How", step.how),
        mode=cast("WriteMode", step.mode),
        verify=step.verify,
        files=files_of(step.files),
        job=work.job,
        state=step.state,
        progress=work.progress,
    )


def _maintain(step: schema.Maintain, work: Work) -> Result:
    from lance_ns_spark.jobs.maintain import maintain

    tables = work.connections.tables(step.maintain)
    return maintain(work.spark(), tables, policy_of(step), job=work.job, progress=work.progress)


def _inventory(step: schema.Inventory, work: Work) -> Result:
    from lance_ns_spark.jobs.inventory import inventory

    return inventory(
        work.spark(),
        catalogs_of(step, work.connections),
        below={each.called: each.namespace for each in step.inventory if each.namespace is not None},
        out=[
            *([work.connections.table(step.into)] if step.into is not None else ()),
            *([step.parquet] if step.parquet is not None else ()),
        ],
        report=step.report,
        job=work.job,
        progress=work.progress,
    )


def _verify(step: schema.Verify, work: Work) -> Result:
    from lance_ns_spark.jobs.verify import verify

    tables = work.connections.tables(step.verify)
    return verify(work.spark(), tables, checksums=step.checksums, job=work.job, progress=work.progress)


_DONE: dict[type[Any], Callable[[Any, Work], Result]] = {
    schema.Ingest: _ingest,
    schema.Copy: _copy,
    schema.Maintain: _maintain,
    schema.Inventory: _inventory,
    schema.Verify: _verify,
}
