"""Middleware: wrappers around the operations that observe and translate.

A middleware is an object whose hooks are all wrappers. It sees every request and response, may raise another error or
return another response, but cannot skip, repeat or change a call: caching and retrying belong to a backend's client.
"""

from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

from lance_ns.capabilities import OPERATIONS
from lance_ns.errors import InvalidInput
from lance_ns.hookspecs import hookimpl
from lance_ns.models import Request, Response

Wrapper = Callable[[Request[Any]], Generator[None, Response, Response]]


def around(wrapper: Wrapper) -> Any:
    """A middleware that runs one generator around every operation.

    Example:
        def timed(request):
            started = time.monotonic()
            try:
                return (yield)
            finally:
                print(request.operation, time.monotonic() - started)

        connect("dir", root="lake", plugins=[around(timed)])
    """
    marked = hookimpl(wrapper=True)(wrapper)
    return SimpleNamespace(**dict.fromkeys(OPERATIONS, marked))


def refuse_what_is_no_middleware(manager: Any, plugin: Any) -> None:
    """Only wrappers may stand beside a backend: another implementation would answer in its place.

    Raises:
        InvalidInput: a hook of the plugin is not a wrapper, or it has none.
    """
    hooks = {
        name: options for name in dir(plugin) if (options := manager.parse_hookimpl_opts(plugin, name)) is not None
    }
    answering = sorted(name for name, options in hooks.items() if not (options["wrapper"] or options["hookwrapper"]))
    shown = type(plugin).__name__
    if answering:
        raise InvalidInput(
            f"{shown} is no middleware: {', '.join(answering)} would answer in place of the backend",
            hint="mark its hooks with @hookimpl(wrapper=True) and yield once",
        )
    if not hooks:
        raise InvalidInput(
            f"{shown} is no middleware: it has no hooks", hint="mark its methods with @hookimpl(wrapper=True)"
        )
