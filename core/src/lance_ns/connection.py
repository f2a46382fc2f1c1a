"""`connect`: from a backend's name, properties or a profile to a `Namespace`."""

from collections.abc import Iterable, Mapping
from typing import Any

from lance_ns import registry
from lance_ns.config import Properties, read
from lance_ns.errors import InvalidInput
from lance_ns.identifiers import DELIMITER
from lance_ns.namespace import Namespace

EMBEDDED = "dir"
"""The backend of a connection for which none is named."""


def connect(
    backend: str | None = None,
    properties: Mapping[str, Any] | None = None,
    /,
    *,
    profile: str | None = None,
    plugins: Iterable[Any] = (),
    delimiter: str = DELIMITER,
    **keywords: Any,
) -> Namespace:
    """Connect to a catalog. Nothing is sent before the first call.

    Args:
        backend: the name of an installed backend; without one that of the profile, else `dir`.
        properties: the backend's properties, see `lance-ns config BACKEND`; keywords add to them and win.
        profile: a profile of the configuration file or the environment, whose properties those given here override.
        plugins: middleware, innermost first: objects, or names of installed ones such as `"audit"`.
        delimiter: what separates levels in identifiers given as strings.
        keywords: properties whose names are Python identifiers.

    Raises:
        InvalidInput: unknown backend, profile or property, or a value of the wrong type.
    """
    # Before anything can fail: a traceback shows the arguments of its frames, and any property may be a secret.
    given = Properties(properties, keywords)
    del properties, keywords
    named: object = backend
    if named is not None and not isinstance(named, str):
        kind = type(named).__name__
        del backend, named
        raise InvalidInput(f"a backend is named by a string, not by {kind}", hint="connect(NAME, PROPERTIES)")
    given.refuse_faults()
    if isinstance(plugins, str):
        raise InvalidInput("plugins are a list", hint=f"plugins=[{plugins!r}]")
    plugins = tuple(plugins)
    if profile is not None or backend is None:
        from lance_ns.profiles import load

        loaded = load(profile)
        if loaded is not None:
            backend = _agreed(backend, loaded.backend, loaded.name)
            given = Properties(loaded.properties, given)
    return reconnect(backend or EMBEDDED, given, plugins, delimiter)


def reconnect(backend: str, given: Properties, plugins: tuple[Any, ...], delimiter: str) -> Namespace:
    """A connection from its parts; also what a pickled one is made of."""
    if not delimiter:
        raise InvalidInput("the delimiter is empty")
    found = registry.find(backend)
    config = read(registry.part(found, found.config), given, backend=backend)
    return Namespace(found, config, plugins=plugins, delimiter=delimiter)


def _agreed(asked: str | None, profiled: str, profile: str) -> str:
    if asked not in (None, profiled):
        raise InvalidInput(
            f"profile {profile!r} is of backend {profiled!r}, not {asked!r}", hint="leave one of them out"
        )
    return profiled
