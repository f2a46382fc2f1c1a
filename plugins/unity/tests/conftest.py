"""Servers that answer as a test says, and connections to them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from small_server import Asked, Reply, SmallServer

import lance_ns


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of whoever runs the tests has a say in them."""
    monkeypatch.setenv("NO_PROXY", "*")


@pytest.fixture
def serve() -> Iterator[Callable[[Callable[[Asked], Reply]], SmallServer]]:
    """Starts servers."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(SmallServer(answer))


@pytest.fixture
def connect() -> Iterator[Callable[..., lance_ns.Namespace]]:
    """Connects to servers, without repetitions unless told, and closes the connections."""
    with ExitStack() as stack:

        def connection(server: SmallServer, **given: Any) -> lance_ns.Namespace:
            usual = {"endpoint": server.url, "catalog": "main", "root": "/lake", "max_retries": 0}
            return stack.enter_context(lance_ns.connect("unity", {**usual, **given}))

        yield connection
