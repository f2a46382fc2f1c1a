"""Thrift's binary protocol, decoded without knowing any struct, into plain data that people can read.

A struct is `{field id: [type, value]}`, such as `{1: [string, lance], 2: [list<i32>, [1, 2]], 3: [struct, {…}]}`.
A list in a list, or in another container, brings its own type: `[list<list>, [[list<i32>, [1]]]]`.
"""

import base64
import re
import struct
from collections.abc import Callable
from typing import Any

import attrs

Take = Callable[[int], bytes]
"""Gives exactly so many bytes."""

CALL, REPLY, EXCEPTION, ONEWAY = 1, 2, 3, 4

_NAMES = {2: "bool", 3: "byte", 4: "double", 6: "i16", 8: "i32", 10: "i64", 11: "string", 12: "struct", 13: "map",
          14: "set", 15: "list", 16: "uuid"}  # fmt: skip
_NUMBERS = {name: number for number, name in _NAMES.items()}
_FIXED = {"byte": "!b", "double": "!d", "i16": "!h", "i32": "!i", "i64": "!q"}
_TYPE = re.compile(r"(\w+)(?:<(\w+)(?:,(\w+))?>)?")
_VERSION_1 = 0x80010000
_CONTAINERS = ("list", "set", "map")


@attrs.frozen
class Message:
    """A call, or an answer to one."""

    name: str
    kind: int
    number: int
    fields: dict[int, Any]


def decoded(take: Take) -> Message:
    """The message that some bytes begin with; no byte after it is taken.

    Raises:
        ValueError: this is not the binary protocol.
    """
    first = int.from_bytes(take(4), "big")
    if first & 0xFFFF0000 == _VERSION_1:
        kind = first & 0xFF
        name = take(_size(take)).decode()
    elif first < 2**16:
        name, kind = take(first).decode(), take(1)[0]
    else:
        raise ValueError(f"{first:#x} does not begin a message of Thrift's binary protocol")
    return Message(name, kind, int.from_bytes(take(4), "big", signed=True), _struct(take))


def encoded(message: Message) -> bytes:
    """The bytes of a message.

    Raises:
        ValueError: its fields are not as the module says.
    """
    name = message.name.encode()
    head = struct.pack("!Ii", _VERSION_1 | message.kind, len(name)) + name + struct.pack("!i", message.number)
    return head + _written("struct", message.fields)


def _size(take: Take) -> int:
    size = int.from_bytes(take(4), "big", signed=True)
    if size < 0:
        raise ValueError(f"a size of {size}")
    return size


def _struct(take: Take) -> dict[int, Any]:
    fields = {}
    while (number := take(1)[0]) != 0:
        id = int.from_bytes(take(2), "big", signed=True)
        fields[id] = _typed(_name(number), take)
    return fields


def _typed(name: str, take: Take) -> list[Any]:
    """A value with its type."""
    if name not in _CONTAINERS:
        return [name, _plain(name, take)]
    parts = [_NAMES.get(take(1)[0], "i32") for _ in range(2 if name == "map" else 1)]
    size = _size(take)
    items = [[_inner(part, take) for part in parts] for _ in range(size)]
    shown: Any = [item[0] for item in items]
    if name == "map":
        shown = dict(items) if all(isinstance(key, str | int) for key, _ in items) else items
    return [f"{name}<{','.join(parts)}>", shown]


def _inner(name: str, take: Take) -> Any:
    return _typed(name, take) if name in _CONTAINERS else _plain(name, take)


def _plain(name: str, take: Take) -> Any:
    if name == "bool":
        return take(1) != b"\0"
    if name == "string":
        content = take(_size(take))
        try:
            return content.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(content).decode()}
    if name == "struct":
        return _struct(take)
    if name == "uuid":
        return take(16).hex()
    return struct.unpack(_FIXED[name], take(struct.calcsize(_FIXED[name])))[0]


def _name(number: int) -> str:
    if number not in _NAMES:
        raise ValueError(f"{number} is no type of Thrift's binary protocol")
    return _NAMES[number]


def _written(name: str, value: Any) -> bytes:
    """The bytes of a value."""
    try:
        if name == "struct":
            fields = (_field(id, *typed) for id, typed in value.items())
            return b"".join(fields) + b"\0"
        if name == "bool":
            return b"\1" if value else b"\0"
        if name == "string":
            content = base64.b64decode(value["base64"]) if isinstance(value, dict) else value.encode()
            return struct.pack("!i", len(content)) + content
        if name == "uuid":
            return bytes.fromhex(value)
        return struct.pack(_FIXED[name], value)
    except (AttributeError, KeyError, TypeError, struct.error) as error:
        raise ValueError(f"{value!r} is no {name}") from error


def _field(id: int, type: str, value: Any) -> bytes:
    match = _TYPE.fullmatch(type)
    if match is None or match[1] not in _NUMBERS:
        raise ValueError(f"{type!r} is no type")
    return struct.pack("!bh", _NUMBERS[match[1]], id) + _content(match, value)


def _content(match: "re.Match[str]", value: Any) -> bytes:
    if match[1] not in _CONTAINERS:
        return _written(match[1], value)
    parts = [part for part in match.groups()[1:] if part is not None]
    items = [[item] for item in value]
    if match[1] == "map":
        items = [list(item) for item in (value.items() if isinstance(value, dict) else value)]
    written = b"".join(_item(part, each) for item in items for part, each in zip(parts, item, strict=True))
    return bytes(_NUMBERS[part] for part in parts) + struct.pack("!i", len(items)) + written


def _item(name: str, value: Any) -> bytes:
    if name not in _CONTAINERS:
        return _written(name, value)
    match = _TYPE.fullmatch(value[0])
    if match is None or match[1] != name:
        raise ValueError(f"{value[0]!r} is no {name}")
    return _content(match, value[1])
