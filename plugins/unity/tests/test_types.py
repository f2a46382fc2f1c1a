"""Arrow's types as columns of Unity's, and back."""

import json
import subprocess
import sys

import pyarrow as pa
import pytest

from lance_ns.errors import InvalidInput
from lance_ns.lance.schema import to_json
from lance_ns_unity import types

ARRAY = {"type": "array", "elementType": "float", "containsNull": True}
EXACT = {
    "bool": (pa.bool_(), "boolean", "boolean", "BOOLEAN"),
    "int8": (pa.int8(), "byte", "tinyint", "BYTE"),
    "int16": (pa.int16(), "short", "smallint", "SHORT"),
    "int32": (pa.int32(), "integer", "int", "INT"),
    "int64": (pa.int64(), "long", "bigint", "LONG"),
    "float32": (pa.float32(), "float", "float", "FLOAT"),
    "float64": (pa.float64(), "double", "double", "DOUBLE"),
    "string": (pa.string(), "string", "string", "STRING"),
    "binary": (pa.binary(), "binary", "binary", "BINARY"),
    "date32": (pa.date32(), "date", "date", "DATE"),
    "decimal": (pa.decimal128(12, 3), "decimal(12,3)", "decimal(12,3)", "DECIMAL"),
    "timestamp with a zone": (pa.timestamp("us", tz="Europe/Berlin"), "timestamp", "timestamp", "TIMESTAMP"),
    "timestamp without": (pa.timestamp("ns"), "timestamp_ntz", "timestamp_ntz", "TIMESTAMP_NTZ"),
    "duration": (pa.duration("us"), "interval day to second", "interval day to second", "INTERVAL"),
    "null": (pa.null(), "void", "void", "NULL"),
    "list": (pa.list_(pa.float32()), ARRAY, "array<float>", "ARRAY"),
    "map": (
        pa.map_(pa.string(), pa.int32()),
        {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
        "map<string,int>",
        "MAP",
    ),
    "struct": (
        pa.struct([pa.field("X", pa.int64(), nullable=False)]),
        {"type": "struct", "fields": [{"name": "X", "type": "long", "nullable": False, "metadata": {}}]},
        "struct<X:bigint>",
        "STRUCT",
    ),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), "string", "string", "STRING"),
}
"""What Spark's type tells all of."""
MARKED = {
    "uint8": (pa.uint8(), "short", "smallint", "SHORT"),
    "uint16": (pa.uint16(), "integer", "int", "INT"),
    "uint32": (pa.uint32(), "long", "bigint", "LONG"),
    "uint64": (pa.uint64(), "decimal(20,0)", "decimal(20,0)", "DECIMAL"),
    "float16": (pa.float16(), "float", "float", "FLOAT"),
    "large_string": (pa.large_string(), "string", "string", "STRING"),
    "large_binary": (pa.large_binary(), "binary", "binary", "BINARY"),
    "fixed_size_binary": (pa.binary(16), "binary", "binary", "BINARY"),
    "date64": (pa.date64(), "date", "date", "DATE"),
    "time32": (pa.time32("ms"), "integer", "int", "INT"),
    "time64": (pa.time64("ns"), "long", "bigint", "LONG"),
    "small decimal": (pa.decimal64(10, 2), "decimal(10,2)", "decimal(10,2)", "DECIMAL"),
    "large decimal": (pa.decimal256(60, 2), "string", "string", "STRING"),
    "decimal of a negative scale": (pa.decimal128(5, -2), "string", "string", "STRING"),
    "large_list": (pa.large_list(pa.float32()), ARRAY, "array<float>", "ARRAY"),
    "vector": (pa.list_(pa.float32(), 768), ARRAY, "array<float>", "ARRAY"),
    "list with another name inside": (pa.list_(pa.field("element", pa.float32())), ARRAY, "array<float>", "ARRAY"),
    "list_view": (pa.list_view(pa.float32()), ARRAY, "array<float>", "ARRAY"),
    "run-end encoded": (pa.run_end_encoded(pa.int32(), pa.int8()), "byte", "tinyint", "BYTE"),
    "extension": (pa.uuid(), "binary", "binary", "BINARY"),
    "interval of months": (pa.month_day_nano_interval(), "string", "string", "STRING"),
    "union": (pa.dense_union([pa.field("a", pa.int8())]), "string", "string", "STRING"),
}
"""What Spark's type tells a part of, so that the field is marked."""


@pytest.mark.parametrize("kind", [*EXACT, *MARKED])
def test_every_type_has_a_column_and_comes_back_as_it_was(kind):
    arrow, spark, text, name = {**EXACT, **MARKED}[kind]
    for nullable in {True, arrow == pa.null()}:  # a null field is always nullable
        schema = pa.schema([pa.field("Name", arrow, nullable=nullable)])
        (column,) = types.columns(schema)
        said = json.loads(column["type_json"])
        assert (said["name"], said["type"], said["nullable"]) == ("Name", spark, nullable)
        assert (column["type_text"], column["type_name"]) == (text, name)
        assert (column["name"], column["position"], column["nullable"]) == ("Name", 0, nullable)
        assert bool(said["metadata"]) == (kind in MARKED), "a field is marked where that says more, and only there"
        assert types.schema_of([column]) == to_json(schema)


def test_what_is_nested_deep_comes_back_as_it_was():
    inner = pa.struct(
        [pa.field("v", pa.list_(pa.uint8(), 3)), pa.field("größe", pa.map_(pa.int8(), pa.large_string()))]
    )
    schema = pa.schema([pa.field("outer", pa.list_(pa.struct([pa.field("inner", pa.large_list(inner))])))])
    (column,) = types.columns(schema)
    assert column["type_text"] == "array<struct<inner:array<struct<v:array<smallint>,größe:map<tinyint,string>>>>>"
    assert types.schema_of([column]) == to_json(schema)


def test_metadata_of_a_field_comes_back():
    schema = pa.schema([pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    assert types.schema_of(types.columns(schema)) == to_json(schema)


def test_a_decimal_tells_its_digits():
    (column,) = types.columns(pa.schema([("amount", pa.decimal128(12, 3))]))
    assert (column["type_precision"], column["type_scale"]) == (12, 3)


def test_columns_are_read_in_the_order_of_their_positions():
    columns = types.columns(pa.schema([("b", pa.int8()), ("a", pa.int8()), ("c", pa.int8())]))
    assert [field["name"] for field in types.schema_of(columns[::-1])["fields"]] == ["b", "a", "c"]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ({"type_json": '"long"'}, {"type": "int64"}),
        ({"type_json": '{"type":"long"}'}, {"type": "int64"}),
        ({"type_json": '{"name":"c","type":"varchar(20)","nullable":true,"metadata":{}}'}, {"type": "utf8"}),
        ({"type_json": '{"name":"c","type":"decimal(5, 1)"}'}, {"type": "decimal128", "length": 5001}),
        ({"type_text": "BIGINT"}, {"type": "int64"}),
        ({"type_text": "decimal(5,1)"}, {"type": "decimal128", "length": 5001}),
        ({"type_text": "struct<a:int>"}, {"type": "struct<a:int>"}),
        ({"type_name": "SHORT"}, {"type": "int16"}),
        ({"type_name": "NULL"}, {"type": "null"}),
        ({"type_json": '{"name":"c","type":{"type":"udt","class":"X"}}'}, {"type": "udt"}),
        ({"type_json": '{"name":"c","type":"variant"}'}, {"type": "variant"}),
        ({"type_json": "{", "type_text": "geometry"}, {"type": "geometry"}),
        ({"type_json": "[1]"}, {"type": "[1]"}),
        ({"type_json": '{"name":"c","type":null}'}, {"type": "unknown"}),
        ({"type_json": '{"name":"c","type":{"type":"struct","fields":7}}'}, {"type": "struct", "fields": []}),
        ({"type_json": 7, "type_text": None}, {"type": "unknown"}),
        ({}, {"type": "unknown"}),
        ({"type_json": '{"name":"c","type":"long","metadata":{"lance_ns.field":"[]"}}'}, {"type": "int64"}),
        ({"type_json": '{"name":"c","type":"long","metadata":[]}'}, {"type": "int64"}),
    ],
)
def test_columns_of_other_clients_never_crash(column, kind):
    assert types.schema_of([{"name": "c", **column}]) == {"fields": [{"name": "c", "nullable": True, "type": kind}]}


@pytest.mark.parametrize("columns", [None, [], {}, "columns", [None, 3]])
def test_a_table_without_columns_has_no_schema(columns):
    assert types.schema_of(columns) is None


def test_what_is_no_schema_is_refused():
    with pytest.raises(InvalidInput, match=r"pyarrow\.Schema, not dict"):
        types.columns({"id": "int"})


def test_pyarrow_is_imported_only_where_there_is_a_schema():
    program = (
        "import sys; from lance_ns_unity import types, backend;"
        "assert types.columns(None) == []; types.schema_of([{'name': 'c', 'type_json': '\"long\"'}]);"
        "assert 'pyarrow' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
