"""The report as one self-contained HTML page, as JUnit and as a badge."""

from html import escape
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree as ET


def html(report: dict[str, Any]) -> str:
    """The page: levels, every scenario with a filter, failures with what led to them."""
    failures_first = sorted(report["scenarios"], key=lambda each: each["passed"])
    rows = "\n".join(_row(each) for each in failures_first)
    missing = "\n".join(
        f'<tr data-outcome="not-applicable"><td>–</td><td>{escape(each["title"])}</td><td>{escape(each["id"])}</td>'
        f"<td>needs {escape(', '.join(each['needs']))}</td><td></td></tr>"
        for each in report["not_applicable"]
    )
    template = files(__package__).joinpath("page.html").read_text(encoding="utf-8")
    parts = {
        "title": f"{report['backend']} · conformance",
        "backend": report["backend"],
        "versions": f"plugin {report['plugin'] or '?'} · kit {report['kit']} · core {report['core']}",
        "undeclared": ", ".join(report["undeclared"]) or "none",
    }
    for name, text in parts.items():
        template = template.replace(f"{{{{{name}}}}}", escape(text))
    levels = "".join(_level(name, level) for name, level in report["levels"].items())
    return template.replace("{{levels}}", levels).replace("{{rows}}", f"{rows}\n{missing}")


def junit(report: dict[str, Any]) -> str:
    """The report as JUnit XML, for the pages of CI systems."""
    failed = sum(not each["passed"] for each in report["scenarios"])
    suite = ET.Element(
        "testsuite",
        name=f"lance-ns conformance of {report['backend']}",
        tests=str(len(report["scenarios"])),
        failures=str(failed),
    )
    for each in report["scenarios"]:
        case = ET.SubElement(suite, "testcase", classname=each["id"], name=each["title"], time=str(each["seconds"]))
        if not each["passed"]:
            ET.SubElement(case, "failure", message=each["reason"]).text = each["details"]
    return ET.tostring(suite, encoding="unicode", xml_declaration=True)


def badge(report: dict[str, Any]) -> str:
    """The highest level reached, as an SVG."""
    reached = [name for name, level in report["levels"].items() if level["certified"]]
    text, colour = (reached[-1], "#2e7d32") if reached else ("not certified", "#b3261e")
    left, right = 118, 12 + 7 * len(text)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="lance-ns conformance: {text}"><rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,sans-serif" font-size="11">'
        f'<text x="6" y="14">lance-ns conform</text><text x="{left + 6}" y="14">{text}</text></g></svg>\n'
    )


def _level(name: str, level: dict[str, Any]) -> str:
    share = level["passed"] / level["run"] if level["run"] else 0
    verdict = "certified" if level["certified"] else "not certified"
    return (
        f'<div class="level {"good" if level["certified"] else "bad"}"><b>{escape(name)}</b> '
        f"<span>{level['passed']}/{level['run']} · {verdict}</span>"
        f'<div class="bar"><i style="width:{share:.1%}"></i></div></div>'
    )


def _row(each: dict[str, Any]) -> str:
    outcome = "passed" if each["passed"] else "failed"
    mark = "✓" if each["passed"] else "✗"
    why = (
        ""
        if each["passed"]
        else (
            f"<p>{escape(each['reason'])}</p><details><summary>what led to it</summary>"
            f"<pre>{escape(each['details'])}</pre></details>"
        )
    )
    clauses = escape(", ".join(each["clauses"]))
    return (
        f'<tr data-outcome="{outcome}" data-level="{each["level"]}"><td class="{outcome}">{mark}</td>'
        f"<td>{escape(each['title'])}{why}</td><td>{escape(each['id'])}</td><td>{clauses}</td>"
        f"<td>{each['seconds']:.2f} s</td></tr>"
    )
