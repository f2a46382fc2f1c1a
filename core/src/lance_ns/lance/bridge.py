"""The bridge: a connection as a `lance_namespace.LanceNamespace`, for pylance, LanceDB and everything that takes one.

    lance.dataset(namespace_client=ns.as_lance(), table_id=["ml", "docs"])
    lance_namespace.connect("lance_ns.lance.bridge.BridgedNamespace", {"backend": "glue", "region": "eu-west-1"})

What this package does not serve raises that package's UnsupportedOperationError, as its base class does.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs
import lance_namespace
from lance_namespace import errors as their_errors

from lance_ns import models as m
from lance_ns import wire
from lance_ns.config import Properties
from lance_ns.connection import connect
from lance_ns.derived import serve
from lance_ns.errors import ErrorCode, LanceNsError

if TYPE_CHECKING:
    from lance_ns.namespace import Namespace


class BridgedNamespace(lance_namespace.LanceNamespace):
    """A connection of this package, in the shape of the public contract's Python interface."""

    def __init__(self, *, backend: str | None = None, drop_deletes_data: str | bool = False, **properties: Any) -> None:
        given = Properties(properties)
        del properties
        self._bridge(connect(backend, given), str(drop_deletes_data).lower() == "true")

    @classmethod
    def over(cls, ns: "Namespace", *, drop_deletes_data: bool = False) -> "BridgedNamespace":
        """The bridge over a connection that exists."""
        self = cls.__new__(cls)
        self._bridge(ns, drop_deletes_data)
        return self

    def _bridge(self, ns: "Namespace", drop_deletes_data: bool) -> None:
        self._ns = ns
        self._id = ns.namespace_id()  # asked for whenever a dataset is opened
        self._drop_deletes_data = drop_deletes_data

    def namespace_id(self) -> str:
        """The cache key of pylance: differs between connections that differ in anything, and shows no secret."""
        return self._id

    def __repr__(self) -> str:
        return f"<BridgedNamespace {self._ns!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebridged, (self._ns, self._drop_deletes_data)

    def _ours(self, request: Any, kind: type[m.Request[Any]]) -> m.Request[Any]:
        # LanceDB's Rust side sends dictionaries that can only be dumped; the models' own dump would lose field names.
        data = request.to_dict() if hasattr(request, "to_dict") else request.model_dump()
        ours = wire.structure({key: value for key, value in data.items() if value is not None}, kind)
        if isinstance(ours, m.DropTableRequest):
            return attrs.evolve(ours, delete_data=self._drop_deletes_data)
        return ours


def _rebridged(ns: "Namespace", drop_deletes_data: bool) -> BridgedNamespace:
    return BridgedNamespace.over(ns, drop_deletes_data=drop_deletes_data)


def _bridged(request_type: type[m.Request[Any]], name: str) -> Callable[[BridgedNamespace, Any], Any]:
    def method(self: BridgedNamespace, request: Any) -> Any:
        with _as_their_errors():
            return _their_response(serve(self._ns, self._ours(request, request_type)))

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"Serve `{name}` through the connection's backend."
    return method


for _name, _request_type in m.REQUESTS.items():
    if hasattr(lance_namespace.LanceNamespace, _name):  # alter_table_properties is ours alone
        setattr(BridgedNamespace, _name, _bridged(_request_type, _name))


def _their_response(response: m.Response) -> Any:
    kind = getattr(lance_namespace, type(response).__name__)
    return kind.from_dict(wire.unstructure(response))


@contextmanager
def _as_their_errors() -> Generator[None]:
    try:
        yield
    except LanceNsError as error:
        raise _their_error(error) from error


def _their_error(error: LanceNsError) -> Exception:
    # LanceDB knows a missing table by these words alone.
    missing = "Table not found: " if error.code is ErrorCode.TABLE_NOT_FOUND else ""
    return their_errors.from_error_code(int(error.code), f"{missing}{error}")
