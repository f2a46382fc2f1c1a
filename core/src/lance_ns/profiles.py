"""Profiles: named connections in a TOML file, completed by environment variables.

    # lance-ns.toml
    [profiles.prod]
    backend = "glue"
    region = "eu-west-1"
    secret_access_key = "${PROD_SECRET}"
    "storage.aws_region" = "eu-west-1"

The file is the one that `LANCE_NS_CONFIG` names, else `lance-ns.toml` in the working directory, else
`lance-ns/config.toml` in the user's configuration directory. `${VAR}` takes a value from the environment, `$${` is a
literal `${`. A variable `LANCE_NS_PROFILE__PROD__STORAGE__AWS_REGION` sets `storage.aws_region` of the profile `prod`.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from lance_ns.config import Hidden, Properties
from lance_ns.errors import InvalidInput

CONFIG_VARIABLE = "LANCE_NS_CONFIG"
PROFILE_VARIABLE = "LANCE_NS_PROFILE"
_PREFIX = PROFILE_VARIABLE + "__"
_REFERENCE = re.compile(r"\$(\$\{)|\$\{([^}]*)\}")


@attrs.frozen
class Profile:
    """A named connection."""

    name: str
    backend: str
    properties: Properties


def load(name: str | None = None) -> Profile | None:
    """The profile of a name, or the one that `LANCE_NS_PROFILE` names; None when neither does.

    Raises:
        InvalidInput: there is no such profile, the file is wrong, or a variable it refers to is not set.
    """
    if name == "":
        raise InvalidInput("the profile's name is empty")
    name = name or os.environ.get(PROFILE_VARIABLE)
    if not name:
        return None
    path = config_file()
    place = f"profile {name!r} in {path}" if path else f"profile {name!r}"
    sections = _sections(path)
    unset: list[tuple[str, str]] = []
    values = Hidden({key: _resolved(value, key, unset) for key, value in sections.get(name, Hidden()).items()})
    overriding = Hidden(_from_environment(name))
    values.update(overriding)  # a variable's value is taken as it is
    for key, variable in unset:
        if key not in overriding:
            raise InvalidInput(
                f"profile {name!r}: {key} refers to ${{{variable}}}, which is not set", hint=f"set it, or edit {path}"
            )
    if name not in sections and not values:
        raise InvalidInput(
            f"unknown profile {name!r} in {path or 'any configuration file'}",
            hint=f"known: {', '.join(known()) or 'none'}",
        )
    if not isinstance(values.get("backend"), str):
        raise InvalidInput(f"{place} names no backend", hint='add backend = "…" to it')
    return Profile(name, values.pop("backend"), Properties(values))


def known() -> list[str]:
    """The names of all profiles of the file, and of the environment that name a backend."""
    in_environment = {
        variable.removeprefix(_PREFIX).removesuffix("__BACKEND").lower()
        for variable in os.environ
        if variable.startswith(_PREFIX) and variable.endswith("__BACKEND")
    }
    return sorted({*_sections(config_file()), *in_environment})


def config_file() -> Path | None:
    """The configuration file in use, or None."""
    named = os.environ.get(CONFIG_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise InvalidInput(f"{CONFIG_VARIABLE} names {named}, which is no file")
        return Path(named)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    candidates = (Path("lance-ns.toml"), home / "lance-ns" / "config.toml")
    return next((path for path in candidates if path.is_file()), None)


def _sections(path: Path | None) -> Hidden:
    if path is None:
        return Hidden()
    import tomllib

    try:
        content = Hidden(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    sections = content.get("profiles", {})
    parts = [sections, *sections.values()] if isinstance(sections, dict) else [None]
    if set(content) - {"profiles"} or not all(isinstance(part, dict) for part in parts):
        del sections, parts
        raise InvalidInput(f"{path} is no configuration", hint="it consists of sections [profiles.NAME]")
    return Hidden({name: Hidden(_flat(section)) for name, section in sections.items()})


def _flat(section: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """`storage = { aws_region = "x" }` and `[profiles.p.storage]` say the same as `"storage.aws_region" = "x"`."""
    for key, value in section.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _from_environment(name: str) -> dict[str, str]:
    prefix = f"{_PREFIX}{re.sub('[^A-Za-z0-9]', '_', name).upper()}__"
    return {
        variable.removeprefix(prefix).lower().replace("__", "."): value
        for variable, value in os.environ.items()
        if variable.startswith(prefix)
    }


def _resolved(value: Any, key: str, unset: list[tuple[str, str]]) -> Any:
    """A value with its references replaced. A variable that is not set is noted, for a value may be a secret."""
    if isinstance(value, list):
        return [_resolved(each, key, unset) for each in value]
    if not isinstance(value, str):
        return value

    def replacement(match: "re.Match[str]") -> str:
        if match[1]:
            return match[1]
        if match[2] not in os.environ:
            unset.append((key, match[2]))
        return os.environ.get(match[2], "")

    return _REFERENCE.sub(replacement, value)
