"""What all requests and responses share."""

from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import attrs

from lance_ns.errors import InvalidInput
from lance_ns.identifiers import Levels, levels
from lance_ns.models.checks import string_map, text

R = TypeVar("R", bound="Response")


class Model:
    """What all models share. Comparing and showing by reflection, not by generated code, keeps the import short."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, field.name) == getattr(other, field.name) for field in _fields(self)
        )

    __hash__ = None  # type: ignore[assignment]  # they hold dictionaries

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in _fields(self)
            if field.repr and getattr(self, field.name) is not None
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _fields(model: Any) -> tuple[Any, ...]:
    fields: tuple[Any, ...] = attrs.fields(type(model))
    return fields


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Response(Model):
    """What every response carries."""

    context: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Identity(Model):
    """Who asks, for this one call. Neither field is ever shown."""

    api_key: str | None = attrs.field(default=None, repr=False, validator=text)
    auth_token: str | None = attrs.field(default=None, repr=False, validator=text)


def _by_identity(_: Any, __: Any, value: Any) -> None:
    if value is not None and not isinstance(value, Identity):
        raise InvalidInput(f"identity is an Identity, not {type(value).__name__}")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Request(Model, Generic[R]):
    """What every request carries. `operation` names its hook, `response` is the class of its answer."""

    operation: ClassVar[str]
    response: ClassVar[type[Response]]

    identity: Identity | None = attrs.field(default=None, repr=False, validator=_by_identity)
    context: Mapping[str, str] | None = attrs.field(default=None, repr=False, converter=string_map)
    id: Levels = attrs.field(default=None, converter=levels)
