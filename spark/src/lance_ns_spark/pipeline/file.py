"""Pipeline files, read: TOML or YAML, names filled in, every field checked and every fault located."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import NoneType
from typing import Any, get_args

import attrs

from lance_ns.errors import InvalidInput
from lance_ns_spark.pipeline import reference, steps
from lance_ns_spark.pipeline.schema import KINDS, Pipeline, Step, Value

_PLACEHOLDER = re.compile(r"\$\{[^}]*\}|\{\{|\}\}|\{([^{}]*)\}|[{}]")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read(path: Path, given: Mapping[str, str] | None = None) -> Pipeline:
    """A pipeline from a file, with `{name}` in its strings replaced by what was given for the name.

    Raises:
        InvalidInput: the file cannot be read, a name was not given or is not used, or a field is wrong; further faults
            are notes of the error.
    """
    return structured(filled(_content(path), given or {}, str(path)), str(path))


def structured(data: Any, where: str) -> Pipeline:
    """A pipeline from plain data.

    Raises:
        InvalidInput: a field is wrong; the error names the place, the step and the field.
    """
    from cattrs import BaseValidationError

    if not isinstance(data, Mapping):
        raise InvalidInput(f"{where}: a pipeline is a mapping with `name` and `step`, not {_kind_in_words(data)}")
    try:
        pipeline: Pipeline = _converter().structure(data, Pipeline)
    except BaseValidationError as error:
        first, *others = [_located(where, path, fault, data) for path, fault in _faults(error, ())]
        for other in others:
            first.add_note(f"also: {other.message}" + (f": {other.hint}" if other.hint else ""))
        raise first from None
    for number, step in pipeline.numbered():
        try:
            steps.check(step)
        except (InvalidInput, ValueError) as fault:
            raise _located(where, ("step", number), fault, data) from None
    return pipeline


def filled(data: Any, given: Mapping[str, str], where: str) -> Any:
    """Data with `{name}` in its strings replaced; `{{` and `}}` are literal braces, `${NAME}` is left alone.

    Raises:
        InvalidInput: a name is not given, or one that is given is not used.
    """
    used: set[str] = set()

    def value_of(match: "re.Match[str]") -> str:
        text = match[0]
        if text.startswith("$"):
            return text
        if text in ("{{", "}}"):
            return text[0]
        name = match[1]
        if name is None or not _NAME.fullmatch(name):
            raise InvalidInput(f"{where}: {text} stands for nothing", hint="write {{ and }} for literal braces")
        used.add(name)
        if name not in given:
            raise InvalidInput(f"{where}: {{{name}}} is not given", hint=f"add --set {name}=…")
        return given[name]

    def replaced(value: Any) -> Any:
        if isinstance(value, str):
            return _PLACEHOLDER.sub(value_of, value)
        if isinstance(value, Mapping):
            return {key: replaced(each) for key, each in value.items()}
        return [replaced(each) for each in value] if isinstance(value, list) else value

    complete = replaced(data)
    if unused := sorted(set(given) - used):
        near = get_close_matches(unused[0], sorted(used), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(sorted(used)) or 'no such names'}"
        raise InvalidInput(f"{where}: {{{unused[0]}}} does not occur in it, but is given", hint=hint)
    return complete


def _content(path: Path) -> Any:
    import tomllib

    if path.suffix not in (".toml", ".yaml", ".yml"):
        raise InvalidInput(f"{path} is no pipeline file", hint="its name ends in .toml, .yaml or .yml")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    if path.suffix == ".toml":
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"{path} is no TOML: {error}") from None
    return _yaml(path, text)


def _yaml(path: Path, text: str) -> Any:
    try:
        import yaml  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise InvalidInput(
            f"{path}: YAML needs an extra", hint="pip install 'lance-ns-spark[yaml]', or write it as TOML"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path} is no YAML: {' '.join(str(error).split())}") from None


@cache
def _converter() -> Any:
    from cattrs import ClassValidationError, Converter
    from cattrs.gen import make_dict_structure_fn

    converter = Converter(forbid_extra_keys=True)

    def checked(kind: type[Any]) -> Any:
        structure = make_dict_structure_fn(kind, converter)

        def structure_and_check(data: Any, _: Any) -> Any:
            if not isinstance(data, Mapping):
                raise InvalidInput(f"is a table of fields, not {_kind_in_words(data)}")
            faults = list(_wrong_values(kind, data))
            try:
                made = structure(data, kind)
            except ClassValidationError as error:
                raise ClassValidationError("fields", [*faults, *error.exceptions], kind) from None
            if faults:
                raise ClassValidationError("fields", faults, kind)
            return made

        return structure_and_check

    def step(data: Any, _: Any) -> Any:
        named = [kind for kind in KINDS if isinstance(data, Mapping) and kind in data]
        if len(named) != 1:
            many = f"is {' and '.join(named)} at once" if named else "says nothing to do"
            near = [each for key in data for each in get_close_matches(str(key), KINDS, n=1)] if not named else []
            told = f"did you mean {near[0]!r}?" if near else f"a step has one of the fields {', '.join(KINDS)}"
            raise InvalidInput(many, hint=told)
        return converter.structure(data, KINDS[named[0]])

    converter.register_structure_hook_factory(attrs.has, checked)
    converter.register_structure_hook_func(lambda kind: kind == Step, step)
    for plain in (str, int, float, bool):
        converter.register_structure_hook(plain, _plain)
    converter.register_structure_hook_func(lambda kind: kind in (Value, tuple[str, ...] | str), _plain)
    converter.register_structure_hook_func(reference.is_many, lambda data, kind: _many(converter, data, kind))
    converter.register_structure_hook_func(reference.is_mapping, lambda data, kind: _mapping(converter, data, kind))
    return converter


def _wrong_values(kind: type[Any], data: Mapping[str, Any]) -> Iterator[Exception]:
    """What types do not say: choices, and least values."""
    for field in attrs.fields(kind):
        about, value = field.metadata, data.get(field.name)
        if about["choices"] and type(value) is str and value not in about["choices"]:
            near = get_close_matches(value, about["choices"], n=1)
            told = f"must be one of {', '.join(about['choices'])}, got {value!r}"
            fault = InvalidInput(told, hint=f"did you mean {near[0]!r}?" if near else None)
            yield _noted(fault, field.name)
        elif about["at_least"] is not None and type(value) is int and value < about["at_least"]:
            yield _noted(InvalidInput(f"must be at least {about['at_least']}, got {value}"), field.name)


def _noted(fault: Exception, name: str | int) -> Exception:
    """A fault of a field, or of an item, that says of which."""
    from cattrs import AttributeValidationNote

    fault.__notes__ = [AttributeValidationNote("", name, None)]  # type: ignore[arg-type]  # an item has a number
    return fault


def _plain(value: Any, kind: Any) -> Any:
    """A value of exactly one of the types; nothing is converted silently."""
    allowed = [each for each in get_args(kind) or (kind,) if each is not NoneType]
    if value is None and NoneType in get_args(kind):
        return None
    if type(value) in allowed or (float in allowed and type(value) is int):
        return value
    if isinstance(value, list) and tuple[str, ...] in allowed and all(type(each) is str for each in value):
        return tuple(value)
    told = "; put it into quotes" if str in allowed and not isinstance(value, list | dict) else ""
    raise InvalidInput(f"is {reference.in_words(kind)}, not {_kind_in_words(value)}{told}")


def _many(converter: Any, data: Any, kind: Any) -> tuple[Any, ...]:
    from cattrs import ClassValidationError

    if not isinstance(data, list | tuple):
        raise InvalidInput(f"is {reference.in_words(kind)}, not {_kind_in_words(data)}")
    made, faults = [], []
    for number, each in enumerate(data, 1):
        try:
            made.append(converter.structure(each, get_args(kind)[0]))
        except Exception as fault:  # noqa: BLE001  # told with the others
            faults.append(_noted(fault, number))
    if faults:
        raise ClassValidationError("items", faults, kind)
    return tuple(made)


def _mapping(converter: Any, data: Any, kind: Any) -> dict[str, Any]:
    from cattrs import ClassValidationError

    if not isinstance(data, Mapping):
        raise InvalidInput(f"is {reference.in_words(kind)}, not {_kind_in_words(data)}")
    made, faults = {}, []
    for name, each in data.items():
        try:
            made[str(name)] = each if get_args(kind)[1] is Any else converter.structure(each, get_args(kind)[1])
        except Exception as fault:  # noqa: BLE001  # told with the others
            faults.append(_noted(fault, str(name)))
    if faults:
        raise ClassValidationError("entries", faults, kind)
    return made


def _faults(error: Exception, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Exception]]:
    """Every fault with the way to its field."""
    from cattrs import ClassValidationError

    if not isinstance(error, ClassValidationError):
        yield path, error
        return
    located, others = error.group_exceptions()
    for fault, note in located:
        yield from _faults(fault, (*path, note.name))
    for fault in others:
        yield from _faults(fault, path)


def _located(where: str, path: tuple[str | int, ...], fault: Exception, data: Any) -> InvalidInput:
    """A fault as one sentence that names the file, the step and the field."""
    from cattrs import ForbiddenExtraKeysError

    hint = fault.hint if isinstance(fault, InvalidInput) else None
    if isinstance(fault, ForbiddenExtraKeysError):
        name, known = min(fault.extra_fields), [field.name for field in attrs.fields(fault.cl)]
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
        path, told = (*path, name), "is not known"
    elif isinstance(fault, KeyError):
        told = "is missing"
    else:
        told = fault.message if isinstance(fault, InvalidInput) else str(fault)
    way = _way(path, data)
    joined = " " if told.startswith(("is ", "must ", "says ")) else ": "
    return InvalidInput(f"{where}: {way}{joined if way else ''}{told}", hint=hint)


def _way(path: tuple[str | int, ...], data: Any) -> str:
    """Where a field is, in words: `step 2 (maintain), field indexes[1].type`."""
    step = ""
    if len(path) > 1 and path[0] == "step" and isinstance(path[1], int):
        content = data["step"][path[1] - 1]
        kind = next((kind for kind in KINDS if isinstance(content, Mapping) and kind in content), None)
        step = f"step {path[1]}" + (f" ({kind})" if kind else "")
        path = path[2:]
    field = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
    return ", ".join(part for part in (step, field and f"field {field}") if part)


def _kind_in_words(value: Any) -> str:
    words = {dict: "a table of fields", list: "a list", str: f"the text {value!r}", bool: str(value).lower()}
    return words.get(type(value), "nothing" if value is None else str(value))
