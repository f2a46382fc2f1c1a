"""Reports as one self-contained HTML page, several backends side by side."""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from lance_ns_conformance.formats import STATE_WORDS, named, versions

Report = dict[str, Any]

_MARKS = {
    "passed": "✓",
    "failed": "✗",
    "deviation": "≈",
    "not-applicable": "–",
    "not-run": "·",
    "reasoned": "§",
    "open": "?",
}
_CONNECTING = "connecting"
"""Where clauses stand that are about no operation."""


def html(*reports: Report) -> str:
    """The page: summary, matrix of operations and clauses, failures, every clause and scenario, timings, a filter."""
    columns = _columns(reports)
    operations = sorted({operation for each in reports for clause in each["clauses"] for operation in _about(clause)})
    parts = {
        "title": escape(" · ".join([*(named(each) for each in reports[:3]), "conformance"])),
        "cards": "".join(_card(key, each) for key, each in columns.items()),
        "states": _options(_MARKS, _state_words),
        "backends": _options(columns, lambda key: named(columns[key])),
        "operations": _options(operations, str),
        "heads": "".join(f'<th scope="col">{escape(named(each))}</th>' for each in reports),
        "matrix": "".join(_operation(operation, columns) for operation in operations),
        "failures": "".join(_failures(columns)) or "<p>None.</p>",
        "clauses": "".join(_clause_rows(columns)),
        "scenarios": "".join(_scenario_rows(columns)),
        "timings": "".join(_timings(each) for each in reports),
        "legend": " ".join(f"{_square(state)} {escape(_state_words(state))}" for state in _MARKS),
    }
    page = files("lance_ns_conformance").joinpath("page.html").read_text(encoding="utf-8")
    before, *rest = page.split("{{")
    return before + "".join(parts[name] + text for name, _, text in (each.partition("}}") for each in rest))


def _columns(reports: Sequence[Report]) -> dict[str, Report]:
    """The reports by a word each, for attributes and addresses."""
    columns: dict[str, Report] = {}
    for each in reports:
        word = "@".join([each["backend"], *([each["server"]["name"]] if each["server"] else [])])
        number = sum(key == word or key.startswith(f"{word}~") for key in columns)
        columns[f"{word}~{number + 1}" if number else word] = each
    return columns


def _state_words(state: str) -> str:
    return "passed, or proven" if state == "passed" else STATE_WORDS[state]


def _options(values: Iterable[str], words: Any) -> str:
    return "".join(f'<option value="{escape(each)}">{escape(words(each))}</option>' for each in values)


def _about(clause: dict[str, Any]) -> list[str]:
    return clause["operations"] or [_CONNECTING]


def _item(states: dict[str, str], operations: Iterable[str]) -> str:
    """The attributes by which the filter knows an element: what it is on each backend, and its operations."""
    known = " ".join(f"{key}={state}" for key, state in states.items())
    return f'data-states="{escape(known)}" data-operations="{escape(" ".join(operations))}"'


def _square(state: str) -> str:
    return f'<i class="mark {state}" aria-hidden="true">{_MARKS[state]}</i>'


def _card(key: str, report: Report) -> str:
    levels = "".join(_level(name, level) for name, level in report["levels"].items())
    left_out = sum(each["outcome"] == "not-applicable" for each in report["scenarios"])
    facts = [
        ("not declared", escape(", ".join(report["undeclared"]) or "nothing")),
        ("not applicable", f"{left_out} scenarios, listed below with the reason"),
        ("time", f"{report['seconds']:.1f} s"),
        *([("deviations", _deviations(report["deviations"]))] if report["deviations"] else []),
    ]
    return (
        f'<section class="card" id="report:{escape(key)}"><h2>{escape(named(report))}</h2>'
        f'<p class="soft">plugin {escape(report["plugin"] or "?")} · {escape(versions(report))}</p>{levels}'
        f"<dl>{''.join(f'<dt>{term}</dt><dd>{fact}</dd>' for term, fact in facts)}</dl></section>"
    )


def _deviations(deviations: dict[str, str]) -> str:
    listed = "".join(f"<li>{escape(id)}: {escape(reason)}</li>" for id, reason in deviations.items())
    return f"<details><summary>{len(deviations)}, each with a reason</summary><ul>{listed}</ul></details>"


def _level(name: str, level: dict[str, Any]) -> str:
    share = level["passed"] / level["run"] if level["run"] else 0
    verdict = "certified" if level["certified"] else "not certified"
    return (
        f'<div class="level {"good" if level["certified"] else "bad"}"><b>{escape(name)}</b> '
        f"<span>{level['passed']}/{level['run']} · {verdict}</span>"
        f'<div class="bar"><i style="width:{share:.1%}"></i></div></div>'
    )


def _operation(operation: str, columns: dict[str, Report]) -> str:
    """One row of the matrix: for each backend a square for each clause."""
    cells = []
    for key, report in columns.items():
        squares = "".join(
            f'<a class="mark {each["state"]}" href="#clause:{escape(each["id"])}" tabindex="-1" '
            f'title="{escape(each["id"])}: {escape(each["text"])} ({STATE_WORDS[each["state"]]})" '
            f"{_item({key: each['state']}, [operation])}>{_MARKS[each['state']]}</a>"
            for each in report["clauses"]
            if operation in _about(each)
        )
        cells.append(f"<td>{squares}</td>")
    words = escape(operation).replace("_", "_<wbr>")
    return f'<tr><th scope="row">{words}</th>{"".join(cells)}</tr>'


def _failures(columns: dict[str, Report]) -> Iterable[str]:
    for key, report in columns.items():
        for each in report["scenarios"]:
            if each["outcome"] == "failed":
                lines = [line.replace(" → ", "\n  → ", 1) for line in each["exchange"]]
                sent = "\n".join(lines) or "Nothing was sent, or nothing of it was seen."
                yield (
                    f'<article id="failure:{escape(key)}:{escape(each["id"])}" '
                    f"{_item({key: 'failed'}, each['operations'])}>"
                    f"<h3>{_square('failed')} {escape(each['title'])}</h3>"
                    f'<p class="soft">{escape(named(report))} · {escape(each["id"])} · {_clause_links(each)}</p>'
                    f'<p class="reason">{escape(each["reason"])}</p>'
                    f"<details open><summary>what was sent and answered</summary><pre>{escape(sent)}</pre></details>"
                    f"<details><summary>where it failed</summary><pre>{escape(each['details'])}</pre></details>"
                    "</article>"
                )


def _clause_links(scenario: dict[str, Any]) -> str:
    return ", ".join(f'<a href="#clause:{escape(id)}">{escape(id)}</a>' for id in scenario["clauses"]) or "no clause"


def _by_id(columns: dict[str, Report], what: str) -> Iterable[tuple[dict[str, Any], dict[str, dict[str, Any]]]]:
    """The clauses or scenarios of all reports: what is the same in all, and what is said of each."""
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for key, report in columns.items():
        for each in report[what]:
            found.setdefault(each["id"], {})[key] = each
    for said in found.values():
        yield next(iter(said.values())), said


def _clause_rows(columns: dict[str, Report]) -> Iterable[str]:
    for clause, said in _by_id(columns, "clauses"):
        states = {key: each["state"] for key, each in said.items()}
        cells = "".join(
            f"<td>{_square(states[key])} <small>{STATE_WORDS[states[key]]}</small></td>"
            if key in states
            else "<td></td>"
            for key in columns
        )
        proofs = escape(", ".join(clause["scenarios"]) or clause["reason"] or "no scenario yet")
        yield (
            f'<tr id="clause:{escape(clause["id"])}" {_item(states, _about(clause))}>'
            f"<td><b>{escape(clause['text'])}</b><br><small>{escape(clause['id'])} · {escape(clause['reference'])}"
            f"<br>{escape(', '.join(clause['operations']))}<br>{proofs}</small></td>{cells}</tr>"
        )


def _scenario_rows(columns: dict[str, Report]) -> Iterable[str]:
    for scenario, said in _by_id(columns, "scenarios"):
        states = {key: each["outcome"] for key, each in said.items()}
        cells = "".join(_outcome(key, said.get(key)) for key in columns)
        operations = sorted({operation for each in said.values() for operation in each["operations"]})
        yield (
            f'<tr id="scenario:{escape(scenario["id"])}" {_item(states, operations)}>'
            f"<td><b>{escape(scenario['title'])}</b><br><small>{escape(scenario['id'])} · {scenario['level']}"
            f"<br>{_clause_links(scenario)}</small></td>{cells}</tr>"
        )


def _outcome(key: str, result: dict[str, Any] | None) -> str:
    if result is None:
        return "<td></td>"
    more = f"{result['seconds']:.2f} s" if result["outcome"] == "passed" else escape(result["reason"])
    if result["outcome"] == "failed":
        more = f'<a href="#failure:{escape(key)}:{escape(result["id"])}">{more or "failed"}</a>'
    return f"<td>{_square(result['outcome'])} <small>{more}</small></td>"


def _timings(report: Report) -> str:
    longest = max((each["seconds"] for each in report["slowest"]), default=0) or 1
    rows = "".join(
        f'<tr><td><a href="#scenario:{escape(each["id"])}">{escape(each["id"])}</a></td>'
        f'<td class="number">{each["seconds"]:.2f} s</td>'
        f'<td><div class="bar"><i style="width:{each["seconds"] / longest:.1%}"></i></div></td></tr>'
        for each in report["slowest"]
    )
    return (
        f'<div><h3>{escape(named(report))}</h3><p class="soft">{report["seconds"]:.1f} s in all; the slowest:</p>'
        f'<table class="timings">{rows}</table></div>'
    )
