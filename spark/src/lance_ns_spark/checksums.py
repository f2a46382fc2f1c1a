"""Checksums of rows: of what they say and the order they come in, not of files, batches or encodings."""

import hashlib
from typing import TYPE_CHECKING, Any

from lance_ns.errors import Unsupported

if TYPE_CHECKING:
    import pyarrow as pa


class Checksum:
    """The checksum of a stream of batches that have the same columns.

    Two streams have the same one if they hold the same rows in the same order: however they are cut into batches,
    whatever lies under their nulls, and whether text is plain, large, a view or a dictionary.
    """

    def __init__(self) -> None:
        self._columns: dict[str, _Column] = {}
        self._rows = 0

    def update(self, batch: "pa.RecordBatch") -> None:
        """Take the next rows in."""
        self._rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            self._columns.setdefault(name, _Column(name)).update(column)

    def hexdigest(self) -> str:
        """The checksum of the rows so far."""
        whole = hashlib.sha256(self._rows.to_bytes(8, "little"))
        for name in sorted(self._columns):
            whole.update(f"{len(name)}:{name}".encode())
            self._columns[name].add_to(whole)
        return whole.hexdigest()


class _Column:
    """Hashes of a column: where its nulls are, how long its values are, what they are, and the columns within it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rows = 0
        self._nulls = hashlib.sha256()
        self._lengths = hashlib.sha256()
        self._values = hashlib.sha256()
        self._within: dict[int, _Column] = {}

    def add_to(self, whole: Any) -> None:
        for part in (self._nulls, self._lengths, self._values):
            whole.update(part.digest())
        for number in sorted(self._within):
            whole.update(number.to_bytes(4, "little"))
            self._within[number].add_to(whole)

    def update(self, array: "pa.Array") -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        array = _plain(array)
        if array.null_count:
            nulls = pc.indices_nonzero(array.is_null()).cast(pa.int64())
            self._nulls.update(_bytes_of(pc.add(nulls, pa.scalar(self._rows, pa.int64()))))
            self._rows += len(array)
            array = array.drop_null()
        else:
            self._rows += len(array)
        kind = array.type
        if pa.types.is_null(kind) or not len(array):
            return
        if pa.types.is_struct(kind):
            for number, child in enumerate(array.flatten()):
                self._child(number).update(child)
        elif pa.types.is_fixed_size_list(kind):
            self._child(0).update(array.flatten())
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            self._lengths.update(_bytes_of(pc.list_value_length(array).cast(pa.int64())))
            self._child(0).update(array.flatten())
        elif pa.types.is_large_binary(kind):
            self._lengths.update(_bytes_of(pc.binary_length(array).cast(pa.int64())))
            self._values.update(_text_of(array))
        elif pa.types.is_boolean(kind):
            self._values.update(_bytes_of(array.cast(pa.uint8())))
        elif _width(kind):
            self._values.update(_bytes_of(array))
        else:
            raise Unsupported(f"column {self._name!r} is {kind}, of which no checksum is made", hint="do not verify")

    def _child(self, number: int) -> "_Column":
        return self._within.setdefault(number, _Column(self._name))


def _plain(array: "pa.Array") -> "pa.Array":
    """The same values in the one of several forms that is hashed."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        return _plain(array.storage)
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.dictionary_decode())
    if pa.types.is_map(kind):
        return array.cast(pa.list_(pa.struct([kind.key_field, kind.item_field])))
    if _is_text(kind):
        return array.cast(pa.large_binary())
    return array


def _is_text(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    of_text = ("is_string", "is_large_string", "is_string_view", "is_binary", "is_binary_view")
    return any(getattr(pa.types, check)(kind) for check in of_text)


def _width(kind: "pa.DataType") -> int:
    """The bytes of a value, 0 where values differ in length."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0


def _bytes_of(array: "pa.Array") -> memoryview:
    width = _width(array.type)
    return memoryview(array.buffers()[1])[array.offset * width : (array.offset + len(array)) * width]


def _text_of(array: "pa.Array") -> memoryview:
    import struct

    _, offsets, data = array.buffers()
    (begin,) = struct.unpack_from("<q", offsets, array.offset * 8)
    (end,) = struct.unpack_from("<q", offsets, (array.offset + len(array)) * 8)
    return memoryview(data)[begin:end] if data is not None else memoryview(b"")
