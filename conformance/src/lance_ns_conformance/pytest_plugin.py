"""The kit's pytest plugin: suites get their scenarios without a conftest. Imports nothing until a suite is there."""

import pytest


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize the tests of suites."""
    if "conformance_scenario" in metafunc.fixturenames:
        from lance_ns_conformance.suite import parametrize

        parametrize(metafunc)
