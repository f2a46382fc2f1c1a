"""What a backend can do: the operations it implements, and the finer points of their requests.

Capabilities are words, declared once and statically, so that `lance-ns backends` can show them without importing an
SDK. An operation is named as its hook is; a finer point as `operation.point`. What is not declared answers Unsupported
before anything is sent.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
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

TABLE_OPERATIONS = frozenset(name for name in OPERATIONS if "table" in name and not name.startswith("list_"))
"""The operations on one table."""

POINTS: dict[str, dict[str, tuple[str, tuple[Any, ...], str]]] = {
    "drop_namespace": {
        "cascade": ("behavior", ("Restrict",), "dropping a namespace with what it holds"),
    },
    "declare_table": {
        "location": ("location", (None,), "declaring a table at a given location"),
        "vend_credentials": ("vend_credentials", (None, False), "vended credentials"),
    },
    "describe_table": {
        "version": ("version", (None,), "describing a version of a table"),
        "tag": ("tag", (None,), "describing a tag of a table"),
        "branch": ("branch", (None,), "describing a branch of a table"),
        "with_table_uri": ("with_table_uri", (False,), "the table's URI"),
        "load_detailed_metadata": ("load_detailed_metadata", (False,), "detailed metadata"),
        "check_declared": ("check_declared", (False,), "telling declared tables from those with data"),
        "vend_credentials": ("vend_credentials", (None, False), "vended credentials"),
    },
    "list_tables": {
        "include_declared": ("include_declared", (True,), "leaving out tables without data"),
    },
    "list_all_tables": {
        "include_declared": ("include_declared", (True,), "leaving out tables without data"),
    },
    "table_exists": {
        "version": ("version", (None,), "asking for a version of a table"),
    },
    "register_table": {
        "overwrite": ("mode", ("Create",), "registering over an existing table"),
    },
    "rename_table": {
        "new_namespace_id": ("new_namespace_id", (None,), "moving a table to another namespace"),
    },
}
"""The finer points of each operation: the field of its request, the values that need nothing, and its words."""

IDENTITY = "identity"
"""The backend honours the identity that a single request carries."""

KNOWN = OPERATIONS | {f"{operation}.{point}" for operation, points in POINTS.items() for point in points} | {IDENTITY}
"""Every word that a backend may declare."""


def lacking(request: "Request[Any]", capabilities: frozenset[str]) -> tuple[str, str] | None:
    """The first capability that a request needs and a backend lacks, with what it is in words, or None."""
    operation = request.operation
    if operation not in capabilities:
        return operation, operation
    needs, idle, points = _undeclared(operation, capabilities)
    if needs(request) == idle:  # the usual request asks for nothing special
        return None
    for name, field, allowed, words in points:
        if getattr(request, field) not in allowed:
            return name, words
    return None


@cache
def _undeclared(operation: str, capabilities: frozenset[str]) -> tuple[Callable[[Any], Any], Any, tuple[Any, ...]]:
    """What reads the fields that need undeclared points, their values in a plain request, and the points."""
    about = {f"{operation}.{point}": each for point, each in POINTS.get(operation, {}).items()}
    about[IDENTITY] = ("identity", (None,), "an identity for a single call")
    points = tuple((name, *each) for name, each in about.items() if name not in capabilities)
    fields = [field for _, field, _, _ in points]
    idle = tuple(allowed[0] for _, _, allowed, _ in points)
    return (attrgetter("operation", *fields), (operation, *idle), points) if fields else (lambda _: (), (), ())
