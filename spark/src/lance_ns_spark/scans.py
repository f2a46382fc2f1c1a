"""Scans: what is to be read of a table, at one version, and how it is shared out among tasks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import InvalidInput
from lance_ns.lance.errors import pylance_errors
from lance_ns_spark import types
from lance_ns_spark.tables import Table, dataset_at

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

BATCH_BYTES = 4 << 20
"""About how much a batch holds on its way to Spark: smaller ones cost calls, larger ones cost caches."""
BATCH_ROWS = 1 << 16
"""The most rows of a batch, however narrow they are."""
_GUESSED_TEXT = 32

Columns = Sequence[str] | Mapping[str, str]


@attrs.frozen
class Part:
    """What one task reads: some fragments, or, without any, whatever the scan finds in the whole table."""

    fragments: tuple[int, ...] | None
    limit: int | None = None


@attrs.define(eq=False, slots=False)
class Scan:
    """Columns and rows of a table at a version.

    It travels to the workers by pickle. Searches and limits hold for the whole table, however many tasks read it.
    """

    table: Table
    version: int
    columns: Columns | None = None
    filter: str | None = None
    limit: int | None = None
    batch_rows: int | None = None
    nearest: Mapping[str, Any] | None = None
    full_text: str | Mapping[str, Any] | None = None

    @property
    def dataset(self) -> "lance.LanceDataset":
        """The data, opened once in a process."""
        return dataset_at(self.table, self.version)

    @cached_property
    def schema(self) -> "pa.Schema":
        """The columns as Spark is given them.

        Raises:
            InvalidInput: there is no such column, or an expression or the filter cannot be understood.
            Unsupported: Spark has no type for a column.
        """
        with pylance_errors(f"reading {self.table}"):
            try:
                found = self._scanner(Part(None)).projected_schema
            except ValueError as error:
                raise InvalidInput(
                    f"{self.table} cannot be read that way: {error}",
                    hint=f"its columns are {', '.join(self.dataset.schema.names)}",
                ) from None
        return types.schema_for_spark(found)

    def parts(self, about: int) -> list[Part]:
        """The scan shared out evenly among about that many tasks."""
        if self.nearest is not None or self.full_text is not None or (self.limit is not None and self.filter):
            return [Part(None, self.limit)]
        with pylance_errors(f"reading {self.table}"):
            sizes = [(each.fragment_id, each.count_rows()) for each in self.dataset.get_fragments()]
        sizes = [(fragment, rows) for fragment, rows in sizes if rows]
        if self.limit is None:
            return [Part(each) for each in shared_out(sizes, about)]
        whole, last, left = [], None, self.limit
        for fragment, rows in sizes:
            if rows > left:
                last = Part((fragment,), left) if left else None
                break
            whole.append((fragment, rows))
            left -= rows
        return [*(Part(each) for each in shared_out(whole, about)), *([last] if last else [])]

    def batches(self, part: Part) -> "Iterator[pa.RecordBatch]":
        """What a part of the table has, as Spark is given it."""
        schema = self.schema
        with pylance_errors(f"reading {self.table}"):
            for batch in self._scanner(part).to_batches():
                if batch.num_rows:
                    yield types.for_spark(batch, schema)

    def count(self) -> int:
        """How many rows there are, without reading them where no filter asks for it."""
        with pylance_errors(f"counting the rows of {self.table}"):
            rows = int(self.dataset.count_rows(self.filter))
        return rows if self.limit is None else min(rows, self.limit)

    def _scanner(self, part: Part) -> Any:
        dataset = self.dataset
        chosen = (
            {} if part.fragments is None else {"fragments": [dataset.get_fragment(each) for each in part.fragments]}
        )
        searched = {} if self.nearest is None and self.full_text is None else {"prefilter": True}
        return dataset.scanner(
            columns=_for_pylance(self.columns),
            filter=self.filter,
            limit=part.limit,
            nearest=None if self.nearest is None else dict(self.nearest),
            full_text_query=self.full_text,
            batch_size=self.batch_rows or batch_rows(dataset.schema, self.columns),
            scan_in_order=False,
            blob_handling="all_binary",
            **chosen,
            **searched,
        )


def of(
    table: Table,
    *,
    columns: Columns | None = None,
    filter: str | None = None,
    version: int | str | None = None,
    limit: int | None = None,
    batch_rows: int | None = None,
    nearest: Mapping[str, Any] | None = None,
    full_text: str | Mapping[str, Any] | None = None,
) -> Scan:
    """A scan of a table as it is now, or at a version or tag.

    Raises:
        TableNotFound: the catalog has no such table.
        InvalidTableState: it is declared, but has no data.
        InvalidInput: a limit or number of rows that cannot be, an empty list of columns, two searches at once.
    """
    if limit is not None and limit < 0:
        raise InvalidInput(f"a limit of {limit} rows cannot be")
    if batch_rows is not None and batch_rows < 1:
        raise InvalidInput(f"batches of {batch_rows} rows cannot be")
    if columns is not None and (isinstance(columns, str) or not columns):
        raise InvalidInput("columns are names, or a mapping of names to expressions", hint="leave it out for all")
    if nearest is not None and full_text is not None:
        raise InvalidInput("nearest and full_text are two searches", hint="read each, and join what they find")
    return Scan(
        table, int(table.dataset(version).version), columns, filter, limit, batch_rows, _search(nearest), full_text
    )


def _search(nearest: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if nearest is None:
        return None
    if missing := [name for name in ("column", "q") if name not in nearest]:
        raise InvalidInput(f"nearest lacks {' and '.join(missing)}", hint='{"column": "v", "q": [0.1, …], "k": 10}')
    import numpy as np

    found = dict(nearest)
    found["q"] = np.asarray(nearest["q"], dtype=np.float32)
    return found


def batch_rows(schema: "pa.Schema", columns: Columns | None) -> int:
    """How many rows of some columns make a batch of the size that suits Spark."""
    named = set(columns) if columns is not None and not isinstance(columns, Mapping) else set(schema.names)
    width = sum(_width(field.type) for field in schema if field.name in named)
    return max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, width)))


def shared_out(sizes: Sequence[tuple[int, int]], among: int) -> list[tuple[int, ...]]:
    """Fragments in their order, cut into that many runs of about as many rows each."""
    total = sum(rows for _, rows in sizes)
    runs: list[list[int]] = [[] for _ in range(max(1, among))]
    before = 0
    for fragment, rows in sizes:
        middle = before + rows / 2
        runs[min(len(runs) - 1, int(middle * len(runs) / total))].append(fragment)
        before += rows
    return [tuple(run) for run in runs if run]


def _width(type: "pa.DataType") -> int:
    """About how many bytes a value takes."""
    from pyarrow import types as t

    if t.is_fixed_size_list(type):
        return int(type.list_size) * _width(type.value_type)
    if t.is_nested(type):
        return sum(_width(type.field(index).type) for index in range(type.num_fields)) * (1 if t.is_struct(type) else 8)
    try:
        return max(1, int(type.bit_width) // 8)
    except ValueError:
        return _GUESSED_TEXT


def _for_pylance(columns: Columns | None) -> Any:
    if columns is None:
        return None
    return dict(columns) if isinstance(columns, Mapping) else list(columns)


def parsed(text: str) -> Any:
    """A value of an option: JSON where it looks like it, else the text itself.

    Raises:
        InvalidInput: it begins as JSON does, and is none.
    """
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{text!r} is no JSON: {error}") from None
