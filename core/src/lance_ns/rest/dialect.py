"""Errors of a server as ours: by the name it gives them, then by the status."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from lance_ns.errors import (
    Internal,
    LanceNsError,
    PermissionDenied,
    ServiceUnavailable,
    Throttling,
    Unauthenticated,
    Unsupported,
)

Kind = type[LanceNsError]
Kinds = Mapping[str | int, Kind]
"""What an error means, by the server's name for it or by the status."""

_EVERYWHERE: Kinds = {
    401: Unauthenticated,
    403: PermissionDenied,
    406: Unsupported,
    419: Unauthenticated,
    429: Throttling,
    501: Unsupported,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}
_HINTS: Mapping[Kind, str] = {
    Unauthenticated: "check the credentials that the connection was given",
    PermissionDenied: "ask the catalog's owner for the privilege",
    Throttling: "wait, or make fewer calls at once",
    ServiceUnavailable: "try again later",
}
_NO_KINDS: Kinds = {}
_LONGEST = 400


class Said(NamedTuple):
    """What an error's body says: the server's name for it, and its sentence."""

    name: str = ""
    message: str = ""


class Dialect(NamedTuple):
    """How one kind of server speaks of errors.

    Attributes:
        read: takes the name and the message out of a body that is JSON.
        kinds: what names and statuses mean, whatever was called.
    """

    read: Callable[[Any], Said]
    kinds: Kinds = _NO_KINDS

    def error(self, status: int, body: Any, text: str, meaning: Kinds) -> LanceNsError:
        """The error that an answer is; `meaning` is what names and statuses mean for this one call."""
        said = self.read(body) if isinstance(body, dict) else Said(message=_plain(text))
        kind = next(
            (
                table[key]
                for key, table in (
                    (said.name, meaning),
                    (said.name, self.kinds),
                    (status, meaning),
                    (status, self.kinds),
                    (status, _EVERYWHERE),
                )
                if key in table
            ),
            Internal,
        )
        return kind(
            _first_line(said.message) or f"the server answered with status {status} and no message",
            native=f"HTTP {status} {said.name}".rstrip(),
            hint=_HINTS.get(kind),
        )


def iceberg_error(body: Any) -> Said:
    """The body of an Iceberg REST server: `{"error": {"type", "message"}}`; OAuth2 has a form of its own."""
    error = body.get("error")
    if isinstance(error, dict):
        return Said(_string(error.get("type")), _string(error.get("message")))
    return Said(_string(error), _string(body.get("error_description")))


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _plain(text: str) -> str:
    """The text of a body that is not JSON; a page for people says nothing that helps."""
    return "the server answered with a page for people" if text.lstrip()[:1] == "<" else text


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].strip()


def shortened(text: str) -> str:
    """A server's words such that they can be shown: not too many, and nothing that a terminal would obey."""
    shown = "".join(char if char.isprintable() else " " for char in text[:_LONGEST])
    return shown if len(text) <= _LONGEST else f"{shown}…"
