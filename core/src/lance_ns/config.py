"""Properties of a connection: declared once, checked on the way in, and secret where they must be.

    @properties
    class AcmeConfig(StorageProperties):
        endpoint: str = prop(REQUIRED, "URL of the server")
        token: Secret | None = prop(None, "Bearer token")
        read_timeout: int = prop(30_000, "How long to wait for an answer", unit="milliseconds", at_least=1)

A class like this gives the backend typed values, the user an error with the nearest name, and the manual its table.
"""

import os
import re
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs

from lance_ns.errors import InvalidInput

C = TypeVar("C")

HIDDEN = "***"
_SECRET_KEY = re.compile(
    r"secret|token|passw|credential|(?<!bucket_)key(?!_enabled)|sas|signature|private|authorization", re.IGNORECASE
)
_USER_INFO = re.compile(r"(?<=://)[^/\s,]*(?=@)")
_PERCENT = re.compile(r"%[0-9A-F]{2}")


class Secret:
    """A value that is never shown. `reveal()` is the only way to it."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for the one line that needs it."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return f"Secret('{HIDDEN}')"

    __str__ = __repr__


class Properties(Mapping[str, Any]):
    """Properties as a user gave them. Only their names are ever shown, for any of them may be a secret."""

    __slots__ = ("_fault", "_values")

    def __init__(self, *sources: Any) -> None:
        # Nothing is raised here: the frames that hold what was given must be left behind first.
        self._values: dict[str, Any] = {}
        self._fault: str | None = None
        for source in sources:
            if source is not None and not isinstance(source, Mapping):
                self._fault = f"properties are a mapping, not {type(source).__name__}"
                continue
            for name, value in (source or {}).items():
                if not isinstance(name, str):
                    self._fault = f"property names are strings, not {type(name).__name__}"
                elif value is not None:
                    self._values.pop(name, None)  # the order is that of the sources: the last one wins
                    self._values[name] = value

    def refuse_faults(self) -> None:
        """Raise InvalidInput if what was given were no properties."""
        if self._fault is not None:
            raise InvalidInput(self._fault)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Properties({', '.join(sorted(self._values)) or 'none'})"


class Hidden(dict[str, Any]):
    """A dictionary that shows its keys only, and so does what is made of it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(sorted(self)) or 'none'})"

    __str__ = __repr__

    def copy(self) -> Self:
        """A copy that shows its keys only, too."""
        return type(self)(self)

    def __or__(self, other: Mapping[str, Any]) -> Self:  # type: ignore[override]
        return type(self)({**self, **other})

    def __ror__(self, other: Mapping[str, Any]) -> Self:  # type: ignore[override]
        return type(self)({**other, **self})


class StorageOptions(Hidden):
    """Options for the storage of tables, by the names that pylance gives them."""


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Any = _Required()
"""The default of a property that has none."""


def prop(
    default: Any,
    description: str,
    *,
    name: str | None = None,
    unit: str | None = None,
    choices: tuple[str, ...] | None = None,
    at_least: float | None = None,
    shown: str | None = None,
    location: bool = False,
) -> Any:
    """Declare a property.

    Args:
        default: its value when it is not given, a function that works it out, or REQUIRED.
        description: one sentence for the manual.
        name: its name where that is no Python identifier, such as `client.pool-size`.
        unit: what a number counts.
        choices: the values it may have.
        at_least: the least value of a number.
        shown: how the manual shows a default that is worked out, such as "the current working directory".
        location: it is a storage location; a local path is made absolute, so that it means the same elsewhere.
    """
    about = {
        "name": name,
        "description": description,
        "unit": unit,
        "choices": choices,
        "at_least": at_least,
        "shown": shown,
        "location": location,
    }
    converter = attrs.converters.optional(absolute_location) if location else None
    if default is REQUIRED:
        return attrs.field(converter=converter, metadata=about)
    if callable(default):
        return attrs.field(factory=default, converter=converter, metadata=about)
    return attrs.field(default=default, converter=converter, metadata=about)


def prefixed(prefix: str, description: str) -> Any:
    """Declare a group of properties: everything that starts with `prefix`, collected without it."""
    return attrs.field(factory=StorageOptions, metadata={"prefix": prefix, "description": description})


def properties(cls: type[C]) -> type[C]:
    """Make a class of declared properties. Instances are frozen and show no value."""
    return attrs.frozen(cls, kw_only=True, eq=False, repr=False)


@properties
class StorageProperties:
    """What every backend takes: options for the storage of its tables."""

    storage: Mapping[str, str] = prefixed(
        "storage.", "Options to access the tables' storage, as pylance takes them, e.g. `storage.aws_region`"
    )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(…)"


@attrs.frozen
class PropertyInfo:
    """What is to be known of one property, for tables and completion."""

    name: str
    type: str
    default: str
    required: bool
    secret: bool
    description: str


def describe(config: type[Any]) -> list[PropertyInfo]:
    """All properties of a class, in the order of their declaration, groups last."""
    hints = get_type_hints(config)
    infos = []
    for field in attrs.fields(config):
        about = field.metadata
        if "prefix" in about:
            infos.append(PropertyInfo(f"{about['prefix']}*", "strings", "none", False, True, about["description"]))
            continue
        kind = _plain_type(hints[field.name])
        required = field.default is attrs.NOTHING
        infos.append(
            PropertyInfo(
                name=about["name"] or field.name,
                type=" | ".join(about["choices"]) if about["choices"] else _type_words(kind, about["unit"]),
                default="required" if required else about["shown"] or _default_words(field.default),
                required=required,
                secret=kind is Secret,
                description=about["description"],
            )
        )
    return sorted(infos, key=lambda info: info.name.endswith("*"))


def read(config: type[C], given: Properties, *, backend: str) -> C:
    """Check what a user gave against the declared properties.

    Raises:
        InvalidInput: unknown name, wrong type, or a required one is missing; the message shows no value of a secret.
    """
    given.refuse_faults()
    hints = get_type_hints(config)
    fields = attrs.fields(config)  # type: ignore[arg-type, var-annotated, misc, unused-ignore]
    by_name = {_key(field.metadata["name"] or field.name): field for field in fields if "prefix" not in field.metadata}
    groups = {field.metadata["prefix"]: field for field in fields if "prefix" in field.metadata}
    values = Hidden({group.name: StorageOptions() for group in groups.values()})
    for name in given:
        prefix = next((prefix for prefix in groups if name.startswith(prefix) and len(name) > len(prefix)), None)
        if prefix is not None:
            values[groups[prefix].name][name.removeprefix(prefix)] = _group_value(name, given, backend)
        elif field := by_name.get(_key(name)):
            values[field.name] = _value(field, _plain_type(hints[field.name]), name, given, backend)
        else:
            raise _unknown(name, [*(f.metadata["name"] or f.name for f in by_name.values()), *groups], backend)
    absent = [
        field.metadata["name"] or field.name
        for field in by_name.values()
        if field.default is attrs.NOTHING and field.name not in values
    ]
    if absent:
        raise InvalidInput(
            f"required propert{'ies' if len(absent) > 1 else 'y'} {', '.join(map(repr, absent))} not given",
            backend=backend,
            hint=_see(backend),
        )
    return config(**values)


def resolved(config: Any) -> Properties:
    """All values of a connection, secrets included, as properties that make the same one elsewhere."""
    values: dict[str, Any] = {}
    for field in attrs.fields(type(config)):
        value = getattr(config, field.name)
        if "prefix" in field.metadata:
            values |= {field.metadata["prefix"] + key: text for key, text in value.items()}
        else:
            values[field.metadata["name"] or field.name] = value
    return Properties(values)


def secrets_of(config: Any) -> list[str]:
    """The values of a connection that must never be shown."""
    found = []
    for field in attrs.fields(type(config)):
        value = getattr(config, field.name)
        if isinstance(value, Secret):
            found.append(value.reveal())
        elif isinstance(value, StorageOptions):
            found += [text for key, text in value.items() if _SECRET_KEY.search(key)]
    return [text for text in found if text]


def holds_credentials(options: Mapping[str, str]) -> bool:
    """Whether storage options contain anything that authenticates."""
    return any(_SECRET_KEY.search(key) for key in options)


class Redactor:
    """Takes secrets out of texts: those of one connection, and user names and passwords in URLs."""

    def __init__(self, secrets: list[str]) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        ordered = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._pattern is not None:
            text = self._pattern.sub(HIDDEN, text)
        return _USER_INFO.sub(HIDDEN, text)


def _forms(secret: str) -> Iterator[str]:
    """A secret as libraries write it into their messages: plain, in a URL, in JSON, in a repr."""
    import json
    from urllib.parse import quote, quote_plus

    yield secret
    for encoded in (quote(secret), quote(secret, safe=""), quote_plus(secret)):
        yield encoded
        yield _PERCENT.sub(lambda match: match[0].lower(), encoded)
    for written in (repr(secret), json.dumps(secret), json.dumps(secret, ensure_ascii=False)):
        yield written[1:-1]
    yield repr(f'"{secret}')[2:-1]  # inside of a text with both kinds of quotes


def _key(name: str) -> str:
    """Environment variables cannot say `-`: both spellings name the same property."""
    return name.replace("-", "_")


def _see(backend: str) -> str:
    return f"`lance-ns config {backend}` lists them all"


def _unknown(name: str, known: list[str], backend: str) -> InvalidInput:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"did you mean {near[0]!r}? {_see(backend)}" if near else _see(backend)
    return InvalidInput(f"unknown property {name!r}", backend=backend, hint=hint)


def _plain_type(hint: Any) -> Any:
    """The type without `| None`."""
    if get_origin(hint) in (Union, types.UnionType):
        return next(kind for kind in get_args(hint) if kind is not type(None))
    return hint


def _type_words(kind: Any, unit: str | None) -> str:
    words = {str: "string", int: "whole number", float: "number", bool: "true or false", Secret: "secret"}
    return words.get(kind, "list, separated by commas") + (f" of {unit}" if unit else "")


def _default_words(default: Any) -> str:
    if default is None:
        return "none"
    if isinstance(default, bool):
        return str(default).lower()
    return str(default)


# These functions hold what was given in no variable: a traceback would show it.


def _group_value(name: str, given: Properties, backend: str) -> str:
    if isinstance(given[name], Secret):
        return str(given[name].reveal())
    if isinstance(given[name], bool):
        return str(given[name]).lower()
    if isinstance(given[name], str | int | float):
        return str(given[name])
    raise InvalidInput(f"property {name!r} is a string, not {type(given[name]).__name__}", backend=backend)


def _value(field: Any, kind: Any, name: str, given: Properties, backend: str) -> Any:
    about = field.metadata
    fault: str | None = None
    try:
        converted = Hidden(value=_convert(kind, given[name]))
        if about["location"]:
            absolute_location(converted["value"])
    except (TypeError, ValueError, OverflowError):
        fault = f"a {_type_words(kind, about['unit'])}"
        converted = Hidden()
    else:
        if about["choices"] and converted["value"] not in about["choices"]:
            fault = f"one of {', '.join(about['choices'])}"
        elif about["at_least"] is not None and not converted["value"] >= about["at_least"]:
            fault = f"at least {about['at_least']}"
    if fault is not None:
        shown = "" if kind is Secret else f", got {_USER_INFO.sub(HIDDEN, repr(given[name]))}"
        raise InvalidInput(f"property {name!r} must be {fault}{shown}", backend=backend)
    return converted["value"]


def absolute_location(location: str) -> str:
    """A location that means the same in every process: URIs as they are, local paths absolute."""
    if "://" in location:
        return location
    try:
        return str(Path(location).expanduser().absolute())
    except RuntimeError as error:
        raise ValueError("there is no such home directory") from error


def _convert(kind: Any, value: Any) -> Any:
    if isinstance(value, Secret) and kind is not Secret:
        value = value.reveal()
    if kind is Secret:
        return value if isinstance(value, Secret) else Secret(_string(value))
    if kind is bool:
        return _boolean(value)
    if kind in (int, float):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise ValueError
        if kind is int and isinstance(value, float):
            raise ValueError
        return kind(value)
    if get_origin(kind) is tuple:
        parts = value.split(",") if isinstance(value, str) else list(value)
        return tuple(_string(part).strip() for part in parts)
    return _string(os.fspath(value) if isinstance(value, os.PathLike) else value)


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    try:
        return {
            "true": True,
            "yes": True,
            "on": True,
            "1": True,
            "false": False,
            "no": False,
            "off": False,
            "0": False,
        }[_string(value).lower()]
    except KeyError:
        raise ValueError from None
