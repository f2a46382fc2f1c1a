"""Wrong backends that only another process, or a server that is gone, shows: the kit must notice each."""

import sys
from pathlib import Path

import attrs
import pytest

from lance_ns import errors, hookimpl, prop, properties, registry
from lance_ns.capabilities import BASIC
from lance_ns_conformance.run import perform
from lance_ns_conformance.scenario import NotApplicable, every_scenario
from lance_ns_conformance.subject import Description, Expectations, Subject

SCENARIOS = {each.id: each for each in every_scenario()}
MODULE = """
import os
import acme_kv
import attrs
from lance_ns import hookimpl
from lance_ns import models as m

{body}

@hookimpl
def lance_ns_backend():
    return attrs.evolve(acme_kv.lance_ns_backend(), name="far", factory=Far)
"""
RIGHT = "Far = acme_kv.KvNamespace"
IN_MEMORY = """
MEMORY = {}

class Far(acme_kv.KvNamespace):
    def __init__(self, config):
        super().__init__(config)
        self.store = self

    def get(self, key): return MEMORY.get(key)
    def insert(self, key, value): return MEMORY.setdefault(key, value) is value
    def delete(self, key): return MEMORY.pop(key, None) is not None
    def keys(self): return list(MEMORY)
"""
AFTER_FORK = """
class Far(acme_kv.KvNamespace):
    def __init__(self, config):
        super().__init__(config)
        self.home = os.getpid()

    @hookimpl
    def list_tables(self, request):
        return super().list_tables(request) if os.getpid() == self.home else m.ListTablesResponse(tables=[])
"""


@pytest.fixture
def far(kv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Makes a subject whose backend is found by other processes as well."""

    def make(body: str) -> Subject:
        (tmp_path / "acme_far.py").write_text(MODULE.replace("{body}", body))
        about = tmp_path / "acme_far-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-far\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text("[lance_ns]\nfar = acme_far\n")
        monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{Path(kv.__file__).parents[1]}")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(registry._loaded, "far", raising=False)
        monkeypatch.delitem(sys.modules, "acme_far", raising=False)
        given = {"file": "{scratch}/store", "root": "{scratch}/data"}
        return Subject(backend="far", properties=given, expectations=Expectations(tables_at_base=True))

    yield make
    registry._loaded.pop("far", None)
    sys.modules.pop("acme_far", None)


@pytest.mark.parametrize("scenario", ["processes.sent", "processes.forked"])
def test_a_right_backend_works_in_other_processes(far, tmp_path: Path, scenario: str):
    perform(SCENARIOS[scenario], far(RIGHT), tmp_path)


@pytest.mark.parametrize(("scenario", "body"), [("processes.sent", IN_MEMORY), ("processes.forked", AFTER_FORK)])
def test_a_backend_that_works_in_one_process_only_is_noticed(far, tmp_path: Path, scenario: str, body: str):
    with pytest.raises(AssertionError):
        perform(SCENARIOS[scenario], far(body), tmp_path)


def test_a_backend_that_is_not_installed_cannot_be_sent_anywhere(subject_with, tmp_path: Path):
    with pytest.raises(NotApplicable, match="not installed"):
        perform(SCENARIOS["processes.sent"], subject_with(), tmp_path)


HOME = "http://catalog.home"


@pytest.fixture
def served(kv, monkeypatch: pytest.MonkeyPatch):
    """Makes a subject with an address. Anywhere but at home nobody answers, and the backend does as it is told."""

    @properties
    class Config(kv.KvConfig):
        endpoint: str = prop(HOME, "The server")

    def make(refused) -> Subject:
        def hook(operation: str):
            right = getattr(kv.KvNamespace, operation)

            def answer(self, request):
                there = self.config.endpoint == HOME
                return right(self, request) if there else refused(lambda: right(self, request))

            return hookimpl(answer)

        factory = type("Served", (kv.KvNamespace,), {operation: hook(operation) for operation in BASIC})
        backend = attrs.evolve(kv.lance_ns_backend(), factory=factory, config=Config)
        monkeypatch.setitem(registry._loaded, "kv", backend)
        return Subject(
            backend="kv",
            properties={"file": "{scratch}/store", "root": "{scratch}/data", "endpoint": HOME},
            expectations=Expectations(tables_at_base=True),
            description=Description(backend="kv", endpoint="endpoint"),
        )

    return make


def unavailable(_):
    raise errors.ServiceUnavailable("nobody there")


def test_a_backend_that_says_so_when_its_server_is_gone_passes(served, tmp_path: Path):
    perform(SCENARIOS["unreachable.every_call"], served(unavailable), tmp_path)


def test_a_backend_that_answers_though_its_server_is_gone_is_noticed(served, tmp_path: Path):
    with pytest.raises(AssertionError, match="ServiceUnavailable"):
        perform(SCENARIOS["unreachable.every_call"], served(lambda right: right()), tmp_path)
