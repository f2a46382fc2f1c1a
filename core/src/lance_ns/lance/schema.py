"""An Arrow schema in the contract's JSON form."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

_NAMES = {
    "halffloat": "float16",
    "float": "float32",
    "double": "float64",
    "string": "utf8",
    "large_string": "large_utf8",
    "string_view": "utf8",
    "binary_view": "binary",
}


def to_json(schema: pa.Schema) -> dict[str, Any]:
    """A schema as `{"fields": […], "metadata": {…}}`, as the contract's other implementations write it."""
    return _with_metadata({"fields": _fields(schema)}, schema.metadata)


def _fields(fields: Iterable[pa.Field]) -> list[dict[str, Any]]:
    return [
        _with_metadata({"name": field.name, "nullable": field.nullable, "type": _type(field.type)}, field.metadata)
        for field in fields
    ]


def _type(kind: pa.DataType) -> dict[str, Any]:
    types = pa.types
    if isinstance(kind, pa.BaseExtensionType):
        return _type(kind.storage_type)
    if types.is_dictionary(kind):
        return _type(kind.value_type)
    if types.is_struct(kind):
        return {"type": "struct", "fields": _fields(kind)}
    if types.is_map(kind):
        entries = pa.field("entries", pa.struct([kind.key_field, kind.item_field]), nullable=False)
        return {"type": "map", "fields": _fields([entries])}
    if types.is_fixed_size_list(kind):
        return {"type": "fixed_size_list", "fields": _fields([kind.value_field]), "length": kind.list_size}
    if types.is_list(kind) or types.is_large_list(kind):
        return {"type": "list" if types.is_list(kind) else "large_list", "fields": _fields([kind.value_field])}
    if types.is_fixed_size_binary(kind):
        return {"type": "fixed_size_binary", "length": kind.byte_width}
    if types.is_decimal(kind):
        # The form has one number for both: precision times a thousand, plus scale.
        return {"type": f"decimal{kind.bit_width}", "length": kind.precision * 1000 + kind.scale}
    name = str(kind).partition("[")[0]
    return {"type": _NAMES.get(name, name)}


def _with_metadata(content: dict[str, Any], metadata: dict[bytes, bytes] | None) -> dict[str, Any]:
    if not metadata:
        return content
    return {
        **content,
        "metadata": {key.decode(errors="replace"): value.decode(errors="replace") for key, value in metadata.items()},
    }
