"""The scenarios as pytest tests: a backend's author derives one class."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lance_ns_conformance.run import applicable, perform
from lance_ns_conformance.scenario import Scenario
from lance_ns_conformance.subject import Expectations, Subject


class ConformanceSuite:
    """Derive from this, name a backend, and pytest runs every scenario that applies to it.

    Attributes:
        backend: the name under which it is installed.
        properties: how to connect; `{scratch}` stands for a directory of each scenario's own.
        expectations: in what its catalog differs.
        expected_failures: titles of scenarios that fail, each with the reason; one that passes after all is an error.
    """

    backend: ClassVar[str]
    properties: ClassVar[Mapping[str, Any]] = {}
    expectations: ClassVar[Expectations] = Expectations()
    expected_failures: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def subject(cls) -> Subject:
        """The backend with its properties and expectations."""
        return Subject(backend=cls.backend, properties=cls.properties, expectations=cls.expectations)

    @classmethod
    def scenarios(cls) -> list[Any]:
        """The parameters of the test: each applicable scenario, those expected to fail marked."""
        found, _ = applicable(cls.subject())
        unknown = set(cls.expected_failures) - {each.title for each in found}
        if unknown:
            raise ValueError(f"expected failures that are no scenarios here: {', '.join(sorted(unknown))}")
        return [
            pytest.param(
                each,
                id=each.id,
                marks=pytest.mark.xfail(reason=cls.expected_failures[each.title], strict=True)
                if each.title in cls.expected_failures
                else (),
            )
            for each in found
        ]

    def test_scenario(self, conformance_scenario: Scenario, tmp_path: Path) -> None:
        """The behaviour that the scenario's title states."""
        __tracebackhide__ = True
        perform(conformance_scenario, self.subject(), tmp_path)


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a suite its scenarios; called by the kit's pytest plugin."""
    if metafunc.cls is not None and issubclass(metafunc.cls, ConformanceSuite) and metafunc.cls is not ConformanceSuite:
        metafunc.parametrize("conformance_scenario", metafunc.cls.scenarios())
