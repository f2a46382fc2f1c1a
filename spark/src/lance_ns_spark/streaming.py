"""Streams: a source of the rows that are appended to a table, and a sink that has every batch exactly once.

An offset is a version of the table. A batch holds the rows that the versions between two offsets appended; versions
that only move rows about, such as compactions and new indexes, hold none. A version that takes rows away or changes
them cannot be told in a stream of appended rows, and stops it, unless it is told to pass over such versions.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

# This module is imported only where there is a session.
from pyspark.sql.datasource import (  # noqa: TID253
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from lance_ns.errors import InvalidInput, InvalidTableState, TableVersionNotFound, Unsupported
from lance_ns.lance.errors import pylance_errors
from lance_ns_spark import commits, frames
from lance_ns_spark.commits import Target, Written
from lance_ns_spark.options import Options
from lance_ns_spark.scans import Part, Scan, shared_out
from lance_ns_spark.source import PartOfTable, tasks_of
from lance_ns_spark.streams import QUERY
from lance_ns_spark.tables import Table, dataset_at

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

VERSION = "version"
_MOVES_ROWS = ("Rewrite", "CreateIndex", "UpdateConfig", "Project", "Merge")


class StreamReader(DataSourceStreamReader):
    """Reads the rows that are appended to a table."""

    def __init__(self, chosen: Options) -> None:
        for name in ("version", "tag", "limit", "nearest", "full_text"):
            if name in chosen.values:
                raise InvalidInput(f"option {name} cannot be used in a stream", hint="leave it out")
        self._chosen = chosen
        self._table = chosen.table()
        self._skips = chosen.flag("skip_changes")
        self._starting = chosen.values.get("starting", "earliest")

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Where a new stream starts."""
        if self._starting == "earliest":
            return {VERSION: 0}
        if self._starting == "latest":
            return self.latestOffset()
        return {VERSION: self._chosen.number("starting") or 0}

    def latestOffset(self) -> dict[str, int]:  # type: ignore[override]  # noqa: N802  # Spark's older form: all there is
        """The newest version."""
        return {VERSION: int(self._table.dataset().version)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """What the versions after `start`, up to `end`, appended; all rows of `end` where the stream begins."""
        about = tasks_of(self._chosen)
        if start[VERSION] == 0:
            scan = self._scan(end[VERSION])
            return [PartOfTable(scan, part) for part in scan.parts(about)]
        found: list[InputPartition] = []
        for version in range(start[VERSION] + 1, end[VERSION] + 1):
            sizes = appended(self._table, version, skip_changes=self._skips)
            if sizes:
                scan = self._scan(version)
                found += [PartOfTable(scan, Part(run)) for run in shared_out(sizes, about)]
        return found

    def read(self, partition: InputPartition) -> "Iterator[pa.RecordBatch]":
        """What a task's share has."""
        assert isinstance(partition, PartOfTable)  # noqa: S101
        return partition.scan.batches(partition.part)

    def _scan(self, version: int) -> Scan:
        return self._chosen.scan(version)


def appended(table: Table, version: int, *, skip_changes: bool = False) -> list[tuple[int, int]]:
    """The fragments that a version added to the one before, and their rows.

    Raises:
        InvalidTableState: the version changed or removed rows, or is no longer there.
    """
    try:
        with pylance_errors(f"reading version {version} of {table}"):
            operation = dataset_at(table, version).read_transaction(version).operation
        after, before = _fragments(table, version), _fragments(table, version - 1)
    except TableVersionNotFound:
        raise InvalidTableState(
            f"version {version} of {table}, or the one before, was cleaned up before the stream read it",
            hint="keep versions for longer than streams stand still; start anew with a new checkpoint",
            identifier=table.id,
        ) from None
    kind = type(operation).__name__
    if kind == "Append" or _only_inserts(operation):
        return [(id, rows) for id, rows in after.items() if id not in before]
    if kind in _MOVES_ROWS or after == before or skip_changes:
        return []
    raise InvalidTableState(
        f"version {version} of {table} changed or removed rows ({kind}), which a stream of appended rows cannot tell",
        hint="start anew with a new checkpoint, or pass over such versions with skip_changes=true",
        identifier=table.id,
    )


def _only_inserts(operation: Any) -> bool:
    return type(operation).__name__ == "Update" and not (operation.removed_fragment_ids or operation.updated_fragments)


def _fragments(table: Table, version: int) -> dict[int, int]:
    with pylance_errors(f"reading version {version} of {table}"):
        return {each.fragment_id: each.count_rows() for each in dataset_at(table, version).get_fragments()}


class Batch(WriterCommitMessage):
    """What a task wrote of a batch, for which stream, and the version that it saw."""

    def __init__(self, written: Written, query: str, target: Target) -> None:
        self.written = written
        self.query = query
        self.target = target


class StreamWriter(DataSourceStreamArrowWriter):
    """Appends each batch of a stream once: the id of its job is that of the stream and the batch."""

    def __init__(self, chosen: Options, schema: "StructType", overwrite: bool) -> None:
        if overwrite:
            raise Unsupported("a stream only appends to a table", hint='.outputMode("append")')
        self._table = chosen.table()
        ready = frames.ready_schema(schema, self._table, "append", chosen.vectors(), chosen.flag("evolve"))
        target = commits.prepare(self._table, ready, "append")
        if target.read_version == 0:  # tasks need a table to append to: an empty version makes it one
            try:
                commits.commit(target, [], f"create/{target.table.ns.show(target.table.id)}"[:200])
            except BaseException:
                commits.give_up(target, [])
                raise
        self._schema = ready

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> WriterCommitMessage:
        """Write a task's rows as fragments that no version has yet."""
        from pyspark import TaskContext

        context = TaskContext.get()
        query = context.getLocalProperty(QUERY) if context is not None else None
        target = commits.prepare(self._table, self._schema, "append")
        return Batch(frames.FragmentWriter(target, None)(iterator), query or "unknown", target)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Make a version of a batch, unless an earlier run of the stream has."""
        batches = [message for message in messages if isinstance(message, Batch) and message.written.rows]
        if batches:
            oldest = min((each.target for each in batches), key=lambda target: target.read_version)
            commits.commit(oldest, [each.written for each in batches], f"stream/{batches[0].query}/{batchId}")

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: ARG002, N803
        """Delete the files that are known, and leave the table as it was."""
        for message in messages:
            if isinstance(message, Batch):
                commits.discard(message.target.place, [message.written])
