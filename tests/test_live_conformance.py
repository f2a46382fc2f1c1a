"""Every backend is certified on every server that this machine can have: scenarios, trouble, and the model."""

from collections.abc import Callable
from typing import Any

import pytest

from lance_ns import registry
from lance_ns_conformance import ConformanceSuite
from lance_ns_conformance.model import ModelSuite
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


def suite(kind: type[Any], backend: str, server: Server, **settings: Any) -> type[Any]:
    """A suite of tests on one server."""

    def conformance_properties(self: Any, live_server: Callable[[str], Any]) -> dict[str, Any]:
        return properties_of(backend, server, live_server)

    name = "".join(part.capitalize() for part in server.name.replace(".", "-").split("-"))
    members = {
        "backend": backend,
        "server": server.name,
        "conformance_properties": pytest.fixture(conformance_properties),
        **settings,
    }
    made = type(f"Test{kind.__name__.removesuffix('Suite')}{backend.capitalize()}{name}", (kind,), members)
    return pytest.mark.live(server.starts)(made)


for backend, server in SERVERS:
    for each in (
        suite(ConformanceSuite, backend, server, mode="live"),
        suite(ModelSuite, backend, server, examples=8, steps=20, shorten=False),
    ):
        globals()[each.__name__] = each
