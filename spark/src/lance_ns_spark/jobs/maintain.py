"""Maintenance by policy: compact, then index, then clean up old versions.

Compaction and index builds are planned on the driver, done in tasks and committed on the driver, several tables at
once. What is in order already is left alone, so a job that is run again does only what is left to do.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import ConcurrentModification, InvalidInput, LanceNsError
from lance_ns_spark import commits, indexes, job_ids, tasks
from lance_ns_spark.facts import SMALL_BYTES, SMALL_ROWS, Facts, error_text, indexes_of, look, size_of
from lance_ns_spark.indexes import IndexSpec
from lance_ns_spark.native import native_errors
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.tables import Table, dataset_at

if TYPE_CHECKING:
    import lance
    from pyspark.sql import SparkSession

TABLES_AT_ONCE = 8
ATTEMPTS = 5
"""How often compaction is planned anew when others changed what it rewrote."""


@attrs.frozen(kw_only=True)
class Policy:
    """What maintenance does to each table."""

    compact: bool = True
    target_rows: int = SMALL_ROWS
    """How many rows a fragment has after compaction."""
    small_below: int = SMALL_ROWS
    """Fragments with fewer rows are joined, unless they have 128 MiB already."""
    deleted_share: float = 0.1
    """Fragments of which more than this share is deleted are written anew without those rows."""
    indexes: Sequence[IndexSpec] = ()
    """Indexes that every table is to have; a table without the column is in error."""
    optimize_indexes: bool = True
    """Whether rows that came later are added to the indexes that are there, and many segments are merged."""
    most_segments: int = 8
    """An index of more segments is merged into one. Compaction does not join fragments of different segments."""
    keep_versions: timedelta | None = None
    """Versions older than this are cleaned up, tagged ones never; None keeps all."""

    def __attrs_post_init__(self) -> None:
        for name, least in (("target_rows", 1), ("small_below", 0), ("deleted_share", 0), ("most_segments", 1)):
            if getattr(self, name) < least:
                raise InvalidInput(f"{name} is {getattr(self, name)}", hint=f"give {least} or more")
        if self.keep_versions is not None and self.keep_versions < commits.RETRY_WINDOW:
            raise InvalidInput(
                f"versions cannot be cleaned up after {self.keep_versions}: a job that is run again within "
                f"{commits.RETRY_WINDOW.days} days is recognised by the version that it made",
                hint=f"keep versions for {commits.RETRY_WINDOW.days} days or longer",
            )


def maintain(
    spark: "SparkSession",
    tables: Sequence[Table],
    policy: Policy,
    *,
    dry_run: bool = False,
    job: str | None = None,
    progress: Progress = silent,
) -> Result:
    """Bring tables into the order that a policy says. A table that fails does not stop the others.

    The output of each table has `before` and `after` in its details, and what was done: `compaction`, `indexes` and
    `clean_up`. A dry run says the same of what would be done, and changes nothing.
    """
    from concurrent.futures import ThreadPoolExecutor

    started = datetime.now(UTC)
    job = job_ids.fresh() if job is None else job_ids.checked(job)
    counter = Counter(progress, "maintain", "tables", len(tables), "tables")

    def one(number: int) -> Output:
        done = _Maintenance(spark, tables[number], policy, job, progress, dry_run).run()
        counter.add(number, rows=done.rows, bytes=done.bytes)
        return done

    with ThreadPoolExecutor(TABLES_AT_ONCE) as pool:
        outputs = list(pool.map(one, range(len(tables))))
    return Result(
        job=job,
        kind="maintain",
        started=started,
        ended=datetime.now(UTC),
        inputs=[
            Input(name=each.name, location=each.location, version=each.read_version)
            for each in outputs
            if each.read_version is not None
        ],
        outputs=outputs,
        summary=_summary(outputs),
        dry_run=dry_run,
    )


@attrs.define
class _Maintenance:
    """One table's turn."""

    spark: "SparkSession"
    table: Table
    policy: Policy
    job: str
    progress: Progress
    dry_run: bool

    def run(self) -> Output:
        before = look(self.table)
        output = Output(
            name=self.table.name,
            location=before.location,
            read_version=before.version,
            details={"before": _numbers(before)},
        )
        if before.state == "declared":
            return attrs.evolve(output, read_version=0)
        if before.state != "data":
            return attrs.evolve(output, error=before.error)
        details: dict[str, Any] = {}
        error = None
        try:
            for name, step in (("compaction", self.compact), ("indexes", self.index), ("clean_up", self.clean_up)):
                details[name] = step()
        except LanceNsError as failure:
            error = error_text(self.table, failure)
        after = before if self.dry_run else look(self.table)
        return attrs.evolve(
            output,
            version=after.version if after.version != before.version else None,
            rows=after.rows,
            bytes=after.bytes,
            fragments=after.fragments,
            error=error or after.error,
            details={**output.details, **details, "after": _numbers(after)},
        )

    # --- compaction -----------------------------------------------------------------------------------------------

    def compact(self) -> dict[str, int]:
        """Join small fragments, and write those anew of which much is deleted."""
        if not self.policy.compact:
            return {}
        for _ in range(ATTEMPTS - 1):
            with suppress(ConcurrentModification):
                return self._compacted()
        return self._compacted()

    def _compacted(self) -> dict[str, int]:
        dataset = self.table.dataset()
        plan = self._plan(dataset)
        planned = {"tasks": len(plan), "fragments": sum(len(each.fragments) for each in plan)}
        if not plan or self.dry_run:
            return planned
        return {**planned, **self._commit(int(dataset.version), self._rewritten(dataset, plan))}

    def _plan(self, dataset: "lance.LanceDataset") -> list[Any]:
        from lance.optimize import Compaction

        with native_errors(f"planning the compaction of {self.table}"):
            return list(Compaction.plan(dataset, self._options(dataset)).tasks)

    def _options(self, dataset: "lance.LanceDataset") -> dict[str, Any]:
        return {
            "target_rows_per_fragment": self.policy.target_rows,
            "materialize_deletions": True,
            "materialize_deletions_threshold": self.policy.deleted_share,
            "excluded_fragment_ids": [
                each.fragment_id for each in dataset.get_fragments() if self._is_fine(each.metadata, size_of(each, {}))
            ],
        }

    def _is_fine(self, fragment: Any, size: int | None) -> bool:
        if fragment.num_deletions > self.policy.deleted_share * fragment.physical_rows:
            return False
        return fragment.num_rows >= self.policy.small_below or (size or 0) >= SMALL_BYTES

    def _rewritten(self, dataset: "lance.LanceDataset", plan: Sequence[Any]) -> list[str]:
        counter = Counter(self.progress, "compact", self.table.name, len(plan))
        counts = [sum(fragment.num_rows for fragment in each.fragments) for each in plan]
        return tasks.run(
            self.spark,
            f"compact {self.table}",
            _rewrite,
            [(self.table, int(dataset.version), each.json()) for each in plan],
            arrived=lambda number, _: counter.add(number, rows=counts[number]),
        )

    def _commit(self, version: int, rewritten: Sequence[str]) -> dict[str, int]:
        from lance.optimize import Compaction, RewriteResult

        results = [RewriteResult.from_json(each) for each in rewritten]
        try:
            with native_errors(f"committing the compaction of {self.table}"):
                metrics = Compaction.commit(self.table.dataset(version), results)
        except ConcurrentModification:  # after any other error the commit may still have succeeded
            made = [json.dumps(fragment.to_json()) for each in results for fragment in each.new_fragments]
            commits.discard(self.table.place(), [commits.Written(tuple(made), 0, 0)])
            raise
        return {"fragments_removed": metrics.fragments_removed, "fragments_added": metrics.fragments_added}

    # --- indexes --------------------------------------------------------------------------------------------------

    def index(self) -> list[dict[str, Any]]:
        """Make the indexes that are lacking, add rows that came later, merge what is in many segments."""
        return [self._indexed(spec) for spec in self._specs(self.table.dataset())]

    def _specs(self, dataset: "lance.LanceDataset") -> list[IndexSpec]:
        wanted = {each.called: each for each in self.policy.indexes}
        if self.policy.optimize_indexes:
            for each in indexes_of(dataset):
                if each.name not in wanted and len(each.field_names) == 1:
                    type = next((known for known in indexes.TYPES if _same(known, each.index_type)), None)
                    if type is not None:
                        wanted[each.name] = IndexSpec(each.field_names[0], type, each.name)
        return list(wanted.values())

    def _indexed(self, spec: IndexSpec) -> dict[str, Any]:
        dataset = self.table.dataset()
        with native_errors(f"looking at index {spec.called} of {self.table}"):
            lacking = indexes.gap(dataset, spec)
            segments = sum(len(each.segments) for each in indexes_of(dataset) if each.name == spec.called)
        rows = lacking.rows + (self._lost(dataset, spec, lacking) if self.dry_run else 0)
        told = {"index": spec.called, "type": spec.type, "new": lacking.fresh, "rows": rows, "merged": False}
        if rows and not self.dry_run:
            made = indexes.build(self.spark, self.table, spec, job=self.job, progress=self.progress)
            segments += made.details["segments"]
        if self.policy.optimize_indexes and segments > self.policy.most_segments:
            told["merged"] = True
            if not self.dry_run:
                indexes.merge(self.table, spec.called)
        return told

    def _lost(self, dataset: "lance.LanceDataset", spec: IndexSpec, lacking: indexes.Gap) -> int:
        """The rows that compaction would take out of an index first."""
        if spec.type not in indexes.NOT_REMAPPED or not self.policy.compact:
            return 0
        rewritten = [fragment for task in self._plan(dataset) for fragment in task.fragments]
        return sum(fragment.num_rows for fragment in rewritten if fragment.id not in lacking.fragments)

    # --- old versions ---------------------------------------------------------------------------------------------

    def clean_up(self) -> dict[str, int]:
        """Remove versions that are too old, and the files that only they used."""
        if self.policy.keep_versions is None:
            return {}
        dataset = self.table.dataset()
        call = dataset.explain_cleanup_old_versions if self.dry_run else dataset.cleanup_old_versions
        with native_errors(f"cleaning up {self.table}"):
            done = call(older_than=self.policy.keep_versions, error_if_tagged_old_versions=False)
        stats = done.stats if self.dry_run else done
        return {"versions": stats.old_versions, "files": stats.data_files_removed, "bytes": stats.bytes_removed}


def _rewrite(part: tuple[Table, int, str]) -> str:
    """In a task: rewrite some fragments into files that no version has yet."""
    from lance.optimize import CompactionTask

    table, version, task = part
    with native_errors(f"compacting {table}"):
        made: str = CompactionTask.from_json(task).execute(dataset_at(table, version)).json()
    return made


def _same(type: str, other: str) -> bool:
    return type.replace("_", "") == other.upper().replace("_", "")


def _numbers(facts: Facts) -> dict[str, Any]:
    return {
        "version": facts.version,
        "versions": facts.versions,
        "rows": facts.rows,
        "deleted_rows": facts.deleted_rows,
        "fragments": facts.fragments,
        "small_fragments": facts.small_fragments,
        "bytes": facts.bytes,
        "bytes_stored": facts.bytes_stored,
        "coverage": {index.name: index.coverage for index in facts.indexes},
    }


def _summary(outputs: Sequence[Output]) -> dict[str, Any]:
    details = [each.details for each in outputs]
    return {
        "tables": len(outputs),
        "failed": sum(each.error is not None for each in outputs),
        "fragments rewritten": sum(each.get("compaction", {}).get("fragments", 0) for each in details),
        "rows indexed": sum(index["rows"] for each in details for index in each.get("indexes", ())),
        "versions removed": sum(each.get("clean_up", {}).get("versions", 0) for each in details),
        "bytes freed": sum(each.get("clean_up", {}).get("bytes", 0) for each in details),
    }
