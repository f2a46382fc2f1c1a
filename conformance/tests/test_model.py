"""The contract's model: right backends keep to it however they differ, and wrong ones are found out."""

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import attrs
import pytest

from lance_ns import errors, hookimpl, registry
from lance_ns import models as m
from lance_ns.capabilities import BASIC
from lance_ns_conformance import model
from lance_ns_conformance.model.generate import THEMES, kinds
from lance_ns_conformance.model.steps import READING, STEPS, WRITING
from lance_ns_conformance.model.suite import explore
from lance_ns_conformance.run import perform
from lance_ns_conformance.scenario import every_scenario
from lance_ns_conformance.scenarios.sequences import TITLES
from lance_ns_conformance.subject import Expectations
from lance_ns_conformance.world import World

SEQUENCES = [each for each in every_scenario() if each.id.startswith("sequences.")]
FILES = {name: json.loads(files(model).joinpath("sequences", f"{name}.json").read_text("utf-8")) for name in TITLES}


def changed(request, levels):
    return attrs.evolve(request, id=levels)


def on_every_request(right, change):
    """A backend that sees each request changed, or refused, first."""

    def hook(operation):
        def answer(self, request):
            return getattr(right, operation)(self, change(self, request))

        return hookimpl(answer)

    return type("Other", (right,), {operation: hook(operation) for operation in BASIC})


def folding(kv):
    """A catalog that keeps names in lower case."""
    return on_every_request(
        kv.KvNamespace, lambda self, request: changed(request, tuple(level.lower() for level in request.id))
    )


def flat(kv):
    """A catalog whose namespaces cannot be nested, and that has no tables at its top."""

    def refuse(self, request):
        depth = len(request.id) - (request.operation.endswith("_table"))
        if depth > 1 or (depth == 0 and "table" in request.operation):
            raise errors.InvalidInput("there is no such depth")
        return request

    return on_every_request(kv.KvNamespace, refuse)


def plain(kv):
    """A catalog that takes letters, digits and underscores."""

    def refuse(self, request):
        if not all(level.isidentifier() and level.isascii() for level in request.id):
            raise errors.InvalidInput("no such names here")
        return request

    return on_every_request(kv.KvNamespace, refuse)


def below_a_lake(kv):
    """A catalog with a level above the namespaces, where others have theirs."""

    class Lake(kv.KvNamespace):
        def __init__(self, config):
            super().__init__(config)
            for id in (("lake",), ("lake", "of_somebody_else")):
                self.store.insert(kv.key("namespace", id), {})

    return Lake


def lenient(kv):
    """A catalog in which dropping what is not there succeeds."""

    class Lenient(kv.KvNamespace):
        @hookimpl
        def drop_namespace(self, request):
            return super().drop_namespace(attrs.evolve(request, mode=m.DropMode.SKIP))

    return Lenient


def forgetful(kv):
    """A catalog that keeps no properties, and says so."""

    class Forgetful(kv.KvNamespace):
        @hookimpl
        def create_namespace(self, request):
            super().create_namespace(request)
            return m.CreateNamespaceResponse()

        @hookimpl
        def describe_namespace(self, request):
            super().describe_namespace(request)
            return m.DescribeNamespaceResponse()

        @hookimpl
        def describe_table(self, request):
            return attrs.evolve(super().describe_table(request), properties=None)

    return Forgetful


KINDS = {
    "as it is": (lambda kv: None, {}),
    "folding names": (folding, {"folds_case": True}),
    "flat": (flat, {"max_depth": 1, "tables_at_base": False}),
    "with plain names": (plain, {}),
    "below a level": (below_a_lake, {"base": ("lake",)}),
    "lenient": (lenient, {"drop_of_missing_succeeds": True}),
    "without properties": (forgetful, {"namespace_properties": False, "table_properties": False}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_catalog_that_differs_as_expected_keeps_to_the_model(subject_with, kv, tmp_path, kind):
    make, expected = KINDS[kind]
    subject = attrs.evolve(subject_with(make(kv)), expectations=Expectations(**{"tables_at_base": True, **expected}))
    explore(subject, examples=15)
    for scenario in SEQUENCES:
        scratch = tmp_path / scenario.id
        scratch.mkdir()
        perform(scenario, subject, scratch)


@pytest.mark.parametrize("kind", ["folding names", "flat", "lenient", "without properties"])
def test_a_difference_that_nobody_expects_is_found(subject_with, kv, kind):
    make, _ = KINDS[kind]
    with pytest.raises((AssertionError, ExceptionGroup)):
        explore(subject_with(make(kv)), derandomize=True, shorten=False)


def test_optional_operations_are_played_where_they_are_declared(subject_with, kv, monkeypatch, tmp_path):
    calls = []

    class Renaming(kv.KvNamespace):
        @hookimpl
        def rename_table(self, request):
            calls.append(request)
            found = self.describe_table(m.DescribeTableRequest(id=request.id))
            target = kv.key("table", (*request.id[:-1], request.new_table_name))
            if not self.store.insert(target, [found.location, found.properties]):
                raise errors.TableAlreadyExists("there is one")
            self.store.delete(kv.key("table", request.id))
            return m.RenameTableResponse()

    subject = subject_with(Renaming)
    declared = attrs.evolve(registry._loaded["kv"], capabilities=BASIC | {"rename_table"})
    monkeypatch.setitem(registry._loaded, "kv", declared)
    perform(next(each for each in SEQUENCES if each.id == "sequences.changes"), subject, tmp_path)
    assert calls
    explore(subject, examples=15)


def wrong(name, change):
    """A backend with one wrong method: `change(self, right, request)` gives its answer."""

    def make(kv):
        right = getattr(kv.KvNamespace, name)

        def method(self, *arguments):
            return change(self, lambda *other: right(self, *(other or arguments)), *arguments)

        return type("Wrong", (kv.KvNamespace,), {name: hookimpl(method) if name in BASIC else method})

    return make


def quietly(call, kind, answer):
    try:
        return call()
    except kind:
        return answer


MISTAKES = {
    "creates below what is missing": wrong(
        "create_namespace",
        lambda self, right, request: quietly(
            right, errors.NamespaceNotFound, m.CreateNamespaceResponse(properties=request.properties or {})
        ),
    ),
    "keeps properties that were overwritten": wrong("replace_entry", lambda *_: None),
    "drops what is not empty": wrong("is_empty", lambda *_: True),
    "lists the parent's children": wrong("children", lambda self, right, kind, levels: right(kind, levels[:-1])),
    "forgets the next page": wrong("list_tables", lambda self, right, request: attrs.evolve(right(), page_token=None)),
    "declares twice": wrong(
        "declare_table",
        lambda self, right, request: quietly(
            right, errors.TableAlreadyExists, m.DeclareTableResponse(location="/elsewhere")
        ),
    ),
    "describes another location": wrong(
        "describe_table", lambda self, right, request: attrs.evolve(right(), location=f"{right().location}x")
    ),
    "deregisters nothing": wrong(
        "deregister_table", lambda self, right, request: m.DeregisterTableResponse(id=request.id)
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_by_random_and_by_stored_operations(subject_with, kv, tmp_path, mistake):
    subject = subject_with(MISTAKES[mistake](kv))
    with pytest.raises((AssertionError, ExceptionGroup)):
        explore(subject, examples=200, derandomize=True, shorten=False)
    failed = []
    for scenario in SEQUENCES:
        scratch = tmp_path / scenario.id
        scratch.mkdir()
        try:
            perform(scenario, subject, scratch)
        except AssertionError:
            failed.append(scenario.id)
    assert failed


def test_a_failure_shows_its_operations_and_they_fail_again(subject_with, kv, tmp_path):
    subject = subject_with(MISTAKES["deregisters nothing"](kv))
    with pytest.raises(AssertionError) as caught:
        explore(subject, derandomize=True, shorten=False)
    shown = "\n".join(caught.value.__notes__).splitlines()
    steps = [json.loads(line) for line in shown if line.startswith('{"do"')]
    with subject.connect(tmp_path) as ns:
        again = model.Comparison(ns, World(subject, "again", tmp_path))
        for step in steps[:-1]:
            again.play(**step)
        with pytest.raises(AssertionError, match=f"{steps[-1]['do']}.*the backend gave"):
            again.play(**steps[-1])


@pytest.mark.parametrize("name", FILES)
def test_a_stored_sequence_is_of_operations_that_are_known(name):
    steps = FILES[name]
    assert 20 <= len(steps) <= 40
    assert {step["do"] for step in steps} <= set(STEPS)
    assert len(set(kinds(steps))) >= 15, "it meets too few kinds of answers"


def test_the_stored_sequences_meet_every_operation_and_nearly_every_answer():
    met = {kind for steps in FILES.values() for kind in kinds(steps)}
    assert {do for do, *_ in met} == set(STEPS) == {*WRITING, *READING}
    assert len(met) >= 45
    assert set(TITLES) == set(THEMES)
    stored = {Path(each.name).stem for each in files(model).joinpath("sequences").iterdir()}
    assert stored == set(TITLES), "a file that no scenario plays"


def test_hypothesis_is_needed_for_the_random_test_alone(tmp_path):
    (tmp_path / "hypothesis.py").write_text("raise ImportError('not here')")
    script = (
        "from lance_ns_conformance.model import ModelSuite\n"
        "from lance_ns_conformance.scenario import every_scenario\n"
        "assert len(every_scenario()) > 90\n"
        "class Mine(ModelSuite): backend = 'dir'\n"
        "Mine().test_random_operations_are_answered_as_the_contract_says({})\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert "pip install 'lance-ns-conformance[model]'" in result.stderr.splitlines()[-1]
