"""What a backend can do: the operations it implements, and the finer points of their requests.

Capabilities are words, declared once and statically, so that `lance-ns backends` can show them without importing an
SDK. An operation is named as its hook is; a finer point as `operation.point`. What is not declared answers Unsupported
before anything is sent.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lance_ns.models import Request

BASIC = frozenset(
    {
        "create_namespace",
        "list_namespaces",
        "describe_namespace",
        "drop_namespace",
        "declare_table",
        "list_tables",
        "describe_table",
        "deregister_table",
    }
)
"""The eight operations that every backend has."""

OPERATIONS = BASIC | {
    "namespace_exists",
    "table_exists",
    "list_all_tables",
    "register_table",
    "rename_table",
    "alter_table_properties",
    "drop_table",
}
"""Every operation that has a hook."""

POINTS: dict[str, dict[str, tuple[Callable[[Any], bool], str]]] = {
    "drop_namespace": {
        "cascade": (lambda r: r.behavior == "Cascade", "dropping a namespace with what it holds"),
    },
    "declare_table": {
        "location": (lambda r: r.location is not None, "declaring a table at a given location"),
        "vend_credentials": (lambda r: bool(r.vend_credentials), "vended credentials"),
    },
    "describe_table": {
        "version": (lambda r: r.version is not None, "describing a version of a table"),
        "tag": (lambda r: r.tag is not None, "describing a tag of a table"),
        "branch": (lambda r: r.branch is not None, "describing a branch of a table"),
        "with_table_uri": (lambda r: r.with_table_uri, "the table's URI"),
        "load_detailed_metadata": (lambda r: r.load_detailed_metadata, "detailed metadata"),
        "check_declared": (lambda r: r.check_declared, "telling declared tables from those with data"),
        "vend_credentials": (lambda r: bool(r.vend_credentials), "vended credentials"),
    },
    "list_tables": {
        "include_declared": (lambda r: not r.include_declared, "leaving out tables without data"),
    },
    "list_all_tables": {
        "include_declared": (lambda r: not r.include_declared, "leaving out tables without data"),
    },
    "table_exists": {
        "version": (lambda r: r.version is not None, "asking for a version of a table"),
    },
    "register_table": {
        "overwrite": (lambda r: r.mode == "Overwrite", "registering over an existing table"),
    },
    "rename_table": {
        "new_namespace_id": (lambda r: r.new_namespace_id is not None, "moving a table to another namespace"),
    },
}
"""The finer points of each operation: when a request needs it, and what it is in words."""

IDENTITY = "identity"
"""The backend honours the identity that a single request carries."""

KNOWN = OPERATIONS | {f"{operation}.{point}" for operation, points in POINTS.items() for point in points} | {IDENTITY}
"""Every word that a backend may declare."""


def missing(request: "Request[Any]", capabilities: frozenset[str]) -> Iterator[tuple[str, str]]:
    """The capabilities that a request needs and a backend lacks, each with what it is in words."""
    operation = request.operation
    if operation not in capabilities:
        yield operation, operation
        return
    for point, (needed_by, words) in POINTS.get(operation, {}).items():
        name = f"{operation}.{point}"
        if name not in capabilities and needed_by(request):
            yield name, words
    if request.identity is not None and IDENTITY not in capabilities:
        yield IDENTITY, "an identity for a single call"
