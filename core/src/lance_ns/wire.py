"""Models as plain data and back: the wire form of requests and responses."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import attrs

from lance_ns.errors import InvalidInput, LanceNsError

T = TypeVar("T")


def unstructure(model: Any) -> dict[str, Any]:
    """A model as JSON-ready data. What is None, and every extension, is left out."""
    data: dict[str, Any] = _converter().unstructure(model)
    return data


def structure(data: Mapping[str, Any], kind: type[T]) -> T:
    """A model from plain data, strictly: nothing is converted silently, and an unknown key is an error.

    Raises:
        InvalidInput: the data is not what the model says.
    """
    from cattrs import BaseValidationError, ForbiddenExtraKeysError

    if not isinstance(data, Mapping):
        raise InvalidInput(f"a {kind.__name__} is a mapping, not {type(data).__name__}")
    try:
        model: T = _converter().structure(data, kind)
    except LanceNsError:
        raise
    except ForbiddenExtraKeysError as error:
        raise InvalidInput(f"{kind.__name__} has no field {', '.join(sorted(error.extra_fields))}") from None
    except (BaseValidationError, AttributeError, TypeError, ValueError, KeyError) as error:
        raise InvalidInput(f"not a {kind.__name__}: {error}") from None
    return model


@cache
def _converter() -> Any:
    from cattrs import Converter
    from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

    converter = Converter(
        forbid_extra_keys=True,
        prefer_attrib_converters=True,
        detailed_validation=False,
        unstruct_collection_overrides={tuple: list},
    )

    def extensions(kind: type[Any]) -> dict[str, Any]:
        """An extension never goes on the wire, nor comes from it."""
        return {field.name: override(omit=True) for field in attrs.fields(kind) if field.metadata.get("extension")}

    def unstructured(kind: type[Any]) -> Any:
        return make_dict_unstructure_fn(kind, converter, _cattrs_omit_if_default=True, **extensions(kind))

    def structured(kind: type[Any]) -> Any:
        return make_dict_structure_fn(kind, converter, **extensions(kind))

    converter.register_unstructure_hook_factory(attrs.has, unstructured)
    converter.register_structure_hook_factory(attrs.has, structured)
    converter.register_structure_hook_func(lambda kind: kind == Sequence[str], _strings)
    for plain in (str, int, float, bool):  # cattrs would make the number 5 of "5" and true of "false"
        converter.register_structure_hook(plain, _only)
    return converter


def _only(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise InvalidInput(f"{value!r} is not of type {kind.__name__}")
    return value


def _strings(value: Any, _: Any) -> list[str]:
    if not isinstance(value, list | tuple):
        raise InvalidInput(f"{value!r} is not a list")
    return [_only(each, str) for each in value]
