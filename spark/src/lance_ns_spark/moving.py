"""Rows moved by tasks, as Arrow, from a source that they can read into fragments of a table, and one commit at the end.

What ingest and copy have in common: splits, a journal, retries by Spark, verification, and cleaning up.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from lance_ns.errors import Internal, LanceNsError
from lance_ns.lance.errors import pylance_errors
from lance_ns.paging import side_by_side
from lance_ns_spark import commits, journal, tasks
from lance_ns_spark.arrow_files import ArrowSource, LanceFragments, Split
from lance_ns_spark.checksums import Checksum
from lance_ns_spark.commits import Committed, Target, Written
from lance_ns_spark.fitting import fitted
from lance_ns_spark.journal import Journal, Moved
from lance_ns_spark.progress import Counter, Progress
from lance_ns_spark.results import Output
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions, write_fragments

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

SOURCE = "lance_ns.source"
"""The transaction property that names the table which rows came from."""
SOURCE_VERSION = "lance_ns.source_version"
"""The transaction property that holds the version of that table."""
_READ_BACK_ROWS = 16 * 1024


def move(
    spark: "SparkSession",
    kind: str,
    source: ArrowSource,
    target: Target,
    *,
    job: str,
    kept: Path | None,
    files: FileOptions,
    verify: bool,
    properties: Mapping[str, str],
    progress: Progress,
) -> Output:
    """Move all rows of a source into a table, and make one version of them.

    Args:
        spark: the session.
        kind: what the job calls itself.
        source: what is read.
        target: where it goes.
        job: the job's id.
        kept: the directory of its journal, or None to keep none.
        files: how data files are made.
        verify: whether tasks read again what they wrote, and compare checksums.
        properties: what the transaction tells beside the job's id.
        progress: who is told.
    """
    work = _Work(source, target, files, verify)
    many = spark.sparkContext.defaultParallelism
    with journal.opened(
        kept, _key(source, target, work), lambda: source.splits(many), lambda written: _are_there(target, written)
    ) as notes:
        try:
            moved = _moved(
                spark,
                f"{kind} {target.table}",
                work,
                notes,
                Counter(progress, kind, str(target.table), len(notes.splits)),
            )
            committed = commits.commit(target, [each.written for each in moved], job, properties=properties)
        except BaseException as error:
            _clean_up(target, notes, error)
            raise
        notes.forget()
    return _output(target, moved, committed, verify)


def lineage_of(source: ArrowSource) -> dict[str, str]:
    """What a transaction tells about where its rows came from."""
    if isinstance(source, LanceFragments):
        return {SOURCE: str(source.table), SOURCE_VERSION: str(source.version)}
    return {}


def done_before(table: Table, job: str, kept: Path | None) -> Output | None:
    """What an earlier run of a job made, if it came to its commit."""
    version = commits.find(table, job)
    if version is None:
        return None
    journal.forget(kept)
    with pylance_errors(f"reading a version of {table}"):
        dataset = table.dataset(version)
        transaction = dataset.read_transaction(version)
        made = list(getattr(transaction.operation, "fragments", None) or ())
    return Output(
        name=str(table),
        location=str(dataset.uri),
        version=version,
        read_version=version - 1,
        rows=sum(fragment.num_rows for fragment in made),
        fragments=len(made),
        again=True,
    )


@attrs.frozen
class _Work:
    """What a task does with a split; it travels to the workers."""

    source: ArrowSource
    target: Target
    files: FileOptions
    verify: bool

    def __call__(self, split: Split) -> Moved:
        checksum = Checksum() if self.verify else None
        batches = fitted(self.source.read(split), self.target.schema)
        if checksum is not None:
            batches = _observed(batches, checksum)
        written = write_fragments(self.target, batches, self.files)
        try:
            if not self.source.is_filtered and written.rows != split.rows:
                raise Internal(f"{written.rows} rows of {split.rows} arrived in {self.target.table}")
            if checksum is None:
                return Moved(written)
            again = _read_again(self.target, written)
            if again != checksum.hexdigest():
                raise Internal(f"what was written to {self.target.table} reads back differently")
        except LanceNsError:
            commits.discard(self.target.place, [written])
            raise
        return Moved(written, again)


def _moved(spark: "SparkSession", what: str, work: _Work, notes: Journal, counter: Counter) -> list[Moved]:
    for number, before in notes.done.items():
        counter.add(number, rows=before.written.rows, bytes=before.written.bytes)
    missing = [number for number in range(len(notes.splits)) if number not in notes.done]

    def arrived(index: int, moved: Moved) -> None:
        number = missing[index]
        if notes.note(number, moved):
            counter.add(number, rows=moved.written.rows, bytes=moved.written.bytes)
        elif notes.done[number] != moved:
            commits.discard(work.target.place, [moved.written])  # Spark ran the task twice

    results = tasks.run(spark, what, work, [notes.splits[number] for number in missing], arrived=arrived)
    for index, moved in enumerate(results):
        arrived(index, moved)
    return [notes.done[number] for number in range(len(notes.splits))]


def _clean_up(target: Target, notes: Journal, error: BaseException) -> None:
    """After a failure: keep what was written for the next run if that may go better, or else delete it."""
    may_pass = not isinstance(error, LanceNsError) or error.retryable or isinstance(error, Internal)
    if notes.is_kept and may_pass:
        return
    commits.give_up(target, [moved.written for moved in notes.done.values()])
    notes.forget()


def _key(source: ArrowSource, target: Target, work: _Work) -> str:
    """What fragments depend on: they are of use to another run only if all of it is the same."""
    appends = target.mode == "append" and target.read_version > 0
    # Files name columns by numbers, which a table gives anew when a column is dropped and added again.
    schema = (
        repr(target.table.dataset(target.read_version).lance_schema)
        if appends
        else target.schema.to_string(truncate_metadata=False)
    )
    told = repr([source.fingerprint, target.place.location, appends, schema, work.files, work.verify])
    return hashlib.sha256(told.encode()).hexdigest()


def _are_there(target: Target, written: Sequence[Written]) -> Sequence[bool]:
    from lance.file import LanceFileSession

    session = LanceFileSession(target.place.location, storage_options=dict(target.place.storage))
    with pylance_errors(f"looking for files of {target.table}"):
        return side_by_side(lambda each: all(session.contains(f"data/{file}") for file in each.files), written)


def _observed(batches: "pa.RecordBatchReader", checksum: Checksum) -> "pa.RecordBatchReader":
    import pyarrow as pa

    def each() -> "Iterator[pa.RecordBatch]":
        for batch in batches:
            checksum.update(batch)
            yield batch

    return pa.RecordBatchReader.from_batches(batches.schema, each())


def _read_again(target: Target, written: Written) -> str:
    from lance.file import LanceFileSession

    checksum = Checksum()
    session = LanceFileSession(target.place.location, storage_options=dict(target.place.storage))
    with pylance_errors(f"reading again what was written to {target.table}"):
        for file in written.files:
            for batch in session.open_reader(f"data/{file}").read_all(batch_size=_READ_BACK_ROWS).to_batches():
                checksum.update(batch)
    return checksum.hexdigest()


def _output(target: Target, moved: Sequence[Moved], committed: Committed, verify: bool) -> Output:
    sums = "".join(each.checksum or "" for each in moved)
    return Output(
        name=str(target.table),
        location=target.place.location,
        version=committed.version,
        read_version=target.read_version,
        rows=sum(each.written.rows for each in moved),
        bytes=sum(each.written.bytes for each in moved),
        fragments=sum(len(each.written.fragments) for each in moved),
        again=committed.again,
        details={"checksum": hashlib.sha256(sums.encode()).hexdigest()} if verify else {},
    )
