"""The pipeline file described, from its schema alone: types in words, the manual's tables, a JSON Schema."""

from collections.abc import Callable, Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs

from lance_ns_spark.pipeline.schema import KINDS, Pipeline, Step, Value

_WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Value: "text or a number or true or false",
}
_JSON = {str: "string", int: "integer", float: "number", bool: "boolean"}


def is_many(kind: Any) -> bool:
    """Whether a type is a list of things."""
    return get_origin(kind) is tuple


def is_mapping(kind: Any) -> bool:
    """Whether a type is names with values."""
    return get_origin(kind) is get_origin(Mapping[str, Any])


def in_words(kind: Any, part: Callable[[type[Any]], str] = lambda _: "a table of fields") -> str:
    """A type as messages call it; the manual links its parts."""
    if kind in _WORDS:
        return _WORDS[kind]
    if kind == Step:
        return "a step"
    if _is_union(kind):
        return " or ".join(in_words(each, part) for each in _options(kind))
    if is_many(kind):
        each = get_args(kind)[0]
        return "a list of texts" if each is str else f"a list, each {in_words(each, part)}"
    if is_mapping(kind):
        value = get_args(kind)[1]
        return "names with values" if value is Any else f"names, each with {in_words(value, part)}"
    return part(kind)


def manual() -> str:
    """The reference page's tables: the file, each kind of step, and the parts that they are made of."""
    sections = [_section(Pipeline, "The file", 2), "## Steps", *(_section(cls, kind, 3) for kind, cls in KINDS.items())]
    return "\n\n".join([*sections, "## Parts", *(_section(cls, cls.__name__, 3) for cls in _parts())])


def json_schema() -> dict[str, Any]:
    """The file as a JSON Schema, for editors."""
    steps = [{"$ref": f"#/$defs/{cls.__name__}"} for cls in KINDS.values()]
    definitions = {cls.__name__: _object(cls) for cls in (*KINDS.values(), *_parts())}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "lance-ns pipeline",
        **_object(Pipeline),
        "$defs": {"Step": {"oneOf": steps}, **definitions},
    }


def _section(cls: type[Any], title: str, level: int) -> str:
    hints = get_type_hints(cls)
    lines = ["| field | type | default | description |", "| --- | --- | --- | --- |"]
    for field in attrs.fields(cls):
        about = field.metadata
        choices = " or ".join(f"`{choice}`" for choice in about["choices"] or ())
        cells = (f"`{field.name}`", choices or _linked(hints[field.name]), _default(field), about["description"])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return f"{'#' * level} {title}\n\n{cls.__doc__}\n\n" + "\n".join(lines)


def _linked(kind: Any) -> str:
    return in_words(kind, lambda cls: f"[{cls.__name__}](#{cls.__name__.lower()})")


def _default(field: "attrs.Attribute[Any]") -> str:
    if field.default is attrs.NOTHING:
        return "required"
    if field.metadata["shown"]:
        return str(field.metadata["shown"])
    if isinstance(field.default, bool):
        return str(field.default).lower()
    return "none" if field.default is None else f"`{field.default}`"


def _parts() -> list[type[Any]]:
    """The classes that steps are made of, in the order in which they are met."""
    met: dict[type[Any], None] = {}

    def meet(cls: type[Any]) -> None:
        for kind in get_type_hints(cls).values():
            for each in _classes(kind):
                if each not in met:
                    met[each] = None
                    meet(each)

    for cls in KINDS.values():
        meet(cls)
    return list(met)


def _classes(kind: Any) -> Iterator[type[Any]]:
    if attrs.has(kind):
        yield kind
    for each in get_args(kind):
        yield from _classes(each)


def _object(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    fields = attrs.fields(cls)
    return {
        "description": cls.__doc__,
        "type": "object",
        "properties": {field.name: _schema(hints[field.name], field.metadata) for field in fields},
        "required": [field.name for field in fields if field.default is attrs.NOTHING],
        "additionalProperties": False,
    }


def _schema(kind: Any, about: Mapping[str, Any] | None = None) -> dict[str, Any]:
    told = {"description": about["description"]} if about else {}
    if about and about["choices"]:
        return {"enum": list(about["choices"]), **told}
    if about and about["at_least"] is not None:
        told["minimum"] = about["at_least"]
    return {**_shape(kind), **told}


def _shape(kind: Any) -> dict[str, Any]:
    if kind is Any:
        return {}
    if kind in _JSON:
        return {"type": _JSON[kind]}
    if kind == Step:
        return {"$ref": "#/$defs/Step"}
    if _is_union(kind):
        options = [_shape(each) for each in _options(kind)]
        return options[0] if len(options) == 1 else {"anyOf": options}
    if is_many(kind):
        return {"type": "array", "items": _shape(get_args(kind)[0])}
    if is_mapping(kind):
        return {"type": "object", "additionalProperties": _shape(get_args(kind)[1])}
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in (Union, UnionType)


def _options(kind: Any) -> list[Any]:
    return [each for each in get_args(kind) if each is not NoneType]
