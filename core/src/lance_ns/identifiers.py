"""Identifiers: levels and their written forms, and locations that no name can lead astray."""

from collections.abc import Sequence
from re import compile as pattern

from lance_ns.errors import InvalidInput

DELIMITER = "$"
MAX_LEVEL_LENGTH = 255

Levels = tuple[str, ...]
Identifier = str | Sequence[str] | None

_UNADDRESSABLE = {".", ".."}  # URL and path normalisation would turn these into another resource
_CONTROL = pattern(r"[\x00-\x1f\x7f-\x9f]")
_SURROGATE = pattern(r"[\ud800-\udfff]")
_PLAIN = pattern(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_MAX_SEGMENT = 200


def levels(value: Sequence[str] | None) -> Levels:
    """The checked levels of a sequence; None is the root.

    Raises:
        InvalidInput: a level is empty, too long, `.` or `..`, or holds control characters, or is no string.
    """
    if value is None:
        return ()
    given: object = value
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        kind = "string" if isinstance(given, str) else type(given).__name__
        raise InvalidInput(
            f"an identifier of a request is a sequence of levels, not the {kind} {_shown([given])[1:-1]}",
            hint="split it first, or use the keyword methods, which take delimited strings",
        )
    checked = tuple(value)
    for position, level in enumerate(checked, start=1):
        if _is_plain(level):
            continue
        fault = _fault_of(level)
        if fault:
            raise InvalidInput(f"level {position} of identifier {_shown(checked)} {fault}")
    return checked


def split(identifier: Identifier, delimiter: str = DELIMITER) -> Sequence[str]:
    """The levels, not yet checked, of an identifier as users write it.

    That is `"ml$docs"` or `["ml", "docs"]`, and `""`, `"$"` or None for the root.
    """
    if isinstance(identifier, str):
        return () if identifier in ("", delimiter) else identifier.split(delimiter)
    return () if identifier is None else identifier


def parse(identifier: Identifier, delimiter: str = DELIMITER) -> Levels:
    """The checked levels of an identifier as users write it."""
    return levels(split(identifier, delimiter))


def display(identifier: Sequence[str], delimiter: str = DELIMITER) -> str:
    """An identifier as people read it. A level that holds the delimiter shows the identifier as a list."""
    if not identifier:
        return "(root)"
    return _shown(identifier) if any(delimiter in level for level in identifier) else delimiter.join(identifier)


def default_location(base: str, identifier: Sequence[str]) -> str:
    """The location of a table below `base`: one path segment for each level, never outside of `base`.

    Ordinary names stand as they are. Every other character is written as `~` and the hexadecimal of its UTF-8 bytes:
    unlike a percent sign, that means the same to every storage client. Different identifiers never share a location.
    """
    trimmed = base.rstrip("/")
    return "/".join([f"{trimmed}//" if trimmed.endswith(":") else trimmed, *map(_segment, identifier)])


def same_place(one: str, other: str) -> bool:
    """Whether two locations are the same: catalogs give local paths back as URIs, and ends without slashes."""
    return _bare(one) == _bare(other)


def _bare(location: str) -> str:
    for scheme in ("file://", "file:"):
        if location.startswith(scheme):
            return f"/{location.removeprefix(scheme).strip('/')}"
    return location.rstrip("/")


def _segment(level: str) -> str:
    if _PLAIN.fullmatch(level) and len(level) <= _MAX_SEGMENT:
        return level
    plain = "".join(
        char
        if char.isascii() and (char.isalnum() or char in "_-" or (char == "." and at > 0))
        else "".join(f"~{byte:02X}" for byte in char.encode())
        for at, char in enumerate(level)
    )
    if len(plain) <= _MAX_SEGMENT:
        return plain
    from hashlib import sha256

    return f"{plain[: _MAX_SEGMENT - 34]}~~{sha256(level.encode()).hexdigest()[:32]}"


def _is_plain(level: object) -> bool:
    """Whether a level is surely fine: the short way for nearly all of them."""
    return isinstance(level, str) and level.isidentifier() and level.isascii() and len(level) <= MAX_LEVEL_LENGTH


def _fault_of(level: object) -> str | None:
    if not isinstance(level, str):
        return f"is not a string but {type(level).__name__}"
    if not level:
        return "is empty"
    if len(level) > MAX_LEVEL_LENGTH:
        return f"has {len(level)} characters, {MAX_LEVEL_LENGTH} are allowed"
    if level in _UNADDRESSABLE:
        return "would be read as a path and cannot be addressed"
    if _CONTROL.search(level):
        return "holds a control character"
    if _SURROGATE.search(level):
        return "is not valid Unicode"
    return None


def _shown(identifier: Sequence[object]) -> str:
    """The levels as a list, shortened: a hostile name shall not fill a log."""
    shown = [repr(level) if len(repr(level)) <= 60 else f"{repr(level)[:57]}…'" for level in identifier[:10]]
    return f"[{', '.join(shown)}{', …' if len(identifier) > 10 else ''}]"
