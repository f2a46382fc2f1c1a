"""What a run showed, as data and as a line."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

import attrs

from lance_ns.capabilities import OPERATIONS
from lance_ns.registry import find, installed
from lance_ns.version import __version__ as core_version
from lance_ns_conformance.clauses import every_clause
from lance_ns_conformance.run import Result
from lance_ns_conformance.scenario import Scenario, every_scenario
from lance_ns_conformance.subject import Subject

FORMAT = 1


def content(subject: Subject, results: Sequence[Result], others: Sequence[Scenario]) -> dict[str, Any]:
    """The report as data."""
    plugin = next((each for each in installed() if each.name == subject.backend), None)
    declared = find(subject.backend).capabilities
    return {
        "format": FORMAT,
        "backend": subject.backend,
        "plugin": plugin.version if plugin else None,
        "kit": version("lance-ns-conformance"),
        "core": core_version,
        "levels": {level: _level(results, level) for level in ("basic", "full")},
        "undeclared": sorted(OPERATIONS - declared),
        "scenarios": [
            {
                "id": each.scenario.id,
                "title": each.scenario.title,
                "level": each.scenario.level,
                "clauses": [clause for clause in each.scenario.clauses if _concerns(clause, subject.backend)],
                "passed": each.passed,
                "seconds": round(each.seconds, 3),
                "reason": each.reason,
                "details": each.details,
            }
            for each in results
        ],
        "not_applicable": [{"id": each.id, "title": each.title, "needs": sorted(each.needs)} for each in others],
    }


def summary(report: dict[str, Any]) -> str:
    """The closing lines: versions, levels, and whether the backend is certified."""
    lines = [f"{report['backend']} {report['plugin'] or '?'} · kit {report['kit']} · core {report['core']}"]
    for name, level in report["levels"].items():
        verdict = "certified" if level["certified"] else "not certified"
        lines.append(f"  {name:5}  {level['passed']}/{level['run']}  {verdict}")
    if report["undeclared"]:
        lines.append(f"  not declared: {', '.join(report['undeclared'])}")
    return "\n".join(lines)


def _concerns(clause: str, backend: str) -> bool:
    return bool({"*", backend} & set(every_clause()[clause].backends))


def clauses() -> list[dict[str, Any]]:
    """Every clause with the scenarios that prove it."""
    proofs: dict[str, list[str]] = {}
    for scenario in every_scenario():
        for clause in scenario.clauses:
            proofs.setdefault(clause, []).append(scenario.id)
    return [
        {**{key: value for key, value in attrs.asdict(each).items() if value}, "scenarios": proofs.get(each.id, [])}
        for each in every_clause().values()
    ]


def clause_lines() -> str:
    """The clauses as lines, and their counts at the end."""
    found = clauses()
    lines = [
        f"{each['id']}  [{' '.join(each['backends'])}]  {each['text']}\n"
        f"    {', '.join(each['scenarios']) or each.get('reason') or 'not proven yet'}"
        for each in found
    ]
    proven = sum(bool(each["scenarios"]) for each in found)
    reasoned = sum(not each["scenarios"] and "reason" in each for each in found)
    left = len(found) - proven - reasoned
    return "\n".join([*lines, "", f"{len(found)} clauses: {proven} proven, {reasoned} with a reason, {left} not yet"])


def _level(results: Sequence[Result], level: str) -> dict[str, Any]:
    """A level is reached when all its scenarios, and those of the levels below it, pass."""
    counted = [each for each in results if level == "full" or each.scenario.level == "basic"]
    passed = sum(each.passed for each in counted)
    return {"run": len(counted), "passed": passed, "certified": bool(counted) and passed == len(counted)}
