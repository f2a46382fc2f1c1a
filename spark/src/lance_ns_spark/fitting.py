"""Arrow data made to fit a Lance table: columns by name, types cast without loss, vectors of a fixed length."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lance_ns.errors import TableColumnNotFound, TableSchemaValidationError
from lance_ns.lance.errors import pylance_errors
from lance_ns_spark import types
from lance_ns_spark.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa


def fitting_schema(
    source: "pa.Schema",
    *,
    vectors: Mapping[str, int] | None = None,
    existing: "pa.Schema | None" = None,
    evolve: bool = False,
) -> "pa.Schema":
    """The schema under which a source is written: the existing table's, or else its own with vectors of fixed length.

    Args:
        source: the schema of the rows.
        vectors: the dimension of each column that holds vectors.
        existing: the schema of the table that the rows are appended to.
        evolve: whether columns that the table lacks are added to it.

    Raises:
        TableColumnNotFound: a vector's column is not in the source.
        TableSchemaValidationError: the source does not fit the table.
    """
    import pyarrow as pa

    _check_names(source.names)
    wanted = _with_vectors(source, vectors or {})
    if existing is None:
        return wanted
    new = [field.with_nullable(True) for field in wanted if field.name not in existing.names]
    if new and not evolve:
        raise TableSchemaValidationError(
            f"the table has no column {', '.join(repr(field.name) for field in new)}",
            hint="leave it out, or ask for `evolve`, which adds columns",
        )
    for field in existing:
        if field.name not in source.names:
            if not field.nullable:
                raise TableSchemaValidationError(
                    f"the source has no column {field.name!r}, which the table needs", hint="add it with `sql`"
                )
            continue
        given = wanted.field(field.name).type
        dimension = (vectors or {}).get(field.name)
        if dimension is not None and pa.types.is_fixed_size_list(field.type) and field.type.list_size != dimension:
            raise TableSchemaValidationError(
                f"column {field.name!r} of the table has vectors of {field.type.list_size} values, not {dimension}"
            )
        if not given.equals(field.type):
            _check_cast(field.name, given, field.type)
    return pa.schema([*existing, *new], metadata=existing.metadata)


def fitted(batches: "Iterable[pa.RecordBatch]", schema: "pa.Schema") -> "pa.RecordBatchReader":
    """The batches under a schema; columns that they lack are null.

    Raises:
        TableSchemaValidationError: while it is read: a value does not fit its column.
    """
    import pyarrow as pa

    return pa.RecordBatchReader.from_batches(schema, (types.for_lance(batch, schema) for batch in batches))


def grow(table: Table, schema: "pa.Schema") -> None:
    """Add the columns of a schema that a table lacks, as nulls: a version of its own, which writes no data."""
    dataset = table.dataset()
    new = [field for field in schema if field.name not in dataset.schema.names]
    if new:
        with pylance_errors(f"adding columns to {table}"):
            dataset.add_columns(new)


def _check_names(names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise TableSchemaValidationError(f"there are two columns {name!r}", hint="rename or leave out one of them")
        if not name or "." in name or "`" in name:
            raise TableSchemaValidationError(
                f"a Lance table can have no column {name!r}", hint="rename it with `sql`, without dots and backticks"
            )


def _with_vectors(schema: "pa.Schema", vectors: Mapping[str, int]) -> "pa.Schema":
    import pyarrow as pa

    fields = {field.name: field for field in schema}
    for name, dimension in vectors.items():
        if name not in fields:
            raise TableColumnNotFound(
                f"the source has no column {name!r} for vectors", hint=f"it has {', '.join(schema.names)}"
            )
        given = fields[name].type
        if pa.types.is_fixed_size_list(given) and given.list_size == dimension:
            continue
        if not (pa.types.is_list(given) or pa.types.is_large_list(given)):
            raise TableSchemaValidationError(
                f"column {name!r} is {given}, not a list of {dimension} numbers", hint="vectors are lists of numbers"
            )
        fields[name] = fields[name].with_type(pa.list_(pa.field("item", given.value_type), dimension))
    return pa.schema(list(fields.values()), metadata=schema.metadata)


def _check_cast(name: str, given: "pa.DataType", wanted: "pa.DataType") -> None:
    import pyarrow as pa

    try:
        pa.array([], given).cast(wanted)
    except pa.ArrowException as error:
        raise TableSchemaValidationError(
            f"column {name!r} is {given} in the source and {wanted} in the table", hint="cast it with `sql`"
        ) from error
