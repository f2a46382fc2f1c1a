"""A call as data: its name, what it takes, what it returns, what it raises, and whether it may be repeated."""

from typing import Any, Generic, TypeVar

from lance_ns.errors import InvalidInput
from lance_ns_hive3.metastore import errors
from lance_ns_hive3.metastore.codec import STRING, VOID, Struct, Type, listing, struct, struct_of
from lance_ns_hive3.metastore.structs import Raised

T = TypeVar("T")

_CALL = 1


class Call(Generic[T]):
    """One function of the metastore's interface.

    Args:
        name: its name on the wire.
        takes: the types of its arguments, whose numbers count from 1.
        returns: the type of its result.
        raises: its exceptions in the order of their numbers, which count from 1.
        repeatable: whether it may be sent again when it may have been done: it changes nothing, or the same again.
    """

    def __init__(
        self,
        name: str,
        takes: tuple[Type[Any], ...],
        returns: Type[T],
        *raises: type[errors.MetastoreError],
        repeatable: bool = False,
    ) -> None:
        self.name = name
        self.repeatable = repeatable
        self._raises = dict(enumerate(raises, start=1))
        self._is_void = returns is VOID
        self.arguments = struct_of(f"{name}_args", dict(enumerate(takes, start=1)))
        results: dict[int, Type[Any]] = dict.fromkeys(self._raises, struct(Raised))
        if not self._is_void:
            results[0] = returns
        self.empty_result = struct_of(f"{name}_result", results)

    def request(self, *arguments: Any) -> bytes:
        """The whole message that asks for this call.

        Raises:
            InvalidInput: a text cannot be written as UTF-8.
        """
        from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
        from thrift.transport.TTransport import TMemoryBuffer

        content = self.arguments(**{f"f{number}": value for number, value in enumerate(arguments, start=1)})
        buffer = TMemoryBuffer()
        protocol = TBinaryProtocolAccelerated(buffer)
        protocol.writeMessageBegin(self.name, _CALL, 0)
        try:
            content.write(protocol)
        except UnicodeEncodeError as error:
            raise InvalidInput("a name or value is not valid Unicode", native=str(error)) from None
        protocol.writeMessageEnd()
        return bytes(buffer.getvalue())

    def answer(self, result: Struct) -> T:
        """What a result says.

        Raises:
            MetastoreError: the metastore raised an exception, or returned nothing where it must.
        """
        for number, kind in self._raises.items():
            raised = getattr(result, f"f{number}")
            if raised is not None:
                raise errors.raised(kind, self.name, raised.message)
        found: T = None if self._is_void else getattr(result, "f0")  # type: ignore[assignment]  # noqa: B009
        if found is None and not self._is_void:
            raise errors.ServerFailure(f"the metastore answered {self.name} with nothing")
        return found


SET_UGI = Call("set_ugi", (STRING, listing(STRING)), listing(STRING), errors.MetaFailure, repeatable=True)
"""Says on behalf of whom the calls on a connection are; the one call that belongs to a connection."""
