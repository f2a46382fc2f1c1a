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

from lance_ns.config import Properties
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
    name = name or os.environ.get(PROFILE_VARIABLE)
    if not name:
        return None
    path = config_file()
    sections = _sections(path)
    written = {key: _resolved(value, name, key) for key, value in sections.get(name, {}).items()}
    values = {**written, **_from_environment(name)}  # a variable's value is taken as it is
    if name not in sections and not values:
        raise InvalidInput(
            f"unknown profile {name!r} in {path or 'any configuration file'}",
            hint=f"known: {', '.join(known()) or 'none'}",
        )
    backend = values.pop("backend", None)
    if not isinstance(backend, str):
        raise InvalidInput(f"profile {name!r} names no backend", hint='add backend = "…" to it')
    return Profile(name, backend, Properties(values))


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


def _sections(path: Path | None) -> dict[str, dict[str, Any]]:
    if path is None:
        return {}
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}") from None
    sections = content.get("profiles", {})
    unknown = set(content) - {"profiles"}
    if unknown or not isinstance(sections, dict) or not all(isinstance(section, dict) for section in sections.values()):
        raise InvalidInput(f"{path} is no configuration", hint="it consists of sections [profiles.NAME]")
    return {name: dict(_flat(section)) for name, section in sections.items()}


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


def _resolved(value: Any, profile: str, key: str) -> Any:
    if not isinstance(value, str):
        return value

    def replacement(match: "re.Match[str]") -> str:
        if match[1]:
            return match[1]
        if match[2] not in os.environ:
            raise InvalidInput(f"profile {profile!r}: {key} refers to ${{{match[2]}}}, which is not set")
        return os.environ[match[2]]

    return _REFERENCE.sub(replacement, value)
