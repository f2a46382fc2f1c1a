"""Wrong ways to treat the tables of others: the kit must notice each, by the scenario meant for it."""

from typing import Any

import attrs
import pytest

from lance_ns import errors, hookimpl
from lance_ns import models as m
from lance_ns_conformance.run import perform
from lance_ns_conformance.scenario import NotApplicable, every_scenario
from lance_ns_conformance.subject import Description

FOREIGN = [each for each in every_scenario() if each.id.startswith("foreign.")]


@pytest.fixture
def marked(kv: Any) -> type[Any]:
    """The right backend, in a store where others keep tables of other formats."""

    class Marked(kv.KvNamespace):
        def is_lance(self, found: Any) -> bool:
            return found[1].get("table_type", "").lower() == "lance"

        def lists(self, id: Any) -> list[str]:
            names = self.children("table", id)
            return [name for name in names if self.is_lance(self.store.get(kv.key("table", (*id, name))))]

        @hookimpl
        def declare_table(self, request: Any) -> Any:
            given = {**(request.properties or {}), "table_type": "lance"}
            return super().declare_table(attrs.evolve(request, properties=given))

        @hookimpl
        def list_tables(self, request: Any) -> Any:
            names, token = kv.page_of_names("kv", request, self.lists(request.id))
            return m.ListTablesResponse(tables=names, page_token=token)

        @hookimpl
        def describe_table(self, request: Any) -> Any:
            answer = super().describe_table(request)
            if not self.is_lance([answer.location, answer.properties]):
                raise errors.InvalidInput("that is no Lance table")
            return answer

    return Marked


@pytest.fixture
def subject(subject_with: Any, kv: Any) -> Any:
    """Makes a subject whose plugin has a client that is not its own."""

    class Native:
        def __init__(self, properties: Any) -> None:
            self.store = kv.Store(properties["file"])

        def make_foreign(self, namespace: Any, prefix: str) -> dict[str, str]:
            self.store.put(kv.key("table", (*namespace, f"{prefix}_delta")), ["/x", {"table_type": "delta"}])
            self.store.put(kv.key("table", (*namespace, f"{prefix}_plain")), ["/y", {}])
            return {f"{prefix}_delta": "a table of format delta", f"{prefix}_plain": "a table without a mark"}

        def make_lance(self, id: Any, location: str, spelling: str) -> None:
            self.store.put(kv.key("table", id), [location, {"table_type": spelling}])

        def holds(self, id: Any) -> bool:
            return self.store.get(kv.key("table", id)) is not None

        def remove(self, id: Any) -> None:
            self.store.delete(kv.key("table", id))

        def close(self) -> None:
            pass

    def make(factory: Any) -> Any:
        return attrs.evolve(subject_with(factory), description=Description(backend="kv", native=Native))

    return make


def method(name: str, change: Any) -> Any:
    """A mistake in one method: `change(self, right, request)` gives the wrong answer."""

    def make(right: Any) -> dict[str, Any]:
        def wrong(self: Any, request: Any) -> Any:
            return change(self, lambda other=request: getattr(right, name)(self, other), request)

        return {name: hookimpl(wrong)}

    return make


def quietly(call: Any, kind: Any, answer: Any) -> Any:
    try:
        return call()
    except kind:
        return answer


def overwritten(self: Any, right: Any, request: Any) -> Any:
    found = self.store.get(f'["table", "{request.id[0]}", "{request.id[-1]}"]')
    if found is not None and not self.is_lance(found):
        self.store.delete(f'["table", "{request.id[0]}", "{request.id[-1]}"]')
    return right()


def removed(self: Any, right: Any, request: Any) -> Any:
    try:
        return right()
    except errors.InvalidInput:
        self.store.delete(f'["table", "{request.id[0]}", "{request.id[-1]}"]')
        raise


MISTAKES = {
    "lists the tables of others": (
        "foreign.not_listed",
        lambda right: {"lists": lambda self, levels: self.children("table", levels)},
    ),
    "lists what has any mark": (
        "foreign.not_listed",
        lambda right: {"is_lance": lambda self, found: "table_type" in found[1]},
    ),
    "describes the tables of others": (
        "foreign.not_described",
        method("describe_table", lambda self, right, request: _described(self, request)),
    ),
    "says that the tables of others are missing": (
        "foreign.not_described",
        method("describe_table", lambda self, right, request: _instead(right, errors.TableNotFound("not found"))),
    ),
    "refuses to deregister, and does it": ("foreign.not_deregistered", method("deregister_table", removed)),
    "takes a refused deregistration for success": (
        "foreign.not_deregistered",
        method(
            "deregister_table",
            lambda self, right, request: quietly(right, errors.InvalidInput, m.DeregisterTableResponse(id=request.id)),
        ),
    ),
    "declares over the tables of others": ("foreign.not_declared_over", method("declare_table", overwritten)),
    "takes a namespace without Lance tables for an empty one": (
        "foreign.not_empty",
        lambda right: {"is_empty": lambda self, levels: not self.lists(levels)},
    ),
    "knows one spelling only": (
        "foreign.made_by_others",
        lambda right: {"is_lance": lambda self, found: found[1].get("table_type") == "lance"},
    ),
    "keeps what it deregisters": (
        "foreign.ours_for_others",
        method("deregister_table", lambda self, right, request: m.DeregisterTableResponse(id=request.id)),
    ),
}


def _described(self: Any, request: Any) -> Any:
    return m.DescribeTableResponse(table=request.id[-1], namespace=request.id[:-1], location="/x", properties={})


def _instead(call: Any, other: Exception) -> Any:
    try:
        return call()
    except errors.InvalidInput:
        raise other from None


def test_there_are_scenarios_to_be_shown():
    assert len(FOREIGN) >= 11


@pytest.mark.parametrize("scenario", [each for each in FOREIGN if each.level == "basic"], ids=lambda each: each.id)
def test_the_right_backend_leaves_the_tables_of_others_alone(subject, marked, tmp_path, scenario):
    perform(scenario, subject(marked), tmp_path)


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_noticed_by_the_scenario_meant_for_it(subject, marked, tmp_path, name):
    caught_by, make = MISTAKES[name]
    (scenario,) = [each for each in FOREIGN if each.id == caught_by]
    wrong = type("Wrong", (marked,), make(marked))
    with pytest.raises((AssertionError, errors.LanceNsError)):
        perform(scenario, subject(wrong), tmp_path)


def test_without_a_client_of_their_own_scenarios_do_not_apply(subject_with, tmp_path):
    for scenario in FOREIGN:
        if scenario.level == "basic":
            with pytest.raises(NotApplicable, match="no client of the catalog that is not its own"):
                perform(scenario, subject_with(), tmp_path)
