"""Random operations on real catalogs: the main server of every plugin that names one."""

import pytest

from lance_ns import registry
from lance_ns_conformance.model.suite import explore
from lance_ns_conformance.subject import GROUP, description_of, subject_of

MAIN = {backend: description_of(backend).server(None) for backend in registry.names(GROUP)}


@pytest.mark.parametrize(
    ("backend", "starts"),
    [
        pytest.param(backend, server.starts, marks=pytest.mark.live(server.starts), id=backend)
        for backend, server in MAIN.items()
        if server is not None and server.starts is not None
    ],
)
def test_random_operations_are_answered_as_the_contract_says(live_server, backend: str, starts: str):
    given = live_server(starts).properties
    assert given.pop("backend") == backend
    explore(subject_of(backend, given), examples=10, shorten=False)
