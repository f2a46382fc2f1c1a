"""A checksum tells the rows, not how they lie in memory."""

import datetime as dt
import decimal

import pyarrow as pa
import pytest

from lance_ns.errors import Unsupported
from lance_ns_spark.checksums import Checksum

ROWS = [
    {
        "i": 1,
        "s": "a",
        "b": b"\x00",
        "f": 1.5,
        "t": True,
        "l": [1, None],
        "v": [1.0, 2.0],
        "m": [("k", 1)],
        "st": {"x": 1, "y": None},
        "d": decimal.Decimal("1.50"),
        "w": dt.date(2026, 1, 1),
    },
    dict.fromkeys(("i", "s", "b", "f", "t", "l", "v", "m", "st", "d", "w")),
    {
        "i": 3,
        "s": "",
        "b": b"",
        "f": float("nan"),
        "t": True,
        "l": [],
        "v": [3.0, 4.0],
        "m": [],
        "st": {"x": None, "y": "z"},
        "d": decimal.Decimal("-2.00"),
        "w": dt.date(1969, 1, 1),
    },
    {
        "i": -4,
        "s": "ünï",
        "b": b"xyz",
        "f": 0.0,
        "t": False,
        "l": [5, 6, 7],
        "v": [5.0, 6.0],
        "m": [("a", None), ("b", 2)],
        "st": {"x": 4, "y": ""},
        "d": decimal.Decimal("0.01"),
        "w": dt.date(2026, 1, 2),
    },
]
SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("s", pa.string()),
        ("b", pa.binary()),
        ("f", pa.float64()),
        ("t", pa.bool_()),
        ("l", pa.list_(pa.int16())),
        ("v", pa.list_(pa.float32(), 2)),
        ("m", pa.map_(pa.string(), pa.int64())),
        ("st", pa.struct([("x", pa.int8()), ("y", pa.string())])),
        ("d", pa.decimal128(9, 2)),
        ("w", pa.date32()),
    ]
)


def of(*batches: pa.RecordBatch) -> str:
    checksum = Checksum()
    for batch in batches:
        checksum.update(batch)
    return checksum.hexdigest()


def batch(rows=ROWS, schema=SCHEMA) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema)


def test_it_is_the_same_however_rows_are_cut_into_batches():
    whole = batch()
    assert of(whole) == of(whole.slice(0, 1), whole.slice(1, 2), whole.slice(3)) == of(batch(ROWS[:2]), batch(ROWS[2:]))


@pytest.mark.parametrize("column", SCHEMA.names)
def test_it_differs_when_a_value_or_a_null_of_any_column_does(column):
    for number in range(len(ROWS)):
        changed = [dict(row) for row in ROWS]
        changed[number][column] = ROWS[(number + 1) % len(ROWS)][column]
        assert of(batch(changed)) != of(batch()), number


def test_it_differs_when_rows_change_places():
    assert of(batch([ROWS[1], ROWS[0], *ROWS[2:]])) != of(batch())


def test_text_and_lists_that_are_cut_elsewhere_differ():
    texts = pa.schema([("s", pa.string())])
    assert of(batch([{"s": "ab"}, {"s": "c"}], texts)) != of(batch([{"s": "a"}, {"s": "bc"}], texts))
    lists = pa.schema([("l", pa.list_(pa.int8()))])
    assert of(batch([{"l": [1, 2]}, {"l": [3]}], lists)) != of(batch([{"l": [1]}, {"l": [2, 3]}], lists))


def test_it_is_the_same_for_all_forms_of_text():
    forms = (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string()))
    arrays = [pa.array(["a", None, "bb", "a"], pa.string()).cast(form) for form in forms]
    assert len({of(pa.record_batch({"s": array})) for array in arrays}) == 1


def test_what_lies_under_a_null_does_not_matter():
    values = pa.array([1, 2, 3], pa.int64()).buffers()[1]
    others = pa.array([1, 9, 3], pa.int64()).buffers()[1]
    valid = pa.array([1, None, 3], pa.int64()).buffers()[0]
    one, other = (pa.Array.from_buffers(pa.int64(), 3, [valid, data]) for data in (values, others))
    assert of(pa.record_batch({"i": one})) == of(pa.record_batch({"i": other}))


def test_a_type_without_a_checksum_is_refused_by_its_column():
    with pytest.raises(Unsupported, match="column 'u' is"):
        of(pa.record_batch({"u": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}))
