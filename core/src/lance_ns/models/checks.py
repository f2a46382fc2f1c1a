"""What the fields of models are read and checked by."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from lance_ns.errors import InvalidInput


def flag(default: bool) -> Any:
    """A true-or-false field for which None means the contract's default."""

    def read(value: bool | None) -> bool:
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise InvalidInput(f"{value!r} is neither true nor false")

    return attrs.field(default=default, converter=read)


def string_map(value: Mapping[str, str] | None) -> dict[str, str] | None:
    """Properties as the catalogs keep them, or None."""
    if value is None:
        return None
    items: Mapping[Any, Any] = value
    if not isinstance(items, Mapping):
        raise InvalidInput(f"properties are a mapping of strings, not {type(items).__name__}")
    for key, text in items.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidInput(
                f"property {key!r} is not a string, or its value is not (it is {type(text).__name__})",
                hint="catalogs keep properties as strings: convert the value first",
            )
        if _has_surrogate(key) or _has_surrogate(text):
            raise InvalidInput(f"property {key!r} is not valid Unicode")
    return dict(items)


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def at_least(least: int) -> Any:
    """A check for whole numbers that are at least `least`, or None."""

    def check(_: Any, attribute: Any, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{attribute.name} is a whole number, not {value!r}")
        if value < least:
            raise InvalidInput(f"{attribute.name} is at least {least}, not {value}")

    return check


def text(_: Any, attribute: Any, value: str | None) -> None:
    """A string, or None."""
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{attribute.name} is a string, not {type(value).__name__}")


def required_text(_: Any, attribute: Any, value: Any) -> None:
    """A string that is not empty."""
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{attribute.name} is required and a string that is not empty, not {value!r}")


def maybe_flag(_: Any, attribute: Any, value: Any) -> None:
    """True, false or None, which are three different things."""
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(f"{attribute.name} is true, false or None, not {value!r}")


def names(value: Sequence[str]) -> tuple[str, ...]:
    """Some strings."""
    given: Any = value
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidInput("names are a sequence of strings")
    return tuple(given)


limit = at_least(1)
version = at_least(0)
