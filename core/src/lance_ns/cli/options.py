"""Options that commands share: how to connect, and in which form to answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from lance_ns.errors import LanceNsError

if TYPE_CHECKING:
    from lance_ns.namespace import Namespace


def connected(command: Callable[..., None]) -> Callable[..., None]:
    """Add the connection's options to a command, and give it the open connection as its first argument."""

    @click.option("--profile", shell_complete=_profiles, help="A profile of the configuration.")
    @click.option("--backend", "-b", shell_complete=_backends, help="An installed backend; without one, dir.")
    @click.option("--property", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="A property of the backend.")
    @click.option("--delimiter", default="$", show_default=True, help="What separates levels in identifiers.")
    @wraps(command)
    def wrapper(profile: str | None, backend: str | None, pairs: tuple[str, ...], delimiter: str, **rest: Any) -> None:
        with _opened(profile, backend, pairs, delimiter) as ns:
            command(ns, **rest)

    return wrapper


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--json` to a command."""
    return click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")(command)


def properties_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--set NAME=VALUE` to a command that writes properties."""
    return click.option(
        "--set", "-s", "assignments", multiple=True, metavar="NAME=VALUE", help="A property to store; may be repeated."
    )(command)


def pairs_of(texts: tuple[str, ...], option: str) -> dict[str, str]:
    """`NAME=VALUE` texts as a dictionary."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            # The text itself may be a secret.
            raise click.UsageError(f"{option} takes NAME=VALUE")
        found[name] = value
    return found


@contextmanager
def _opened(profile: str | None, backend: str | None, pairs: tuple[str, ...], delimiter: str) -> Iterator["Namespace"]:
    from lance_ns.connection import connect

    with connect(backend, pairs_of(pairs, "--property"), profile=profile, delimiter=delimiter) as ns:
        yield ns


def _profiles(_: Any, __: Any, incomplete: str) -> list[str]:
    from lance_ns.profiles import known

    try:
        return [name for name in known() if name.startswith(incomplete)]
    except LanceNsError:
        return []


def _backends(_: Any, __: Any, incomplete: str) -> list[str]:
    from lance_ns import registry

    return [name for name in registry.names(registry.BACKENDS) if name.startswith(incomplete)]
