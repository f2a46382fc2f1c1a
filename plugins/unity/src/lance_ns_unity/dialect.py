"""Errors of Unity's servers as ours: one table for all of their dialects.

Up to 0.3 a duplicate is 409 ALREADY_EXISTS, from 0.4 on 400 SCHEMA_ALREADY_EXISTS and the like; up to 0.4 what is
missing is NOT_FOUND whatever it is, later SCHEMA_NOT_FOUND and the like. An independent server says RESOURCE_NOT_FOUND,
and spells the field itself `errorCode`. Names decide, for statuses are shared: a route that a server does not have is
404 too, in plain text, and no table is missing then.
"""

import re
from typing import Any

from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    PermissionDenied,
    ServiceUnavailable,
    TableAlreadyExists,
    TableNotFound,
    Throttling,
    Unauthenticated,
    Unsupported,
)
from lance_ns.rest.dialect import Dialect, Kind, Kinds, Said

_MISSING = ("NOT_FOUND", "DOES_NOT_EXIST")
_EXISTING = ("ALREADY_EXISTS",)


def _named(things: tuple[str, ...], endings: tuple[str, ...], kind: Kind) -> dict[str | int, Kind]:
    return {f"{thing}{ending}": kind for thing in things for ending in endings}


ANYTHING = ("", "RESOURCE_")
ABOVE = ("CATALOG_", "SCHEMA_")

NAMESPACE: Kinds = _named(ANYTHING, _MISSING, NamespaceNotFound)
NEW_NAMESPACE: Kinds = {**NAMESPACE, **_named(ANYTHING, _EXISTING, NamespaceAlreadyExists)}
OLD_NAMESPACE: Kinds = {**NAMESPACE, "FAILED_PRECONDITION": NamespaceNotEmpty, "SCHEMA_NOT_EMPTY": NamespaceNotEmpty}
TABLE: Kinds = _named((*ANYTHING, *ABOVE), _MISSING, TableNotFound)
NEW_TABLE: Kinds = {**NAMESPACE, **_named(ANYTHING, _EXISTING, TableAlreadyExists)}


PLACE_TAKEN = "HTTP 400 INVALID_PARAMETER_VALUE"
"""What an independent server says of a table whose location is another's, before it looks whether that is the same."""

_TOO_LONG = re.compile("too long for (column|type)")
"""How the databases below a server say it; the server calls it an internal error."""


class UnityDialect(Dialect):
    """Reads what servers do not name: values that are too long, and routes that do not exist."""

    def error(self, status: int, body: Any, text: str, meaning: Kinds) -> LanceNsError:
        """The error that an answer is."""
        error = super().error(status, body, text, meaning)
        if not isinstance(error, Internal):
            return error
        if _TOO_LONG.search(error.message):
            return InvalidInput(error.message, native=error.native, hint="the server keeps so many characters at most")
        if status in (404, 405):
            error.hint = "the server has no such route: check 'endpoint' and 'api_path'"
        return error


def _said(body: Any) -> Said:
    """The body of an error: `{"error_code", "message"}`, and whatever else, which is not shown."""
    name, message = body.get("error_code") or body.get("errorCode"), body.get("message")
    return Said(name if isinstance(name, str) else "", message if isinstance(message, str) else "")


DIALECT = UnityDialect(
    read=_said,
    kinds={
        **_named(ABOVE, _MISSING, NamespaceNotFound),
        **_named(("TABLE_",), _MISSING, TableNotFound),
        "SCHEMA_ALREADY_EXISTS": NamespaceAlreadyExists,
        "TABLE_ALREADY_EXISTS": TableAlreadyExists,
        "INVALID_ARGUMENT": InvalidInput,
        "INVALID_PARAMETER_VALUE": InvalidInput,
        "OUT_OF_RANGE": InvalidInput,
        "ABORTED": ConcurrentModification,
        "RESOURCE_CONFLICT": ConcurrentModification,
        "PERMISSION_DENIED": PermissionDenied,
        "UNAUTHENTICATED": Unauthenticated,
        "RESOURCE_EXHAUSTED": Throttling,
        "REQUEST_LIMIT_EXCEEDED": Throttling,
        "UNAVAILABLE": ServiceUnavailable,
        "TEMPORARILY_UNAVAILABLE": ServiceUnavailable,
        "DEADLINE_EXCEEDED": ServiceUnavailable,
        "UNIMPLEMENTED": Unsupported,
    },
)
