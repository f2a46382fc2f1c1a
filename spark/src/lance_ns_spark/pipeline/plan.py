"""What a step would do: what it reads and writes, which versions are there, by which path and in how many tasks."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import attrs

from lance_ns_spark import commits
from lance_ns_spark.arrow_files import LanceFragments
from lance_ns_spark.jobs.copy import pairs_of
from lance_ns_spark.jobs.ingest import looked_at, queried
from lance_ns_spark.jobs.ingest import read as read_by_spark
from lance_ns_spark.pipeline import schema, steps
from lance_ns_spark.pipeline.schema import kind_of
from lance_ns_spark.pipeline.steps import Work
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.tables import Table

_BY_TASKS = "Arrow only: tasks read and write, no row passes through the JVM"
_BY_SPARK = "Spark reads, tasks write"


def planned(step: schema.Step, work: Work, *, explain: bool = False) -> Result:
    """What a step would do, as a result that says `dry_run`. Nothing is changed.

    Args:
        step: the step.
        work: what it would be done with.
        explain: look closer, which may start Spark: how it would be done.
    """
    started = datetime.now(UTC)
    inputs, outputs, summary = _PLANNED[type(step)](step, work, explain)
    return Result(
        job=work.job,
        kind=kind_of(step),
        started=started,
        ended=datetime.now(UTC),
        inputs=inputs,
        outputs=outputs,
        summary=summary,
        dry_run=True,
    )


_Planned = tuple[list[Input], list[Output], dict[str, Any]]


def _ingest(step: schema.Ingest, work: Work, explain: bool) -> _Planned:
    source = steps.source_of(step.ingest, work.connections)
    target = work.connections.table(step.into)
    found = looked_at(source) if source.is_arrow and step.sql is None else None
    summary: dict[str, Any] = {"mode": step.mode}
    read = Input(name=source.name, version=source.version)
    if found is not None:
        read = Input(name=source.name, version=getattr(found, "version", None), rows=found.rows)
        if explain:
            splits = found.splits(work.spark().sparkContext.defaultParallelism)
            summary |= {"path": _BY_TASKS, "tasks": len(splits), "bytes": sum(split.bytes for split in splits)}
    elif explain:
        summary |= {"path": _BY_SPARK}
        if not source.stream:
            frame = queried(work.spark(), source, read_by_spark(work.spark(), source), step.sql)
            summary |= {"tasks": frame.rdd.getNumPartitions(), "columns": ", ".join(frame.columns)}
    if step.indexes:
        summary["indexes"] = ", ".join(f"{index.type} on {index.column}" for index in step.indexes)
    return [read], [_written(target, work.job)], summary


def _copy(step: schema.Copy, work: Work, explain: bool) -> _Planned:
    sources = work.connections.tables(step.copy)
    pairs = pairs_of(sources, work.connections.namespace(step.to), (), step.to.namespace, step.to.tree)
    summary: dict[str, Any] = {"tables": len(pairs), "how": step.how, "mode": step.mode}
    if explain and step.how == "data":
        many = work.spark().sparkContext.defaultParallelism
        splits = [split for table, _ in pairs for split in LanceFragments.found(table).splits(many)]
        summary |= {"path": _BY_TASKS, "tasks": len(splits), "bytes": sum(split.bytes for split in splits)}
    return [_read(table) for table, _ in pairs], [_there(table) for _, table in pairs], summary


def _maintain(step: schema.Maintain, work: Work, explain: bool) -> _Planned:  # noqa: ARG001
    from lance_ns_spark.jobs.maintain import maintain

    tables = work.connections.tables(step.maintain)
    found = maintain(work.spark(), tables, steps.policy_of(step), dry_run=True, job=work.job, progress=work.progress)
    return list(found.inputs), list(found.outputs), dict(found.summary)


def _inventory(step: schema.Inventory, work: Work, explain: bool) -> _Planned:  # noqa: ARG001
    catalogs = steps.catalogs_of(step, work.connections)
    outputs = [Output(name=name) for name in (step.report, step.parquet) if name is not None]
    if step.into is not None:
        outputs.append(_there(work.connections.table(step.into)))
    return [Input(name=name) for name in catalogs], outputs, {"catalogs": len(catalogs)}


def _verify(step: schema.Verify, work: Work, explain: bool) -> _Planned:
    tables = work.connections.tables(step.verify)
    summary: dict[str, Any] = {"tables": len(tables)}
    if explain:
        summary |= {"path": _BY_TASKS, "fragments": sum(len(table.dataset().get_fragments()) for table in tables)}
    return [_read(table) for table in tables], [], summary


def _read(table: Table) -> Input:
    dataset = table.dataset()
    return Input(name=table.name, location=str(dataset.uri), version=int(dataset.version), rows=dataset.count_rows())


def _written(table: Table, job: str) -> Output:
    """A table that a job writes, unless it already has."""
    made = commits.find(table, job)
    return attrs.evolve(_there(table), version=made, again=made is not None)


def _there(table: Table) -> Output:
    """A table as it is, or is not, before it is written."""
    dataset = table.existing()
    if dataset is None:
        return Output(name=table.name, read_version=0)
    return Output(name=table.name, location=str(dataset.uri), read_version=int(dataset.version))


_PLANNED: dict[type[Any], Callable[[Any, Work, bool], _Planned]] = {
    schema.Ingest: _ingest,
    schema.Copy: _copy,
    schema.Maintain: _maintain,
    schema.Inventory: _inventory,
    schema.Verify: _verify,
}
