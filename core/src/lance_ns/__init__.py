"""Lance tables in every catalog, through one Python interface.

    with lance_ns.connect("dir", root="lake") as ns:
        ns.create_namespace("ml")
        ns.write("ml$docs", table)

Names are imported when they are first used: `import lance_ns` itself costs next to nothing.
"""

from typing import TYPE_CHECKING, Any

from lance_ns.version import __version__

if TYPE_CHECKING:
    from lance_ns.capabilities import BASIC
    from lance_ns.config import REQUIRED, Secret, StorageProperties, prefixed, prop, properties
    from lance_ns.connection import connect
    from lance_ns.errors import (
        ConcurrentModification,
        ErrorCode,
        Internal,
        InvalidInput,
        InvalidTableState,
        LanceNsError,
        NamespaceAlreadyExists,
        NamespaceNotEmpty,
        NamespaceNotFound,
        PermissionDenied,
        ServiceUnavailable,
        TableAlreadyExists,
        TableBranchAlreadyExists,
        TableBranchNotFound,
        TableColumnNotFound,
        TableIndexAlreadyExists,
        TableIndexNotFound,
        TableNotFound,
        TableSchemaValidationError,
        TableTagAlreadyExists,
        TableTagNotFound,
        TableVersionNotFound,
        Throttling,
        TransactionNotFound,
        Unauthenticated,
        Unsupported,
    )
    from lance_ns.hookspecs import HOOKSPEC_VERSION, Backend, Operations, hookimpl
    from lance_ns.middleware import around
    from lance_ns.namespace import Namespace

_HOME_OF = {  # of every other public name it is `errors`
    "BASIC": "capabilities",
    "REQUIRED": "config",
    "Secret": "config",
    "StorageProperties": "config",
    "prefixed": "config",
    "prop": "config",
    "properties": "config",
    "connect": "connection",
    "HOOKSPEC_VERSION": "hookspecs",
    "Backend": "hookspecs",
    "Operations": "hookspecs",
    "hookimpl": "hookspecs",
    "around": "middleware",
    "Namespace": "namespace",
}

__all__ = [
    "BASIC",
    "HOOKSPEC_VERSION",
    "REQUIRED",
    "Backend",
    "ConcurrentModification",
    "ErrorCode",
    "Internal",
    "InvalidInput",
    "InvalidTableState",
    "LanceNsError",
    "Namespace",
    "NamespaceAlreadyExists",
    "NamespaceNotEmpty",
    "NamespaceNotFound",
    "Operations",
    "PermissionDenied",
    "Secret",
    "ServiceUnavailable",
    "StorageProperties",
    "TableAlreadyExists",
    "TableBranchAlreadyExists",
    "TableBranchNotFound",
    "TableColumnNotFound",
    "TableIndexAlreadyExists",
    "TableIndexNotFound",
    "TableNotFound",
    "TableSchemaValidationError",
    "TableTagAlreadyExists",
    "TableTagNotFound",
    "TableVersionNotFound",
    "Throttling",
    "TransactionNotFound",
    "Unauthenticated",
    "Unsupported",
    "__version__",
    "around",
    "connect",
    "hookimpl",
    "prefixed",
    "prop",
    "properties",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'lance_ns' has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"lance_ns.{_HOME_OF.get(name, 'errors')}"), name)
    return value


def __dir__() -> list[str]:
    return __all__
