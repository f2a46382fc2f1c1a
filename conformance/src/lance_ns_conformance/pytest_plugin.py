"""The kit's pytest plugin: suites get their scenarios without a conftest. Imports nothing until a suite is there."""

from collections.abc import Mapping
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--conformance-mode`."""
    parser.getgroup("conformance", "conformance of lance-ns backends").addoption(
        "--conformance-mode",
        choices=("replay", "record", "live"),
        default=None,
        help="how suites that name a server meet it: by cassettes (the default), for real and recorded, or for real",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests of suites."""
    if "conformance_scenario" in metafunc.fixturenames:
        from lance_ns_conformance.suite import parametrize

        parametrize(metafunc)


@pytest.fixture
def conformance_properties(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    """How a suite reaches a live server; override it where that is known only when tests run."""
    properties: Mapping[str, Any] = request.cls.properties
    return properties
