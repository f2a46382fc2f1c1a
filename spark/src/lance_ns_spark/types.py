"""Types: one mapping between what a Lance table holds and what Spark knows, in both directions.

`TABLE` is the mapping as the manual shows it. Four functions apply it: `spark_schema` and `for_spark` on the way to
Spark, `lance_schema` and `for_lance` on the way to a table. What has no counterpart is refused by the full name of the
column, `a.b.element` where it is nested, with what to do about it.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Literal

import attrs

from lance_ns.errors import InvalidInput, TableSchemaValidationError, Unsupported

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import DataType, StructType

Direction = Literal["both", "read", "refused"]


@attrs.frozen
class Mapped:
    """One line of the mapping."""

    lance: str
    """The type in the table, as Arrow names it."""
    spark: str
    """The type in Spark, or a dash where there is none."""
    direction: Direction
    """`both`: a new table has it for Spark's type. `read`: read as Spark's type, and written where a table has it."""
    note: str = ""


TABLE: tuple[Mapped, ...] = (
    Mapped("bool", "boolean", "both"),
    Mapped("int8", "tinyint", "both"),
    Mapped("int16", "smallint", "both"),
    Mapped("int32", "int", "both"),
    Mapped("int64", "bigint", "both"),
    Mapped("float", "float", "both"),
    Mapped("double", "double", "both"),
    Mapped("decimal128(p, s)", "decimal(p,s)", "both"),
    Mapped("string", "string", "both"),
    Mapped("binary", "binary", "both"),
    Mapped("date32", "date", "both"),
    Mapped("timestamp[us, UTC]", "timestamp", "both"),
    Mapped("timestamp[us]", "timestamp_ntz", "both"),
    Mapped("time64[ns]", "time(6)", "both"),
    Mapped("duration[us]", "interval day to second", "both"),
    Mapped("null", "void", "both"),
    Mapped("list", "array", "both"),
    Mapped("map", "map", "both"),
    Mapped("struct", "struct", "both"),
    Mapped("fixed_size_list", "array", "both", "the length is the table's, or that in `vectors`; it is checked"),
    Mapped("halffloat", "float", "read", "rounded when it is written"),
    Mapped("uint8", "smallint", "read"),
    Mapped("uint16", "int", "read"),
    Mapped("uint32", "bigint", "read"),
    Mapped("uint64", "decimal(20,0)", "read"),
    Mapped("decimal256(p ≤ 38, s)", "decimal(p,s)", "read"),
    Mapped("large_string, string_view", "string", "read"),
    Mapped("large_binary, binary_view", "binary", "read"),
    Mapped("fixed_size_binary", "binary", "read", "the length is checked when it is written"),
    Mapped("large_list", "array", "read"),
    Mapped("dictionary", "as its values", "read"),
    Mapped("date64", "date", "read"),
    Mapped("timestamp[s or ms]", "timestamp_ntz", "read"),
    Mapped(
        "timestamp[us or coarser, other zone]", "timestamp", "read", "the same moments, shown in the session's zone"
    ),
    Mapped("time32, time64[us]", "time(6)", "read"),
    Mapped("duration[s or ms]", "interval day to second", "read"),
    Mapped("arrow.json", "string", "read"),
    Mapped("arrow.uuid", "binary", "read"),
    Mapped("blob", "binary", "read", "read whole; written only by pylance"),
    Mapped("timestamp[ns]", "–", "refused", 'read it as `columns={"t": "cast(t as bigint)"}`'),
    Mapped("duration[ns]", "–", "refused", 'read it as `columns={"d": "cast(d as bigint)"}`'),
    Mapped("decimal256(p > 38, s)", "–", "refused", 'read it as `columns={"d": "cast(d as double)"}`'),
    Mapped("other extension types", "–", "refused", "leave the column out"),
    Mapped("–", "interval year to month", "refused", "write `cast(i as int)`, the number of months"),
    Mapped("–", "variant", "refused", "write `to_json(v)`"),
    Mapped("–", "geometry, geography", "refused", "write `st_asbinary(g)`"),
    Mapped("–", "user-defined types", "refused", "write the fields that matter"),
)
"""The whole mapping, in the order in which the manual shows it."""


def table() -> str:
    """The mapping as a table of Markdown."""
    how = {"both": "read, written", "read": "read; written where a table has it", "refused": "refused"}
    lines = ["| In the table | In Spark | How | Note |", "|---|---|---|---|"]
    lines += [f"| {each.lance} | {each.spark} | {how[each.direction]} | {each.note} |" for each in TABLE]
    return "\n".join(lines) + "\n"


# To Spark.


def spark_schema(schema: "pa.Schema") -> "StructType":
    """What Spark calls the columns of a table.

    Raises:
        Unsupported: a column has a type that Spark does not have.
    """
    from pyspark.sql.types import StructField, StructType

    return StructType(
        [
            StructField(field.name, _spark_type(_for_spark(field.type, field.name)), field.nullable)
            for field in _unlike_names(schema)
        ]
    )


def schema_for_spark(schema: "pa.Schema") -> "pa.Schema":
    """The Arrow schema in which Spark is given batches of a table: its own types, its own names of nested fields.

    Raises:
        Unsupported: a column has a type that Spark does not have.
    """
    import pyarrow as pa

    return pa.schema(
        [pa.field(field.name, _for_spark(field.type, field.name), field.nullable) for field in _unlike_names(schema)]
    )


def for_spark(batch: "pa.RecordBatch", schema: "pa.Schema") -> "pa.RecordBatch":
    """A batch of a table in the schema that `schema_for_spark` made.

    Raises:
        Unsupported: a value does not fit into Spark's type.
    """
    import pyarrow as pa

    columns = []
    for column, field in zip(batch.columns, schema, strict=True):
        stored = column.storage if isinstance(column.type, pa.BaseExtensionType) else column
        try:
            columns.append(stored if stored.type.equals(field.type) else stored.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise Unsupported(f"column {field.name}: {error}", hint=_leave_out(field.name)) from None
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _for_spark(type: "pa.DataType", name: str) -> "pa.DataType":
    """The Arrow type that Spark reads a stored type as."""
    import pyarrow as pa
    from pyarrow import types as t

    if isinstance(type, pa.BaseExtensionType):
        if type.extension_name in ("arrow.json", "arrow.uuid"):
            return _for_spark(type.storage_type, name)
        raise _refused(type, name, _leave_out(name))
    if t.is_dictionary(type):
        return _for_spark(type.value_type, name)
    if t.is_map(type):
        key = pa.field("key", _for_spark(type.key_type, f"{name}.key"), nullable=False)
        item = type.item_field
        return pa.map_(key, pa.field("value", _for_spark(item.type, f"{name}.value"), item.nullable))
    if t.is_list(type) or t.is_large_list(type) or t.is_fixed_size_list(type):
        element = type.value_field
        return pa.list_(pa.field("element", _for_spark(element.type, f"{name}.element"), element.nullable))
    if t.is_struct(type):
        return pa.struct(
            [pa.field(each.name, _for_spark(each.type, f"{name}.{each.name}"), each.nullable) for each in type]
        )
    if t.is_timestamp(type) or t.is_duration(type):
        if type.unit == "ns":
            raise _refused(type, name, f"Spark counts microseconds: {_as_expression(name, 'bigint')}")
        if t.is_duration(type):
            return pa.duration("us")
        return pa.timestamp("us", tz=None if type.tz is None else "UTC")
    if t.is_decimal(type):
        if type.precision > 38 or type.scale < 0 or type.scale > type.precision:
            raise _refused(type, name, f"Spark's decimals have up to 38 digits: {_as_expression(name, 'double')}")
        return pa.decimal128(type.precision, type.scale)
    if t.is_time(type):
        return pa.time64("ns")
    if t.is_fixed_size_binary(type):
        return pa.binary()
    plain: pa.DataType | None = _read_as().get(type)
    if plain is None:
        raise _refused(type, name, _leave_out(name))
    return plain


def _read_as() -> "Mapping[pa.DataType, pa.DataType]":
    """The types without parameters, and what each is read as."""
    import pyarrow as pa

    same = (pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64())
    return {
        **{each: each for each in (*same, pa.string(), pa.binary(), pa.date32())},
        pa.uint8(): pa.int16(),
        pa.uint16(): pa.int32(),
        pa.uint32(): pa.int64(),
        pa.uint64(): pa.decimal128(20, 0),
        pa.float16(): pa.float32(),
        pa.large_string(): pa.string(),
        pa.string_view(): pa.string(),
        pa.large_binary(): pa.binary(),
        pa.binary_view(): pa.binary(),
        pa.date64(): pa.date32(),
    }


def _spark_type(type: "pa.DataType") -> "DataType":
    """Spark's type for one that `_for_spark` made."""
    from pyarrow import types as t
    from pyspark.sql import types as s

    if t.is_map(type):
        return s.MapType(_spark_type(type.key_type), _spark_type(type.item_type), type.item_field.nullable)
    if t.is_list(type):
        return s.ArrayType(_spark_type(type.value_type), type.value_field.nullable)
    if t.is_struct(type):
        return s.StructType([s.StructField(each.name, _spark_type(each.type), each.nullable) for each in type])
    if t.is_timestamp(type):
        return s.TimestampNTZType() if type.tz is None else s.TimestampType()
    if t.is_decimal(type):
        return s.DecimalType(type.precision, type.scale)
    simple: dict[str, DataType] = {
        "null": s.NullType(),
        "bool": s.BooleanType(),
        "int8": s.ByteType(),
        "int16": s.ShortType(),
        "int32": s.IntegerType(),
        "int64": s.LongType(),
        "float": s.FloatType(),
        "double": s.DoubleType(),
        "string": s.StringType(),
        "binary": s.BinaryType(),
        "date32[day]": s.DateType(),
        "time64[ns]": s.TimeType(6),
        "duration[us]": s.DayTimeIntervalType(),
    }
    return simple[str(type)]


def _unlike_names(schema: "pa.Schema") -> "pa.Schema":
    """A schema whose columns Spark can tell apart."""
    seen: dict[str, str] = {}
    for name in schema.names:
        if (other := seen.setdefault(name.lower(), name)) != name:
            raise Unsupported(
                f"columns {other} and {name} are one to Spark", hint=f'read one as columns={{"{name}_2": "{name}"}}'
            )
    return schema


def _refused(type: "pa.DataType", name: str, hint: str) -> Unsupported:
    return Unsupported(f"column {name}: Spark has no type for {type}", hint=hint)


def _as_expression(name: str, kind: str) -> str:
    if "." in name:
        return _leave_out(name)
    return f'read it as columns={{"{name}": "cast({name} as {kind})"}}, with the other columns beside it'


def _leave_out(name: str) -> str:
    return f"name the columns to read, without {name.partition('.')[0]}"


# To a table.


def lance_schema(
    schema: "StructType", *, vectors: Mapping[str, int] | None = None, existing: "pa.Schema | None" = None
) -> "pa.Schema":
    """The schema in which rows of Spark are written.

    Args:
        schema: that of the rows.
        vectors: the lengths of the columns of arrays that become vectors.
        existing: the schema of the table, where there is one: a column that it has keeps its type.

    Raises:
        Unsupported: a column has a type that no table has.
        TableSchemaValidationError: a column does not fit the type that the table has.
        InvalidInput: `vectors` names a column that is missing or no array, or a length that cannot be.
    """
    import pyarrow as pa

    vectors = dict(vectors or {})
    fields = []
    for column in schema:
        type = _lance_type(column.dataType, column.name)
        nullable = column.nullable
        length = vectors.pop(column.name, None)
        if length is not None:
            type = _vector(type, column.name, length)
        if existing is not None and (index := existing.get_field_index(column.name)) >= 0:
            field = existing.field(index)
            _check_fits(type, field.type, column.name)
            fields.append(field)
        else:
            fields.append(pa.field(column.name, type, nullable))
    if vectors:
        raise InvalidInput(
            f"vectors names {', '.join(vectors)}, which the rows do not have",
            hint=f"they have {', '.join(schema.names)}",
        )
    return pa.schema(fields)


def for_lance(batch: "pa.RecordBatch", schema: "pa.Schema") -> "pa.RecordBatch":
    """A batch of Spark in the schema of a table: by name, with nulls for the columns that it does not have.

    Raises:
        TableSchemaValidationError: a value does not fit, such as a vector of another length.
    """
    import pyarrow as pa

    columns = []
    for field in schema:
        index = batch.schema.get_field_index(field.name)
        column = batch.column(index) if index >= 0 else pa.nulls(batch.num_rows, _stored(field.type))
        columns.append(_fitted(column, field))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _fitted(column: "pa.Array", field: "pa.Field") -> "pa.Array":
    import pyarrow as pa

    type = _stored(field.type)
    if not field.nullable and column.null_count:
        raise TableSchemaValidationError(
            f"column {field.name} has nulls, and the table allows none", hint="fill or filter them"
        )
    for wrong in _misfits(column, field.type, field.name):
        raise wrong
    if not column.type.equals(type):
        try:
            column = _cast(column, type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise TableSchemaValidationError(
                f"column {field.name} does not fit {type}: {error}", hint="cast or filter it before it is written"
            ) from None
    if isinstance(field.type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(field.type, column)
    # Buffers that came over a socket need not be aligned as wide decimals must be for pylance.
    return column.copy_to(pa.default_cpu_memory_manager()) if _holds_decimals(type) else column


def _cast(column: "pa.Array", type: "pa.DataType") -> "pa.Array":
    import pyarrow as pa
    from pyarrow import types as t

    if t.is_fixed_size_list(type) and not column.null_count and t.is_list(column.type):
        values = column.flatten()  # all have the length: nothing needs to be moved
        values = values if values.type.equals(type.value_type) else _cast(values, type.value_type)
        return pa.FixedSizeListArray.from_arrays(values, type=type)
    return column.cast(type)


def _misfits(column: "pa.Array", type: "pa.DataType", name: str) -> Iterator[TableSchemaValidationError]:
    """What is wrong with the vectors of a column, at every depth."""
    import pyarrow.compute as pc
    from pyarrow import types as t

    if t.is_fixed_size_list(type) and t.is_list(column.type):
        lengths = pc.list_value_length(column)
        if not pc.all(pc.equal(lengths, type.list_size), min_count=0).as_py():
            wrong = pc.filter(lengths, pc.not_equal(lengths, type.list_size))[0].as_py()
            yield TableSchemaValidationError(
                f"column {name} has a vector of length {wrong}, and the table's have {type.list_size}",
                hint="make all of one length, or filter the others, before they are written",
            )
        if column.flatten().null_count:
            yield TableSchemaValidationError(
                f"column {name} has a vector with a null inside", hint="fill it, or make the whole vector null"
            )
    elif t.is_struct(type) and t.is_struct(column.type):
        for field in type:
            if (index := column.type.get_field_index(field.name)) >= 0:
                yield from _misfits(column.field(index), field.type, f"{name}.{field.name}")
    elif t.is_list(column.type) and (t.is_list(type) or t.is_large_list(type)):
        yield from _misfits(column.flatten(), type.value_type, f"{name}.element")


def _lance_type(type: "DataType", name: str) -> "pa.DataType":
    """What a new table has for a type of Spark."""
    import pyarrow as pa
    from pyspark.sql import types as s

    if isinstance(type, s.ArrayType):
        return pa.list_(pa.field("item", _lance_type(type.elementType, f"{name}.element"), type.containsNull))
    if isinstance(type, s.MapType):
        value = pa.field("value", _lance_type(type.valueType, f"{name}.value"), type.valueContainsNull)
        return pa.map_(pa.field("key", _lance_type(type.keyType, f"{name}.key"), nullable=False), value)
    if isinstance(type, s.StructType):
        return pa.struct(
            [pa.field(each.name, _lance_type(each.dataType, f"{name}.{each.name}"), each.nullable) for each in type]
        )
    if isinstance(type, s.DecimalType):
        return pa.decimal128(type.precision, type.scale)
    for kind, arrow in (
        (s.StringType, pa.string()),
        (s.BinaryType, pa.binary()),
        (s.BooleanType, pa.bool_()),
        (s.ByteType, pa.int8()),
        (s.ShortType, pa.int16()),
        (s.IntegerType, pa.int32()),
        (s.LongType, pa.int64()),
        (s.FloatType, pa.float32()),
        (s.DoubleType, pa.float64()),
        (s.DateType, pa.date32()),
        (s.TimestampType, pa.timestamp("us", tz="UTC")),
        (s.TimestampNTZType, pa.timestamp("us")),
        (s.TimeType, pa.time64("ns")),
        (s.DayTimeIntervalType, pa.duration("us")),
        (s.NullType, pa.null()),
    ):
        if isinstance(type, kind):
            return arrow
    advice = {
        "YearMonthIntervalType": f"write `cast({name} as int)`, the number of months",
        "VariantType": f"write `to_json({name})`",
        "GeometryType": f"write `st_asbinary({name})`",
        "GeographyType": f"write `st_asbinary({name})`",
    }
    raise Unsupported(
        f"column {name}: a Lance table has no type for Spark's {type.simpleString()}",
        hint=advice.get(type.__class__.__name__, "cast it, or leave the column out"),
    )


def _vector(type: "pa.DataType", name: str, length: int) -> "pa.DataType":
    import pyarrow as pa
    from pyarrow import types as t

    if not t.is_list(type) or not (t.is_floating(type.value_type) or t.is_integer(type.value_type)):
        raise InvalidInput(f"column {name} is {type}, and no vector", hint="vectors are arrays of numbers")
    if length < 1:
        raise InvalidInput(f"column {name}: a vector has no length of {length}", hint="name the number of its elements")
    return pa.list_(pa.field("item", type.value_type), length)


def _check_fits(given: "pa.DataType", has: "pa.DataType", name: str) -> None:
    """Refuse a column whose type is not the one that reading the table gives, nor a narrower one."""
    from pyarrow import types as t

    if t.is_fixed_size_list(given) and (not t.is_fixed_size_list(has) or given.list_size != has.list_size):
        raise TableSchemaValidationError(
            f"column {name} is to be a vector of length {given.list_size}, and the table has {has}",
            hint=f"leave {name} out of vectors: the table knows its length",
        )
    read = _for_spark(has, name)
    if not _narrower(_for_spark(given, name), read):
        wanted = _spark_type(read).simpleString()
        raise TableSchemaValidationError(
            f"column {name} is {_spark_type(_for_spark(given, name)).simpleString()}, and the table has {has}",
            hint=f"cast it to {wanted} before it is written",
        )


def _narrower(given: "pa.DataType", wanted: "pa.DataType") -> bool:
    """Whether all values of one of Spark's types, in Arrow, are values of another."""
    from pyarrow import types as t

    if t.is_struct(given) and t.is_struct(wanted):
        return sorted(each.name for each in given) == sorted(each.name for each in wanted) and all(
            _narrower(each.type, wanted.field(each.name).type) for each in given
        )
    if t.is_map(given) and t.is_map(wanted):
        return _narrower(given.key_type, wanted.key_type) and _narrower(given.item_type, wanted.item_type)
    if t.is_list(given) and t.is_list(wanted):
        return _narrower(given.value_type, wanted.value_type)
    if t.is_decimal(given) and t.is_decimal(wanted):
        whole = given.precision - given.scale <= wanted.precision - wanted.scale
        return bool(whole and given.scale <= wanted.scale)
    numbers = (t.is_signed_integer, t.is_floating)
    if any(kind(given) and kind(wanted) for kind in numbers):
        return bool(given.bit_width <= wanted.bit_width)
    return bool(t.is_null(given) or given.equals(wanted))


def _stored(type: "pa.DataType") -> "pa.DataType":
    import pyarrow as pa

    return type.storage_type if isinstance(type, pa.BaseExtensionType) else type


def _holds_decimals(type: "pa.DataType") -> bool:
    from pyarrow import types as t

    if t.is_nested(type):
        return any(_holds_decimals(type.field(index).type) for index in range(type.num_fields))
    return bool(t.is_decimal(type))
