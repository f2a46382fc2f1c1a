"""The clauses, and the scenarios that prove them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from lance_ns import registry
from lance_ns.capabilities import OPERATIONS
from lance_ns.errors import ErrorCode
from lance_ns_conformance.clauses import every_clause, proofs
from lance_ns_conformance.cli import certify
from lance_ns_conformance.scenario import every_scenario
from lance_ns_conformance.subject import GROUP

CLAUSES = every_clause()
PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
LANDED = [name for name in registry.names(GROUP) if (PLUGINS / name).is_dir()]


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
    assert clause.reason is None or clause.reason.endswith(".")


@pytest.mark.parametrize("scenario", every_scenario(), ids=lambda scenario: scenario.id)
def test_a_scenario_proves_clauses_that_exist(scenario):
    assert set(scenario.clauses) <= set(CLAUSES)


@pytest.mark.parametrize("backend", ["dir", "glue", "hive3", "iceberg", "polaris", "unity"])
def test_the_scenarios_of_a_backend_have_titles_of_their_own(backend):
    titles = [each.title for each in every_scenario() if not each.backends or backend in each.backends]
    assert len(titles) == len(set(titles))


def test_the_embedded_default_is_held_to_its_clauses():
    assert "dir" in LANDED


@pytest.mark.parametrize("backend", LANDED)
def test_every_clause_of_a_backend_has_a_scenario_or_a_written_reason(backend):
    assert proofs.unproven(backend) == []


def test_a_clause_with_neither_is_noticed(monkeypatch):
    only = next(each for each in every_scenario() if each.id == "namespaces.created_is_there")
    monkeypatch.setattr(proofs, "every_scenario", lambda: (only,))
    left = proofs.unproven("dir")
    assert "contract.create-modes.1" not in left
    assert "contract.create-modes.2" in left
    assert "contract.data-safety.11" not in left, "it has a reason"
    assert "glue.namespace.4" not in left, "that is not about dir"


@pytest.mark.parametrize("backend", LANDED)
def test_a_clause_with_a_scenario_needs_no_reason_why_there_is_none(backend):
    proven = proofs.scenarios_by_clause(backend)
    assert [each.id for each in CLAUSES.values() if each.reason and each.concerns(backend) and each.id in proven] == []


def test_a_scenario_of_one_backend_proves_nothing_of_another():
    assert "glue.ragged" in proofs.scenarios_by_clause("glue")["contract.paging.14"]
    assert "glue.ragged" not in proofs.scenarios_by_clause("dir")["contract.paging.14"]


def shown(*arguments):
    result = CliRunner().invoke(certify, ["--clauses", *arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_matrix_names_for_each_clause_the_scenarios_on_each_backend_and_counts():
    lines = shown("dir").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith("contract.create-modes.1 "))
    assert lines[at + 1].startswith("    dir: ")
    assert "namespaces.created_is_there" in lines[at + 1]
    at = next(at for at, line in enumerate(lines) if line.startswith("contract.rename.1 "))
    assert lines[at + 1] == "    dir: does not apply"
    at = next(at for at, line in enumerate(lines) if line.startswith("contract.data-safety.11 "))
    assert lines[at + 1].startswith("    no scenario: What pylance sends")
    assert lines[-1].endswith("not yet")
    assert f"{sum(clause.concerns('dir') for clause in CLAUSES.values())} clauses: " in lines[-1]
    assert not any(line.startswith("glue.") for line in lines)
    assert f"{len(CLAUSES)} clauses: " in shown().splitlines()[-1]


def test_the_matrix_as_data_is_the_same():
    rows = {row["id"]: row for row in json.loads(shown("--json"))}
    assert set(rows) == set(CLAUSES)
    row = rows["contract.create-modes.1"]
    assert "namespaces.created_is_there" in row["scenarios"]
    assert row["proven_on"]["dir"] == row["scenarios"]
    assert rows["contract.rename.1"]["proven_on"]["dir"] == []
    assert "dir" not in rows["glue.namespace.4"]["proven_on"]
