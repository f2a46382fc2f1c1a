"""Columns: an Arrow schema as Unity Catalog keeps it, and back in the contract's JSON form.

Unity's columns have the types of Spark: a column's `type_json` is Spark's field, which other clients understand. The
manual's page on this backend shows what becomes of each type of Arrow. Where Spark's field says less than the Arrow
field did, its metadata hold the whole of it under `lance_ns.field`, so that what comes back is what was given.
"""

import json
import re
from typing import TYPE_CHECKING, Any

from lance_ns.errors import InvalidInput

if TYPE_CHECKING:
    import pyarrow as pa

Json = dict[str, Any]
Spark = str | Json
"""A type of Spark in its JSON form."""

MARK = "lance_ns.field"

_SIMPLE = {
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "uint8": "short",
    "uint16": "integer",
    "uint32": "long",
    "uint64": "decimal(20,0)",
    "halffloat": "float",
    "float": "float",
    "double": "double",
    "string": "string",
    "large_string": "string",
    "string_view": "string",
    "binary": "binary",
    "large_binary": "binary",
    "binary_view": "binary",
    "date32[day]": "date",
    "date64[ms]": "date",
    "null": "void",
}
_ARROW = {
    "boolean": "bool",
    "byte": "int8",
    "short": "int16",
    "integer": "int32",
    "long": "int64",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "binary": "binary",
    "date": "date32",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
    "interval day to second": "duration",
    "void": "null",
}
_SQL = {"tinyint": "byte", "smallint": "short", "int": "integer", "bigint": "long", "null": "void"}
"""What SQL, or Unity's `type_name`, calls otherwise than Spark's JSON form does."""
_TEXTS = {spark: sql for sql, spark in _SQL.items() if sql != "null"}
_NAMES = {"integer": "INT", "void": "NULL", "interval day to second": "INTERVAL"}
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")
_TEXT = re.compile(r"(var)?char\(\d+\)")
_MOST_DIGITS = 38


# --- to the catalog ---------------------------------------------------------------------------------------------------


def columns(schema: "pa.Schema | None") -> list[Json]:
    """The columns of a schema; none without one.

    Raises:
        InvalidInput: it is no Arrow schema.
    """
    if schema is None:
        return []
    import pyarrow as pa

    from lance_ns.lance.schema import to_json

    if not isinstance(schema, pa.Schema):
        raise InvalidInput(f"a schema is a pyarrow.Schema, not {type(schema).__name__}")

    said = to_json(schema)["fields"]
    return [_column(field, whole, position) for position, (field, whole) in enumerate(zip(schema, said, strict=True))]


def _column(field: "pa.Field", whole: Json, position: int) -> Json:
    spark = _field(field)
    if _arrow_field(spark) != whole:
        spark["metadata"] = {MARK: json.dumps(whole, separators=(",", ":"))}
    kind = spark["type"]
    column = {
        "name": field.name,
        "type_text": _text(kind),
        "type_json": json.dumps(spark, separators=(",", ":")),
        "type_name": _name(kind),
        "position": position,
        "nullable": field.nullable,
    }
    if digits := _decimal(kind):
        column |= {"type_precision": digits[0], "type_scale": digits[1]}
    return column


def _field(field: "pa.Field") -> Json:
    return {"name": field.name, "type": _spark(field.type), "nullable": field.nullable, "metadata": {}}


def _spark(kind: "pa.DataType") -> Spark:
    import pyarrow as pa

    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _spark(kind.storage_type)
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _spark(kind.value_type)
    if types.is_struct(kind):
        return {"type": "struct", "fields": [_field(field) for field in kind]}
    if types.is_map(kind):
        return {
            "type": "map",
            "keyType": _spark(kind.key_type),
            "valueType": _spark(kind.item_type),
            "valueContainsNull": kind.item_field.nullable,
        }
    if hasattr(kind, "value_field"):  # all kinds of lists
        return {
            "type": "array",
            "elementType": _spark(kind.value_type),
            "containsNull": kind.value_field.nullable,
        }
    if types.is_decimal(kind) and kind.precision <= _MOST_DIGITS and 0 <= kind.scale <= kind.precision:
        return f"decimal({kind.precision},{kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    if types.is_time(kind):
        return "integer" if kind.bit_width == 32 else "long"
    if types.is_duration(kind):
        return "interval day to second"
    if types.is_fixed_size_binary(kind):
        return "binary"
    return _SIMPLE.get(str(kind), "string")


def _text(kind: Spark) -> str:
    """A type as SQL writes it."""
    if isinstance(kind, str):
        return _TEXTS.get(kind, kind)
    if kind["type"] == "array":
        return f"array<{_text(kind['elementType'])}>"
    if kind["type"] == "map":
        return f"map<{_text(kind['keyType'])},{_text(kind['valueType'])}>"
    fields = ",".join(f"{field['name']}:{_text(field['type'])}" for field in kind["fields"])
    return f"struct<{fields}>"


def _name(kind: Spark) -> str:
    word = kind if isinstance(kind, str) else kind["type"]
    return _NAMES.get(word, word.partition("(")[0].upper())


# --- from the catalog -------------------------------------------------------------------------------------------------


def schema_of(columns: Any) -> Json | None:
    """The schema that a table's columns make, in the contract's form; None where there are none.

    A type that has no counterpart stands under the catalog's own name for it.
    """
    known = [column for column in columns if isinstance(column, dict)] if isinstance(columns, list) else []
    if not known:
        return None
    return {"fields": [_read(column) for column in sorted(known, key=_position)]}


def _position(column: Json) -> int:
    found = column.get("position")
    return found if isinstance(found, int) else 0


def _read(column: Json) -> Json:
    """A column as a field: of what its type_json says, be it a field or a bare type, else of its text or name."""
    said = _loaded(column.get("type_json"))
    spark = said if isinstance(said, dict) and "name" in said else {"type": said or _words(column)}
    whole = _marked(spark)
    if whole is not None:
        return whole
    nullable = column.get("nullable")
    return _arrow_field(
        {
            "name": str(column.get("name", "")),
            "type": spark["type"],
            "nullable": nullable if isinstance(nullable, bool) else spark.get("nullable", True),
        }
    )


def _marked(spark: Json) -> Json | None:
    metadata = spark.get("metadata")
    whole = _loaded(metadata.get(MARK)) if isinstance(metadata, dict) else None
    return whole if isinstance(whole, dict) and {"name", "nullable", "type"} <= whole.keys() else None


def _words(column: Json) -> str:
    return str(column.get("type_text") or column.get("type_name") or "unknown").lower()


def _loaded(text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _arrow_field(spark: Any) -> Json:
    field = spark if isinstance(spark, dict) else {}
    return {
        "name": str(field.get("name", "")),
        "nullable": field.get("nullable") is not False,
        "type": _arrow(field.get("type")),
    }


def _arrow(kind: Any) -> Json:
    """A type of Spark in the contract's form, whatever it is."""
    if not isinstance(kind, dict):
        return _arrow_of_word(str(kind or "unknown"))
    if kind.get("type") == "array":
        return {"type": "list", "fields": [_inner("item", kind.get("elementType"), kind.get("containsNull"))]}
    if kind.get("type") == "map":
        key = _inner("key", kind.get("keyType"), False)
        value = _inner("value", kind.get("valueType"), kind.get("valueContainsNull"))
        entries = {"name": "entries", "nullable": False, "type": {"type": "struct", "fields": [key, value]}}
        return {"type": "map", "fields": [entries]}
    if kind.get("type") == "struct":
        fields = kind.get("fields")
        return {"type": "struct", "fields": [_arrow_field(each) for each in fields] if isinstance(fields, list) else []}
    return _arrow_of_word(str(kind.get("type") or "unknown"))


def _inner(name: str, kind: Any, nullable: Any) -> Json:
    return {"name": name, "nullable": nullable is not False, "type": _arrow(kind)}


def _arrow_of_word(word: str) -> Json:
    word = _SQL.get(word, word)
    if digits := _decimal(word):
        return {"type": "decimal128", "length": digits[0] * 1000 + digits[1]}
    if _TEXT.fullmatch(word):
        return {"type": "utf8"}
    return {"type": _ARROW.get(word, word)}


def _decimal(kind: Spark) -> tuple[int, int] | None:
    found = _DECIMAL.fullmatch(kind) if isinstance(kind, str) else None
    return (int(found[1]), int(found[2])) if found else None
