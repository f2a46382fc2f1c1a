"""The mapping of types, line by line and in both directions."""

import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import lance
import pyarrow as pa
import pytest

from lance_ns.errors import InvalidInput, TableSchemaValidationError, Unsupported
from lance_ns_spark import frames, reading, types
from lance_ns_spark.tables import Table

MOMENT = dt.datetime.fromisoformat("2024-02-29T12:30:15.123456")
IN_UTC = MOMENT.replace(tzinfo=dt.UTC)
SECOND = dt.datetime.fromisoformat("1970-01-01T00:00:01")


def here(moment: dt.datetime) -> dt.datetime:
    """A moment in UTC as PySpark shows it: in the zone of the machine, which it does not tell."""
    return moment.replace(tzinfo=dt.UTC).astimezone().replace(tzinfo=None)


# Each line of the mapping that reads: columns of it in a table, and what Spark gives for them.
READ: dict[str, list[tuple[pa.Array, str, list[Any]]]] = {
    "bool": [(pa.array([True, None]), "boolean", [True, None])],
    "int8": [(pa.array([-128, None], pa.int8()), "tinyint", [-128, None])],
    "int16": [(pa.array([-(2**15), None], pa.int16()), "smallint", [-(2**15), None])],
    "int32": [(pa.array([-(2**31), None], pa.int32()), "int", [-(2**31), None])],
    "int64": [(pa.array([-(2**63), None], pa.int64()), "bigint", [-(2**63), None])],
    "float": [(pa.array([1.5, None], pa.float32()), "float", [1.5, None])],
    "double": [(pa.array([float("inf"), None], pa.float64()), "double", [float("inf"), None])],
    "decimal128(p, s)": [
        (pa.array([Decimal("-12345678901234567890.12"), None], pa.decimal128(38, 2)), "decimal(38,2)",
         [Decimal("-12345678901234567890.12"), None]),
        (pa.array([Decimal("1.5"), None], pa.decimal128(5, 1)), "decimal(5,1)", [Decimal("1.5"), None]),
    ],
    "string": [(pa.array(["", "žluťoučký"]), "string", ["", "žluťoučký"])],
    "binary": [(pa.array([b"\x00\xff", None]), "binary", [b"\x00\xff", None])],
    "date32": [(pa.array([dt.date(1582, 10, 4), None]), "date", [dt.date(1582, 10, 4), None])],
    "timestamp[us, UTC]": [(pa.array([IN_UTC, None], pa.timestamp("us", "UTC")), "timestamp", [here(MOMENT), None])],
    "timestamp[us]": [(pa.array([MOMENT, None], pa.timestamp("us")), "timestamp_ntz", [MOMENT, None])],
    "time64[ns]": [(pa.array([MOMENT.time(), None], pa.time64("ns")), "time(6)", [MOMENT.time(), None])],
    "duration[us]": [
        (pa.array([dt.timedelta(-3, 5, 7), None], pa.duration("us")), "interval day to second",
         [dt.timedelta(-3, 5, 7), None])
    ],
    "null": [(pa.nulls(2), "void", [None, None])],
    "list": [
        (pa.array([[1, None], None], pa.list_(pa.int32())), "array<int>", [[1, None], None]),
        (pa.array([[["a"]], []], pa.list_(pa.list_(pa.string()))), "array<array<string>>", [[["a"]], []]),
    ],
    "map": [
        (pa.array([[("a", 1), ("b", None)], None], pa.map_(pa.string(), pa.int64())), "map<string,bigint>",
         [{"a": 1, "b": None}, None])
    ],
    "struct": [
        (pa.array([{"a": 1, "b": {"c": [1.5]}}, {"a": None, "b": None}],
                  pa.struct([("a", pa.int8()), ("b", pa.struct([("c", pa.list_(pa.float64()))]))])),
         "struct<a:tinyint,b:struct<c:array<double>>>", [(1, ([1.5],)), (None, None)])
    ],
    "fixed_size_list": [
        (pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2)), "array<float>", [[1.0, 2.0], None]),
        (pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)), "array<tinyint>", [[1, 2], [3, 4]]),
        (pa.array([{"v": [1.0, 2.0]}, {"v": None}], pa.struct([("v", pa.list_(pa.float64(), 2))])),
         "struct<v:array<double>>", [([1.0, 2.0],), (None,)]),
    ],
    "halffloat": [
        (pa.array([1.5, None], pa.float16()), "float", [1.5, None]),
        (pa.array([[1.5, 2.5], None], pa.list_(pa.float16(), 2)), "array<float>", [[1.5, 2.5], None]),
    ],
    "uint8": [(pa.array([255, None], pa.uint8()), "smallint", [255, None])],
    "uint16": [(pa.array([2**16 - 1, None], pa.uint16()), "int", [2**16 - 1, None])],
    "uint32": [(pa.array([2**32 - 1, None], pa.uint32()), "bigint", [2**32 - 1, None])],
    "uint64": [(pa.array([2**64 - 1, None], pa.uint64()), "decimal(20,0)", [Decimal(2**64 - 1), None])],
    "decimal256(p ≤ 38, s)": [
        (pa.array([Decimal("1.25"), None], pa.decimal256(38, 2)), "decimal(38,2)", [Decimal("1.25"), None])
    ],
    "large_string, string_view": [
        (pa.array(["a", None], pa.large_string()), "string", ["a", None]),
        (pa.array(["a", None], pa.string_view()), "string", ["a", None]),
    ],
    "large_binary, binary_view": [
        (pa.array([b"a", None], pa.large_binary()), "binary", [b"a", None]),
        (pa.array([b"a", None], pa.binary_view()), "binary", [b"a", None]),
    ],
    "fixed_size_binary": [(pa.array([b"abcd", None], pa.binary(4)), "binary", [b"abcd", None])],
    "large_list": [(pa.array([[1], None], pa.large_list(pa.int32())), "array<int>", [[1], None])],
    "dictionary": [(pa.array(["a", None]).dictionary_encode(), "string", ["a", None])],
    "date64": [(pa.array([dt.date(2024, 2, 29), None], pa.date64()), "date", [dt.date(2024, 2, 29), None])],
    "timestamp[s or ms]": [
        (pa.array([1, None], pa.timestamp("s")), "timestamp_ntz", [SECOND, None]),
        (pa.array([1500, None], pa.timestamp("ms")), "timestamp_ntz", [SECOND.replace(microsecond=500000), None]),
    ],
    "timestamp[us or coarser, other zone]": [
        (pa.array([IN_UTC, None], pa.timestamp("us", "Europe/Rome")), "timestamp", [here(MOMENT), None]),
        (pa.array([1, None], pa.timestamp("s", "UTC")), "timestamp", [here(SECOND), None]),
    ],
    "time32, time64[us]": [
        (pa.array([1, None], pa.time32("s")), "time(6)", [dt.time(0, 0, 1), None]),
        (pa.array([1, None], pa.time64("us")), "time(6)", [dt.time(0, 0, 0, 1), None]),
    ],
    "duration[s or ms]": [
        (pa.array([1, None], pa.duration("s")), "interval day to second", [dt.timedelta(0, 1), None])
    ],
    "arrow.json": [(pa.array(['{"a":1}', None], pa.json_()), "string", ['{"a":1}', None])],
    "arrow.uuid": [(pa.array([uuid.UUID(int=1).bytes, None], pa.uuid()), "binary", [uuid.UUID(int=1).bytes, None])],
}  # fmt: skip
REFUSED = {
    "timestamp[ns]": pa.timestamp("ns"),
    "duration[ns]": pa.duration("ns"),
    "decimal256(p > 38, s)": pa.decimal256(39, 0),
    "other extension types": pa.fixed_shape_tensor(pa.float32(), [2]),
}


@pytest.fixture(scope="module")
def every_type(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, tuple[str, list[Any]]]]:
    """One table with a column of every type, and what Spark gives for each."""
    import lance_ns

    columns, expected = {}, {}
    for number, cases in enumerate(READ.values()):
        for each, (array, kind, values) in enumerate(cases):
            columns[f"c{number}_{each}"] = array
            expected[f"c{number}_{each}"] = (kind, values)
    ns = lance_ns.connect("dir", root=str(tmp_path_factory.mktemp("types")))
    ns.create_namespace("t")
    ns.write("t$all", pa.table(columns), mode="create")
    return ns, expected


@pytest.fixture(scope="module")
def all_read(spark: Any, every_type: Any) -> Any:
    ns, _ = every_type
    df = reading.read(spark, Table.within(ns, "t$all"))
    return df.schema, df.collect()


def test_every_line_of_the_mapping_is_tried_here():
    lines = {each.lance for each in types.TABLE if each.lance != "–"}
    assert lines == {*READ, *REFUSED, "blob"}


def test_every_type_is_read_as_the_mapping_says(every_type: Any, all_read: Any):
    _, expected = every_type
    schema, rows = all_read
    for name, (kind, values) in expected.items():
        assert (name, schema[name].dataType.simpleString()) == (name, kind)
        assert (name, [row[name] for row in rows]) == (name, values)


def test_what_was_read_is_written_into_a_table_of_the_same_types(spark: Any, every_type: Any):
    ns, expected = every_type
    source = ns.dataset("t$all")
    ns.write("t$again", source.to_table(), mode="create")
    frames.write(reading.read(spark, Table.within(ns, "t$all")), Table.within(ns, "t$again"))
    again = ns.dataset("t$again")
    assert again.schema == source.schema
    for name in expected:
        assert (name, again.to_table([name]).column(0).to_pylist()) == (
            name,
            source.to_table([name]).column(0).to_pylist() * 2,
        )


def test_what_round_trips_has_the_same_type_in_a_new_table(spark: Any, every_type: Any):
    ns, _ = every_type
    both = {each.lance for each in types.TABLE if each.direction == "both"} - {"fixed_size_list"}
    names = [
        f"c{number}_{each}"
        for number, (line, cases) in enumerate(READ.items())
        for each in range(len(cases))
        if line in both
    ]
    vectors = [f"c{list(READ).index('fixed_size_list')}_{each}" for each in (0, 1)]
    df = reading.read(spark, Table.within(ns, "t$all"), columns=names + vectors)
    frames.write(df, Table.within(ns, "t$new"), mode="create", vectors=dict.fromkeys(vectors, 2))
    old, new = ns.dataset("t$all"), ns.dataset("t$new")
    for name in names + vectors:
        assert new.schema.field(name).type == old.schema.field(name).type
        assert new.to_table([name]).column(0).to_pylist() == old.to_table([name]).column(0).to_pylist()


@pytest.mark.parametrize(("line", "type"), REFUSED.items())
def test_what_spark_has_not_is_refused_by_the_full_name_of_the_column(line: str, type: pa.DataType):
    nested = pa.schema([("a", pa.struct([("b", pa.list_(type))]))])
    with pytest.raises(Unsupported, match=r"column a\.b\.element: Spark has no type"):
        types.spark_schema(nested)
    with pytest.raises(Unsupported, match=r"column u: Spark has no type.*columns") as refused:
        types.spark_schema(pa.schema([("u", type)]))
    assert refused.value.hint


def test_a_refused_column_is_read_the_way_that_the_error_shows(spark: Any, lake: Any):
    lake.write("ml$t", pa.table({"t": pa.array([5], pa.timestamp("ns"))}), mode="create")
    table = Table.within(lake, "ml$t")
    with pytest.raises(Unsupported) as refused:
        reading.read(spark, table)
    assert 'columns={"t": "cast(t as bigint)"}' in str(refused.value)
    assert reading.read(spark, table, columns={"t": "cast(t as bigint)"}).first()[0] == 5


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_blobs_are_read_whole(spark: Any, lake: Any, version: str):
    if version == "2.1":
        schema = pa.schema([pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
        data = pa.table({"b": pa.array([b"abc", None], pa.large_binary())}, schema=schema)
    else:
        data = pa.table({"b": lance.blob_array([b"abc", None])}, schema=pa.schema([lance.blob_field("b")]))
    lake.write("ml$b", data, mode="create", data_storage_version=version)
    df = reading.read(spark, Table.within(lake, "ml$b"))
    assert df.dtypes == [("b", "binary")]
    assert [row.b for row in df.collect()] == [b"abc", None]


def test_nullability_is_exact_at_every_depth():
    from pyspark.sql import types as s

    schema = pa.schema(
        [
            pa.field("a", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
            pa.field("m", pa.map_(pa.string(), pa.field("value", pa.int32(), nullable=False))),
        ]
    )
    found = types.spark_schema(schema)
    assert found == s.StructType(
        [
            s.StructField("a", s.ArrayType(s.IntegerType(), False), False),
            s.StructField("m", s.MapType(s.StringType(), s.IntegerType(), False), True),
        ]
    )
    assert types.lance_schema(found) == schema


def test_columns_that_spark_cannot_tell_apart_are_refused():
    with pytest.raises(Unsupported, match="columns id and ID are one to Spark"):
        types.spark_schema(pa.schema([("id", pa.int32()), ("ID", pa.int32())]))


@pytest.mark.parametrize(
    ("sql", "advice"),
    [
        ("interval '1-2' year to month", r"cast\(c as int\)"),
        ("parse_json('1')", r"to_json\(c\)"),
    ],
)
def test_what_no_table_has_is_refused_with_what_to_write_instead(spark: Any, sql: str, advice: str):
    with pytest.raises(Unsupported, match=f"column c: .*{advice}"):
        types.lance_schema(spark.sql(f"select {sql} c").schema)


def arrays(values: list[Any]) -> pa.RecordBatch:
    return pa.record_batch({"v": pa.array(values, pa.list_(pa.field("element", pa.float32())))})


VECTORS = pa.schema([("v", pa.list_(pa.float32(), 2))])


def test_arrays_become_vectors():
    made = types.for_lance(arrays([[1, 2], None, [3, 4]]), VECTORS)
    assert made.schema == VECTORS
    assert made.column(0).to_pylist() == [[1, 2], None, [3, 4]]
    sliced = types.for_lance(arrays([[9, 9], [1, 2], [3, 4]]).slice(1), VECTORS)
    assert sliced.column(0).to_pylist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ([[1, 2], [3]], "column v has a vector of length 1, and the table's have 2"),
        ([[1, 2, 3], None], "column v has a vector of length 3, and the table's have 2"),
        ([[1, 2], []], "column v has a vector of length 0, and the table's have 2"),
        ([[1, None]], "column v has a vector with a null inside"),
    ],
)
def test_vectors_of_another_length_or_with_holes_are_refused_by_name(values: Any, wrong: str):
    with pytest.raises(TableSchemaValidationError, match=wrong):
        types.for_lance(arrays(values), VECTORS)


def test_nested_vectors_are_checked_too():
    schema = pa.schema([("s", pa.struct([("v", pa.list_(pa.float32(), 2))]))])
    batch = pa.record_batch({"s": pa.array([{"v": [1.0]}], pa.struct([("v", pa.list_(pa.float32()))]))})
    with pytest.raises(TableSchemaValidationError, match=r"column s\.v has a vector of length 1"):
        types.for_lance(batch, schema)


def test_vectors_that_cannot_be_are_refused(spark: Any):
    schema = spark.sql("select array(1.5f) v, 'a' s").schema
    with pytest.raises(InvalidInput, match="vectors names w, which the rows do not have"):
        types.lance_schema(schema, vectors={"w": 2})
    with pytest.raises(InvalidInput, match="column s is string, and no vector"):
        types.lance_schema(schema, vectors={"s": 2})
    with pytest.raises(InvalidInput, match="no length of 0"):
        types.lance_schema(schema, vectors={"v": 0})
    with pytest.raises(TableSchemaValidationError, match="to be a vector of length 3"):
        types.lance_schema(schema, vectors={"v": 3}, existing=pa.schema([("v", pa.list_(pa.float32(), 2))]))


def test_narrower_numbers_fit_and_others_are_refused_by_name(spark: Any):
    existing = pa.schema([("i", pa.int64()), ("d", pa.float64()), ("e", pa.decimal128(10, 2)), ("n", pa.string())])
    fits = spark.sql("select 1 i, 1.5f d, cast(1 as decimal(5,1)) e, null n").schema
    assert types.lance_schema(fits, existing=existing) == existing
    with pytest.raises(TableSchemaValidationError, match=r"column i is string, and the table has int64.*bigint"):
        types.lance_schema(spark.sql("select 'a' i").schema, existing=existing)


def test_values_that_do_not_fit_are_refused_by_name():
    with pytest.raises(TableSchemaValidationError, match="column u does not fit uint8"):
        types.for_lance(pa.record_batch({"u": pa.array([256], pa.int16())}), pa.schema([("u", pa.uint8())]))
    with pytest.raises(TableSchemaValidationError, match="column u has nulls, and the table allows none"):
        types.for_lance(
            pa.record_batch({"u": pa.array([None], pa.int16())}), pa.schema([pa.field("u", pa.int16(), nullable=False)])
        )
