"""Requests and responses of the namespace operations, field for field the public contract.

A request checks itself when it is made: identifiers, modes, limits and properties are right or the constructor raises
InvalidInput, so a backend never meets a bad one. Modes accept any spelling of the contract (`ExistOk`, `exist_ok`), and
None stands for the contract's default.

Classes are made when they are first used: making all of them takes longer than a call.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance_ns.models.base import (
        Identity,
        Request,
        Response,
    )
    from lance_ns.models.changes import (
        AlterTablePropertiesRequest,
        AlterTablePropertiesResponse,
        DropTableRequest,
        DropTableResponse,
        RegisterTableRequest,
        RegisterTableResponse,
        RenameTableRequest,
        RenameTableResponse,
    )
    from lance_ns.models.choices import (
        CreateMode,
        DropBehavior,
        DropMode,
        RegisterMode,
    )
    from lance_ns.models.namespaces import (
        CreateNamespaceRequest,
        CreateNamespaceResponse,
        DescribeNamespaceRequest,
        DescribeNamespaceResponse,
        DropNamespaceRequest,
        DropNamespaceResponse,
        ListNamespacesRequest,
        ListNamespacesResponse,
        NamespaceExistsRequest,
        NamespaceExistsResponse,
    )
    from lance_ns.models.tables import (
        DeclareTableRequest,
        DeclareTableResponse,
        DeregisterTableRequest,
        DeregisterTableResponse,
        DescribeTableRequest,
        DescribeTableResponse,
        ListAllTablesRequest,
        ListTablesRequest,
        ListTablesResponse,
        TableBasicStats,
        TableExistsRequest,
        TableExistsResponse,
    )

    REQUESTS: dict[str, type[Request[Any]]]
    """The request class of every operation."""

_HOME_OF = {
    "CreateMode": "choices",
    "DropMode": "choices",
    "DropBehavior": "choices",
    "RegisterMode": "choices",
    "Response": "base",
    "Identity": "base",
    "Request": "base",
    "ListNamespacesResponse": "namespaces",
    "ListNamespacesRequest": "namespaces",
    "DescribeNamespaceResponse": "namespaces",
    "DescribeNamespaceRequest": "namespaces",
    "CreateNamespaceResponse": "namespaces",
    "CreateNamespaceRequest": "namespaces",
    "DropNamespaceResponse": "namespaces",
    "DropNamespaceRequest": "namespaces",
    "NamespaceExistsResponse": "namespaces",
    "NamespaceExistsRequest": "namespaces",
    "ListTablesResponse": "tables",
    "ListTablesRequest": "tables",
    "ListAllTablesRequest": "tables",
    "DeclareTableResponse": "tables",
    "DeclareTableRequest": "tables",
    "TableBasicStats": "tables",
    "DescribeTableResponse": "tables",
    "DescribeTableRequest": "tables",
    "DeregisterTableResponse": "tables",
    "DeregisterTableRequest": "tables",
    "TableExistsResponse": "tables",
    "TableExistsRequest": "tables",
    "RegisterTableResponse": "changes",
    "RegisterTableRequest": "changes",
    "RenameTableResponse": "changes",
    "RenameTableRequest": "changes",
    "DropTableResponse": "changes",
    "DropTableRequest": "changes",
    "AlterTablePropertiesResponse": "changes",
    "AlterTablePropertiesRequest": "changes",
}

__all__ = [
    "REQUESTS",
    "AlterTablePropertiesRequest",
    "AlterTablePropertiesResponse",
    "CreateMode",
    "CreateNamespaceRequest",
    "CreateNamespaceResponse",
    "DeclareTableRequest",
    "DeclareTableResponse",
    "DeregisterTableRequest",
    "DeregisterTableResponse",
    "DescribeNamespaceRequest",
    "DescribeNamespaceResponse",
    "DescribeTableRequest",
    "DescribeTableResponse",
    "DropBehavior",
    "DropMode",
    "DropNamespaceRequest",
    "DropNamespaceResponse",
    "DropTableRequest",
    "DropTableResponse",
    "Identity",
    "ListAllTablesRequest",
    "ListNamespacesRequest",
    "ListNamespacesResponse",
    "ListTablesRequest",
    "ListTablesResponse",
    "NamespaceExistsRequest",
    "NamespaceExistsResponse",
    "RegisterMode",
    "RegisterTableRequest",
    "RegisterTableResponse",
    "RenameTableRequest",
    "RenameTableResponse",
    "Request",
    "Response",
    "TableBasicStats",
    "TableExistsRequest",
    "TableExistsResponse",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lance_ns.models' has no attribute {name!r}")
    from importlib import import_module

    if name == "REQUESTS":
        made = [__getattr__(each) for each in _HOME_OF if each.endswith("Request") and each != "Request"]
        value: Any = {request.operation: request for request in made}
    else:
        value = getattr(import_module(f"lance_ns.models.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
