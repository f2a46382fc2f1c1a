"""The tables of structs: what is read is written back, all of it."""

import inspect
import pickle
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.codec import I32, STRING, Struct, field

STRUCTS = [
    each for _, each in inspect.getmembers(s, inspect.isclass) if issubclass(each, Struct) and each is not Struct
]
BOOL, BYTE, DOUBLE, I16, I64, TEXT, STRUCT, MAP, SET, LIST = 2, 3, 4, 6, 10, 11, 12, 13, 14, 15
LEAST_DEPTH = 2


def written(content: Struct, protocol: type = TBinaryProtocolAccelerated) -> bytes:
    buffer = TMemoryBuffer()
    content.write(protocol(buffer))
    return buffer.getvalue()


def read_back(kind: type[Struct], data: bytes, protocol: type = TBinaryProtocolAccelerated) -> Struct:
    content = kind()
    content.read(protocol(TMemoryBuffer(data)))
    return content


def full(kind: type[Struct], depth: int = 0) -> Struct:
    """A struct with every field set, to something else each; structs that hold themselves end at some depth."""
    made = kind()
    for number, ttype, name, parts, _ in filter(None, kind.thrift_spec):
        value = example(ttype, parts, f"{kind.__name__}.{name}", number, depth)
        if value is not None:
            setattr(made, name, value)
    return made


def example(ttype: int, parts: Any, label: str, number: int, depth: int) -> Any:
    simple = {BOOL: number % 2 == 0, BYTE: -number, I16: -number, I32.number: -number, I64: -(2**40) - number}
    if ttype in simple:
        return simple[ttype]
    if ttype == DOUBLE:
        return number / 8
    if ttype == TEXT:
        return f"{label} ü 日本 😀" if parts == "UTF8" else b"\xff\x00" + label.encode()
    if ttype == STRUCT:
        return full(parts[0], depth + 1) if depth <= LEAST_DEPTH or parts[0] is not s.Table else None
    if ttype in (LIST, SET):
        values = [example(parts[0], parts[1], f"{label}[{at}]", number + at, depth) for at in range(2)]
        kept = [value for value in values if value is not None]
        return set(kept) if ttype == SET else tuple(kept) if parts[2] else kept
    assert ttype == MAP
    return {
        example(parts[0], parts[1], f"{label}.key{at}", number, depth): example(
            parts[2], parts[3], f"{label}.value{at}", number, depth
        )
        for at in range(2)
    }


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_a_struct_with_every_field_set_survives_a_round_trip(kind: type[Struct]):
    content = full(kind)
    assert set(content.fields()) == {each[2] for each in kind.thrift_spec if each}
    data = written(content)
    again = written(read_back(kind, data))
    assert read_back(kind, data) == read_back(kind, again) == content
    assert sorted(again) == sorted(data)  # the same bytes, though equal sets may be written in another order


@pytest.mark.parametrize("kind", STRUCTS, ids=lambda kind: kind.__name__)
def test_where_thrift_has_no_extension_in_c_the_bytes_are_the_same(kind: type[Struct]):
    content = full(kind)
    assert written(content) == written(content, TBinaryProtocol)
    assert read_back(kind, written(content), TBinaryProtocol) == content


def test_the_extension_in_c_is_there_and_used():
    assert TBinaryProtocolAccelerated(TMemoryBuffer())._fast_decode is not None
    assert TBinaryProtocolAccelerated(TMemoryBuffer())._fast_encode is not None


@pytest.mark.parametrize(
    ("kind", "last"),
    [
        (s.Catalog, 5),
        (s.Database, 13),
        (s.Table, 28),
        (s.StorageDescriptor, 12),
        (s.SerDeInfo, 7),
        (s.SkewedInfo, 3),
        (s.CreationMetadata, 7),
        (s.PrincipalPrivilegeSet, 3),
        (s.ColumnStatisticsData, 8),
    ],
)
def test_stored_structs_have_all_their_fields_without_a_gap(kind: type[Struct], last: int):
    assert [each[0] for each in kind.thrift_spec if each] == list(range(1, last + 1))


def test_a_field_that_is_not_set_is_not_sent():
    assert written(s.Table()) == b"\0"
    assert written(s.Table(temporary=False, retention=0, parameters={})) != b"\0"


def test_fields_of_a_newer_server_do_no_harm():
    class Newer(Struct):
        name: str | None = field(1, STRING)
        table_type: int | None = field(12, I32)  # of another type than ours
        ours: str | None = field(17, STRING)
        unknown: str | None = field(900, STRING)

    data = written(Newer(name="t", table_type=7, ours="c", unknown="x"))
    assert read_back(s.Table, data) == s.Table(table_name="t", cat_name="c")


def test_a_misspelt_field_is_an_error():
    with pytest.raises(TypeError, match="Table has no field tableName"):
        s.Table(tableName="t")


def test_structs_compare_show_and_pickle_by_what_is_set():
    table = s.Table(table_name="t", sd=s.StorageDescriptor(location="here"), owner=None)
    assert table == s.Table(table_name="t", sd=s.StorageDescriptor(location="here"))
    assert table != s.Table(table_name="t")
    assert table != s.Database(name="t")
    assert repr(table) == "Table(table_name='t', sd=StorageDescriptor(location='here'))"
    assert pickle.loads(pickle.dumps(table)) == table
