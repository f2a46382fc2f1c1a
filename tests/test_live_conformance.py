"""Every backend is certified on every server that this machine can have: scenarios, and trouble on the way."""

from collections.abc import Callable
from typing import Any

import pytest

from lance_ns import registry
from lance_ns_conformance import ConformanceSuite
from lance_ns_conformance.subject import GROUP, Server, description_of

SERVERS = [
    (backend, server)
    for backend in registry.names(GROUP)
    for server in description_of(backend).servers.values()
    if server.starts
]


def properties_of(backend: str, server: Server, live_server: Callable[[str], Any]) -> dict[str, Any]:
    """How to connect to a server; one of another version is not the one that is meant."""
    running = live_server(str(server.starts))
    if not server.name.endswith(running.version.rpartition(" ")[2]) and backend != "glue":
        pytest.skip(f"{server.name} is certified by its recordings; what runs here is {running.version}")
    properties: dict[str, Any] = running.properties
    assert properties.pop("backend") == backend
    return properties


def suite(backend: str, server: Server) -> type[Any]:
    """All scenarios on one server, as tests."""

    def conformance_properties(self: Any, live_server: Callable[[str], Any]) -> dict[str, Any]:
        return properties_of(backend, server, live_server)

    name = "".join(part.capitalize() for part in f"{backend}-{server.name}".replace(".", "-").split("-"))
    members = {
        "backend": backend,
        "server": server.name,
        "mode": "live",
        "conformance_properties": pytest.fixture(conformance_properties),
    }
    return pytest.mark.live(server.starts)(type(f"Test{name}", (ConformanceSuite,), members))


for backend, server in SERVERS:
    made = suite(backend, server)
    globals()[made.__name__] = made
