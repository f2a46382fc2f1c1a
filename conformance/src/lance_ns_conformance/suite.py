"""The scenarios as pytest tests: a backend's author derives one class."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from lance_ns_conformance.cassettes.form import orphans
from lance_ns_conformance.run import Deviates, applicable, perform
from lance_ns_conformance.scenario import NotApplicable, Scenario
from lance_ns_conformance.subject import Expectations, Mode, Subject, description_of, subject_of

OPTION = "--conformance-mode"


class ConformanceSuite:
    """Derive from this, name a backend, and pytest runs every scenario that applies to it.

    A backend without a server says how to connect. One whose plugin describes servers names one of them: its scenarios
    are replayed from the cassettes beside the plugin, unless `--conformance-mode=live` or `=record` says otherwise;
    the fixture `conformance_properties`, which may be overridden, then says how to reach the server.

    Attributes:
        backend: the name under which it is installed.
        server: one of the servers that its plugin describes.
        mode: how scenarios meet the catalog, whatever the command line says.
        properties: how to connect; `{scratch}` stands for a directory of each scenario's own.
        expectations: in what its catalog differs; for a server, the plugin's description says it.
        expected_failures: titles of scenarios that fail, each with the reason; one that passes after all is an error.
        cassettes: the directory of all recordings; `tests/cassettes` beside the plugin's `src` if left out.
    """

    backend: ClassVar[str]
    server: ClassVar[str] = ""
    mode: ClassVar[Mode | None] = None
    properties: ClassVar[Mapping[str, Any]] = {}
    expectations: ClassVar[Expectations] = Expectations()
    expected_failures: ClassVar[Mapping[str, str]] = {}
    cassettes: ClassVar[Path | None] = None

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        if cls.server:
            cls.test_every_cassette_is_used = _every_cassette_is_used  # type: ignore[attr-defined]

    @classmethod
    def subject(cls, mode: Mode = "live", properties: Mapping[str, Any] | None = None) -> Subject:
        """The backend with its properties and expectations, in a mode."""
        given = cls.properties if properties is None else properties
        if not cls.server:
            return Subject(backend=cls.backend, properties=given, expectations=cls.expectations)
        return subject_of(cls.backend, given, mode=mode, server=cls.server, cassettes=cls.cassettes)

    @classmethod
    def scenarios(cls, mode: Mode = "live") -> list[Any]:
        """The parameters of the test: each applicable scenario, those expected to fail marked."""
        found, _ = applicable(cls.subject(mode))
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

    def test_scenario(self, conformance_scenario: Scenario, request: pytest.FixtureRequest, tmp_path: Path) -> None:
        """The behaviour that the scenario's title states."""
        __tracebackhide__ = True
        mode = _mode(type(self), request.config)
        given = {} if mode == "replay" else request.getfixturevalue("conformance_properties")
        try:
            perform(conformance_scenario, self.subject(mode, given), tmp_path)
        except NotApplicable as error:
            pytest.skip(str(error))
        except Deviates as error:
            pytest.xfail(str(error))


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give a suite its scenarios; called by the kit's pytest plugin."""
    if metafunc.cls is not None and issubclass(metafunc.cls, ConformanceSuite) and metafunc.cls is not ConformanceSuite:
        metafunc.parametrize("conformance_scenario", metafunc.cls.scenarios(_mode(metafunc.cls, metafunc.config)))


def unused_cassettes(backend: str, cassettes: Path | None = None) -> list[Path]:
    """The cassettes of a backend that no scenario of its servers uses."""
    description = description_of(backend)
    used = {}
    directory = cassettes or description.cassettes
    for name in description.servers:
        subject = subject_of(backend, {}, mode="replay", server=name, cassettes=cassettes)
        used[name] = [each.id for each in applicable(subject)[0]]
    return orphans(directory, used) if directory and directory.exists() else []


def remove_stale(subject: Subject) -> None:
    """Delete the server's cassettes of scenarios that are no more; nothing else in the directory is touched."""
    used = {f"{each.id}.yaml" for each in applicable(subject)[0]}
    for path in subject.cassettes.glob("*.yaml") if subject.cassettes else ():
        if path.name not in used:
            path.unlink()


def _every_cassette_is_used(self: ConformanceSuite) -> None:
    """No recording is left of a scenario or a server that is no more."""
    unused = unused_cassettes(self.backend, self.cassettes)
    assert not unused, f"no scenario uses {', '.join(map(str, unused))}: delete them"


def _mode(suite: type[ConformanceSuite], config: pytest.Config) -> Mode:
    """A backend without a server is always met live."""
    asked: Mode = suite.mode or config.getoption(OPTION) or "replay"
    return asked if suite.server else "live"
