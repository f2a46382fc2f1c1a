"""The clauses, and the scenarios that prove them."""

import pytest

from lance_ns.capabilities import OPERATIONS
from lance_ns.errors import ErrorCode
from lance_ns_conformance.clauses import every_clause
from lance_ns_conformance.scenario import every_scenario

CLAUSES = every_clause()


def test_there_are_clauses_of_every_spec():
    assert {id.partition(".")[0] for id in CLAUSES} == {
        "contract", "decisions", "glue", "hive3", "iceberg", "polaris", "unity",
    }  # fmt: skip


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=lambda clause: clause.id)
def test_a_clause_is_whole(clause):
    assert clause.text.endswith(".")
    assert clause.reference
    assert clause.backends
    assert set(clause.operations) <= OPERATIONS
    assert all(ErrorCode(code) for code in clause.codes if code)
    assert clause.decision is None or clause.decision in CLAUSES


@pytest.mark.parametrize("scenario", every_scenario(), ids=lambda scenario: scenario.id)
def test_a_scenario_proves_clauses_that_exist(scenario):
    assert set(scenario.clauses) <= set(CLAUSES)


def test_scenarios_have_titles_of_their_own():
    titles = [scenario.title for scenario in every_scenario()]
    assert len(titles) == len(set(titles))
