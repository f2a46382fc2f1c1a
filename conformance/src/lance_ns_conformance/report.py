"""What a run showed, as data. Its form is published: `schema/report-1.json`."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from lance_ns.capabilities import OPERATIONS
from lance_ns.errors import InvalidInput
from lance_ns.registry import find, installed
from lance_ns.version import __version__ as core_version
from lance_ns_conformance.clauses import Clause, every_clause
from lance_ns_conformance.clauses.proofs import scenarios_by_clause
from lance_ns_conformance.run import Result, why_not
from lance_ns_conformance.scenario import Scenario
from lance_ns_conformance.subject import Subject

FORMAT = 1
LEVELS = ("basic", "full", "robust")
"""Each holds the ones before it."""

SLOWEST = 10
_STATES = ("failed", "deviation", "passed", "not-run", "not-applicable")
"""What a clause is called by the outcomes of its scenarios: the first of these that one of them has."""


def content(
    subject: Subject, results: Sequence[Result], others: Sequence[Scenario], level: str = "full"
) -> dict[str, Any]:
    """The report as data.

    Args:
        subject: the backend.
        results: how the scenarios ended.
        others: the scenarios that do not apply to it.
        level: the level that was asked for.
    """
    plugin = next((each for each in installed() if each.name == subject.backend), None)
    scenarios = [_result(each, subject.backend) for each in results]
    scenarios += [_left_out(each, subject) for each in others]
    return {
        "format": FORMAT,
        "backend": subject.backend,
        "plugin": plugin.version if plugin else None,
        "server": {"name": subject.server.name, "version": _told_version(subject)} if subject.server else None,
        "mode": subject.mode,
        "kit": version("lance-ns-conformance"),
        "core": core_version,
        "levels": {each: _level(results, each) for each in _levels(results, level)},
        "undeclared": sorted(OPERATIONS - find(subject.backend).capabilities),
        "deviations": {each.scenario.id: each.deviation for each in results if each.deviation},
        "seconds": round(sum(each.seconds for each in results), 3),
        "slowest": [
            {"id": each.scenario.id, "seconds": round(each.seconds, 3)}
            for each in sorted(results, key=lambda each: -each.seconds)[:SLOWEST]
        ],
        "scenarios": scenarios,
        "clauses": _clauses(subject.backend, {each["id"]: each["outcome"] for each in scenarios}),
    }


def schema() -> dict[str, Any]:
    """The JSON schema of reports."""
    text = files("lance_ns_conformance").joinpath("schema", f"report-{FORMAT}.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def read(path: Path) -> dict[str, Any]:
    """A report that was written to a file.

    Raises:
        InvalidInput: it cannot be read, or is no report of this format.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as a report: {error}") from error
    known = found.get("format") if isinstance(found, dict) else None
    if known != FORMAT:
        raise InvalidInput(
            f"{path} is no report of format {FORMAT}", hint="`lance-ns certify BACKEND --report DIRECTORY` writes one"
        )
    lacking = next(_lacking(found, schema()), None)
    if lacking:
        raise InvalidInput(f"{path} is not a whole report: {lacking} is missing", hint="certify the backend again")
    report: dict[str, Any] = found
    return report


def _result(result: Result, backend: str) -> dict[str, Any]:
    outcome = "passed" if result.passed else "failed"
    if result.deviation:
        outcome = "deviation"
    elif not result.applicable:
        outcome = "not-applicable"
    return {
        **_about(result.scenario, backend),
        "outcome": outcome,
        "seconds": round(result.seconds, 3),
        "reason": _writable(result.reason or result.deviation or result.why),
        "details": _writable(result.details),
        "exchange": [_writable(each) for each in result.exchange],
    }


def _left_out(scenario: Scenario, subject: Subject) -> dict[str, Any]:
    return {
        **_about(scenario, subject.backend),
        "outcome": "not-applicable",
        "seconds": 0.0,
        "reason": why_not(scenario, subject) or "",
        "details": "",
        "exchange": [],
    }


def _about(scenario: Scenario, backend: str) -> dict[str, Any]:
    known = every_clause()
    clauses = [each for each in scenario.clauses if known[each].concerns(backend)]
    return {
        "id": scenario.id,
        "title": scenario.title,
        "level": scenario.level,
        "clauses": clauses,
        "operations": sorted({operation for each in clauses for operation in known[each].operations}),
    }


def _writable(text: str) -> str:
    """Text that every file can hold: an error may quote a name that is not valid Unicode."""
    return text.encode(errors="backslashreplace").decode()


def _levels(results: Sequence[Result], asked: str) -> Sequence[str]:
    """The levels up to the one that was asked for; faults are a level only where some were tried."""
    if any(each.scenario.level == "robust" for each in results):
        asked = "robust"
    return LEVELS[: LEVELS.index(asked) + 1]


def _level(results: Sequence[Result], level: str) -> dict[str, Any]:
    """A level is reached when all its scenarios, and those of the levels below it, pass or deviate as is known."""
    held = LEVELS[: LEVELS.index(level) + 1]
    counted = [each for each in results if each.applicable and each.scenario.level in held]
    failed = sum(each.failed for each in counted)
    passed = sum(each.passed for each in counted)
    return {"run": len(counted), "passed": passed, "failed": failed, "certified": bool(counted) and not failed}


def _clauses(backend: str, outcomes: dict[str, str]) -> list[dict[str, Any]]:
    """Every clause that concerns a backend, with what its scenarios showed."""
    proofs = scenarios_by_clause(backend)
    return [
        {
            "id": each.id,
            "text": each.text,
            "reference": each.reference,
            "operations": list(each.operations),
            "state": _state(each, [outcomes.get(id, "not-run") for id in proofs.get(each.id, [])]),
            "scenarios": proofs.get(each.id, []),
            "reason": each.reason,
        }
        for each in every_clause().values()
        if each.concerns(backend)
    ]


def _state(clause: Clause, outcomes: Sequence[str]) -> str:
    if not outcomes:
        return "reasoned" if clause.reason else "open"
    return min(outcomes, key=_STATES.index)


def _told_version(subject: Subject) -> str:
    """The server's version in its own words, where it can be asked and tells."""
    if subject.mode == "replay":
        return ""
    with suppress(Exception), tempfile.TemporaryDirectory() as scratch:  # a version is not worth a failure
        native = subject.native(Path(scratch))
        if native is not None:
            try:
                return native.version()
            finally:
                native.close()
    return ""


def _lacking(value: Any, form: dict[str, Any], at: str = "") -> Iterator[str]:
    """The places where something is missing that the schema requires."""
    if isinstance(value, dict):
        yield from (f"{at}{name}" for name in form.get("required", ()) if name not in value)
        for name, inner in form.get("properties", {}).items():
            yield from _lacking(value.get(name), inner, f"{at}{name}.")
    elif isinstance(value, list):
        for each in value:
            yield from _lacking(each, form.get("items", {}), at)
