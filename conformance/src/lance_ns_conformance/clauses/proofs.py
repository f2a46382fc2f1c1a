"""Which scenarios prove which clauses, on which of the installed backends."""

from typing import Any

import attrs

from lance_ns.registry import installed
from lance_ns_conformance.clauses import every_clause
from lance_ns_conformance.scenario import Scenario, every_scenario


def scenarios_by_clause(backend: str) -> dict[str, list[str]]:
    """The ids of the scenarios that prove each clause on a backend: those for everybody, and its own."""
    return {
        id: [each.id for each in found if _is_for(each, backend)]
        for id, found in _proofs().items()
        if any(_is_for(each, backend) for each in found)
    }


def unproven(backend: str) -> list[str]:
    """The clauses that concern a backend and have neither a scenario nor a reason."""
    proven = scenarios_by_clause(backend)
    clauses = [each for each in every_clause().values() if each.concerns(backend)]
    return [each.id for each in clauses if each.id not in proven and not each.reason]


def matrix(backend: str | None = None) -> list[dict[str, Any]]:
    """Every clause, or those that concern one backend, with the scenarios that prove it on each installed backend."""
    proofs = _proofs()
    declared = {each.name: each.backend.capabilities for each in installed() if each.backend}
    return [
        {
            **{key: value for key, value in attrs.asdict(each).items() if value},
            "scenarios": [proof.id for proof in proofs.get(each.id, [])],
            "proven_on": {
                name: [proof.id for proof in proofs.get(each.id, []) if _applies(proof, name, capabilities)]
                for name, capabilities in declared.items()
                if each.concerns(name) and backend in (None, name)
            },
        }
        for each in every_clause().values()
        if backend is None or each.concerns(backend)
    ]


def lines(backend: str | None = None) -> str:
    """The matrix for people, with a line of counts at the end."""
    found = matrix(backend)
    shown = []
    for each in found:
        shown.append(f"{each['id']}  [{' '.join(each['backends'])}]  {each['text']}")
        shown += [f"    {line}" for line in _told(each)]
    proven = sum(bool(each["scenarios"]) for each in found)
    reasoned = sum(not each["scenarios"] and "reason" in each for each in found)
    left = len(found) - proven - reasoned
    return "\n".join([*shown, "", f"{len(found)} clauses: {proven} proven, {reasoned} with a reason, {left} not yet"])


def _told(row: dict[str, Any]) -> list[str]:
    """By whom a clause is proven: backends with the same scenarios share a line."""
    if not row["scenarios"]:
        return [f"no scenario: {row['reason']}" if "reason" in row else "not proven yet"]
    backends: dict[str, list[str]] = {}
    for name, scenarios in row["proven_on"].items():
        backends.setdefault(", ".join(scenarios) or "does not apply", []).append(name)
    told = [f"{' '.join(names)}: {scenarios}" for scenarios, names in backends.items()]
    return told or [f"not installed: {', '.join(row['scenarios'])}"]


def _proofs() -> dict[str, list[Scenario]]:
    found: dict[str, list[Scenario]] = {}
    for scenario in every_scenario():
        for clause in scenario.clauses:
            found.setdefault(clause, []).append(scenario)
    return found


def _is_for(scenario: Scenario, backend: str) -> bool:
    return not scenario.backends or backend in scenario.backends


def _applies(scenario: Scenario, backend: str, capabilities: frozenset[str]) -> bool:
    return scenario.needs <= capabilities and _is_for(scenario, backend)
