"""What a task writes: fragments of a table that no version has yet."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import ConcurrentModification, LanceNsError, TableAlreadyExists
from lance_ns.lance.errors import pylance_errors
from lance_ns_spark.commits import Target, Written
from lance_ns_spark.tables import dataset_at

if TYPE_CHECKING:
    import pyarrow as pa


@attrs.frozen(kw_only=True)
class FileOptions:
    """How data files are made; None leaves it to pylance."""

    rows_per_file: int | None = None
    bytes_per_file: int | None = None
    storage_version: str | None = None

    def for_pylance(self) -> dict[str, Any]:
        """The options by pylance's names."""
        named = {
            "max_rows_per_file": self.rows_per_file,
            "max_bytes_per_file": self.bytes_per_file,
            "data_storage_version": self.storage_version,
        }
        return {name: value for name, value in named.items() if value is not None}


def write_fragments(target: Target, batches: "pa.RecordBatchReader", options: FileOptions | None = None) -> Written:
    """Write batches, whose schema is the target's, as fragments of their own.

    Raises:
        ConcurrentModification: another job created the table's data meanwhile.
    """
    from lance.fragment import write_fragments

    appends = target.mode == "append" and target.read_version > 0
    mode = "append" if appends else "overwrite" if target.read_version else "create"
    into = dataset_at(target.table, target.read_version) if appends else target.place.location
    given = _Given(batches)
    try:
        with pylance_errors(f"writing to {target.table}"):
            made = write_fragments(
                given.reader(),
                into,
                mode=mode,
                storage_options=dict(target.place.storage),
                **(options or FileOptions()).for_pylance(),
            )
    except LanceNsError as error:
        if given.error is not None:
            raise given.error from None
        if not isinstance(error, TableAlreadyExists):
            raise
        raise ConcurrentModification(
            f"another job created {target.table} meanwhile", hint="run the job again", identifier=target.table.id
        ) from error
    return Written(
        tuple(json.dumps(fragment.to_json()) for fragment in made),
        sum(fragment.num_rows for fragment in made),
        sum(file.file_size_bytes or 0 for fragment in made for file in fragment.files),
    )


class _Given:
    """Batches on their way to pylance, which tells the text of an error that they raise, but not the error."""

    def __init__(self, batches: "pa.RecordBatchReader") -> None:
        self._batches = batches
        self.error: LanceNsError | None = None

    def reader(self) -> "pa.RecordBatchReader":
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self._batches.schema, self._each())

    def _each(self) -> "Iterator[pa.RecordBatch]":
        try:
            yield from self._batches
        except LanceNsError as error:
            self.error = error
            raise
