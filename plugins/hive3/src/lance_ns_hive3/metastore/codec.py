"""Thrift structs declared as data: what has which number and which type on the wire.

    class Order(Struct):
        col: str | None = field(1, STRING)
        order: int | None = field(2, I32)

From that come the constructor, which takes keywords, equality, and the `thrift_spec` by which thrift's codec reads and
writes the struct. Fields are None until they are set, and None is not sent. Thrift itself is imported when the first
message is written.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar, dataclass_transform

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound="Struct")

_BOOL, _BYTE, _DOUBLE, _I16, _I32, _I64, _STRING, _STRUCT, _MAP, _SET, _LIST = 2, 3, 4, 6, 8, 10, 11, 12, 13, 14, 15


class Type(Generic[T]):
    """A type on the wire: thrift's number for it, and what thrift needs to know of its parts."""

    def __init__(self, number: int, parts: Any = None) -> None:
        self.number = number
        self.parts = parts


VOID: Type[None] = Type(1)
BOOL: Type[bool] = Type(_BOOL)
BYTE: Type[int] = Type(_BYTE)
I16: Type[int] = Type(_I16)
I32: Type[int] = Type(_I32)
I64: Type[int] = Type(_I64)
DOUBLE: Type[float] = Type(_DOUBLE)
STRING: Type[str] = Type(_STRING, "UTF8")
BINARY: Type[bytes] = Type(_STRING, "BINARY")


def listing(of: Type[T]) -> Type[list[T]]:
    """A list."""
    return Type(_LIST, (of.number, of.parts, False))


def key_list(of: Type[T]) -> Type[tuple[T, ...]]:
    """A list that is the key of a map, and therefore a tuple."""
    return Type(_LIST, (of.number, of.parts, True))


def setting(of: Type[T]) -> Type[set[T]]:
    """A set."""
    return Type(_SET, (of.number, of.parts, False))


def mapping(key: Type[K], value: Type[V]) -> Type[dict[K, V]]:
    """A map."""
    return Type(_MAP, (key.number, key.parts, value.number, value.parts, False))


def struct(of: type[S]) -> Type[S]:
    """A struct."""
    return Type(_STRUCT, [of, of.thrift_spec])


class _Field:
    def __init__(self, number: int, type: Type[Any]) -> None:
        self.number = number
        self.type = type


def field(number: int, type: Type[T]) -> T | None:
    """A field of a struct: its number and its type."""
    return _Field(number, type)  # type: ignore[return-value]  # the struct's class puts None in its place


@dataclass_transform(kw_only_default=True)
class Struct:
    """The base of all structs."""

    thrift_spec: ClassVar[tuple[Any, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        fields = {name: value for name, value in vars(cls).items() if isinstance(value, _Field)}
        by_number: dict[int, tuple[Any, ...]] = {
            each.number: (each.number, each.type.number, name, each.type.parts, None) for name, each in fields.items()
        }
        for name in fields:
            setattr(cls, name, None)
        cls._names = frozenset(fields)
        cls.thrift_spec = tuple(by_number.get(number) for number in range(max(by_number, default=-1) + 1))

    def __init__(self, **fields: Any) -> None:
        if not fields.keys() <= self._names:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(fields.keys() - self._names))}")
        self.__dict__.update(fields)

    def fields(self) -> dict[str, Any]:
        """The fields that are set."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.fields() == self.fields()

    __hash__ = None  # type: ignore[assignment]  # it can be changed

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.fields().items())})"

    # What thrift's protocols ask of a struct; the accelerated one does both in C.

    def read(self, protocol: Any) -> None:
        """Fill the fields with what the protocol reads."""
        if protocol._fast_decode is not None:  # noqa: SLF001  # the interface for generated code
            protocol._fast_decode(self, protocol, [type(self), self.thrift_spec])  # noqa: SLF001
        else:
            protocol.readStruct(self, self.thrift_spec)

    def write(self, protocol: Any) -> None:
        """Write the fields that are set."""
        if protocol._fast_encode is not None:  # noqa: SLF001
            protocol.trans.write(protocol._fast_encode(self, [type(self), self.thrift_spec]))  # noqa: SLF001
        else:
            protocol.writeStruct(self, self.thrift_spec)


class Later(Type[Any]):
    """A struct that is declared further down, for structs that hold each other."""

    def __init__(self) -> None:
        super().__init__(_STRUCT, [None, None])

    def is_(self, of: type[Struct]) -> None:
        """Say which one it is."""
        self.parts[:] = [of, of.thrift_spec]


def struct_of(name: str, types: Mapping[int, Type[Any]]) -> type[Struct]:
    """A struct without a class of its own: field 3 is its attribute `f3`."""
    return type(name, (Struct,), {f"f{number}": field(number, each) for number, each in types.items()})
