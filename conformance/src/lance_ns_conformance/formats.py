"""The report in small forms: lines for a terminal, JUnit, a badge."""

import re
from collections import Counter
from typing import Any
from xml.etree import ElementTree as ET

STATE_WORDS = {
    "passed": "proven",
    "failed": "failed",
    "deviation": "deviating",
    "not-applicable": "not applicable",
    "not-run": "not run",
    "reasoned": "with a reason",
    "open": "not proven yet",
}
"""What the states of clauses are called."""

_BAR = 10
_NOT_XML = re.compile(r"[^\t\n\r\x20-\uD7FF\uE000-\uFFFD\U00010000-\U0010FFFF]")


def named(report: dict[str, Any]) -> str:
    """What was certified: the backend, and on which server."""
    return f"{report['backend']} on {report['server']['name']}" if report["server"] else str(report["backend"])


def versions(report: dict[str, Any]) -> str:
    """The versions of all that took part."""
    server = report["server"]["version"] if report["server"] else ""
    parts = [
        f"kit {report['kit']}",
        f"core {report['core']}",
        *([f"server {server}"] if server else []),
        report["mode"],
    ]
    return " · ".join(parts)


def summary(report: dict[str, Any]) -> str:
    """The closing lines: versions, levels, whether the backend is certified, and what else is to be known."""
    server = f" · {report['server']['name']}" if report["server"] else ""
    lines = [f"{report['backend']} {report['plugin'] or '?'} · {versions(report)}{server}"]
    failed = [each for each in report["scenarios"] if each["outcome"] == "failed"]
    lines += [f"  ✗ {each['id']}: {each['title']}" for each in failed]
    for name, level in report["levels"].items():
        done = round(_BAR * level["passed"] / level["run"]) if level["run"] else 0
        bar = "█" * done + "░" * (_BAR - done)
        verdict = "certified" if level["certified"] else "not certified"
        lines.append(f"  {name:6}  {bar}  {level['passed']}/{level['run']}  {verdict}")
    if report["undeclared"]:
        lines.append(f"  not declared: {', '.join(report['undeclared'])}")
    lines += [f"  deviates: {id}: {reason}" for id, reason in report["deviations"].items()]
    reasons = Counter(each["reason"] for each in report["scenarios"] if each["outcome"] == "not-applicable")
    lines += [f"  not applicable: {number} × {reason}" for reason, number in reasons.most_common()]
    states = Counter(each["state"] for each in report["clauses"])
    told = ", ".join(f"{states[state]} {words}" for state, words in STATE_WORDS.items() if states[state])
    lines.append(f"  {len(report['clauses'])} clauses: {told}")
    slowest = ", ".join(f"{each['id']} {each['seconds']:.1f} s" for each in report["slowest"][:3])
    lines.append(f"  {report['seconds']:.1f} s; the slowest: {slowest or 'none'}")
    return "\n".join(lines)


def junit(report: dict[str, Any]) -> str:
    """The report as JUnit XML, for the pages of CI systems."""
    outcomes = Counter(each["outcome"] for each in report["scenarios"])
    suite = ET.Element(
        "testsuite",
        name=f"lance-ns conformance of {named(report)}",
        tests=str(len(report["scenarios"])),
        failures=str(outcomes["failed"]),
        skipped=str(outcomes["not-applicable"] + outcomes["deviation"]),
        time=str(report["seconds"]),
    )
    properties = ET.SubElement(suite, "properties")
    for name in ("backend", "plugin", "kit", "core", "mode"):
        ET.SubElement(properties, "property", name=name, value=str(report[name] or ""))
    for each in report["scenarios"]:
        case = ET.SubElement(suite, "testcase", classname=each["id"], name=each["title"], time=str(each["seconds"]))
        if each["outcome"] == "failed":
            failure = ET.SubElement(case, "failure", message=each["reason"])
            failure.text = "\n".join([each["details"], *each["exchange"]])
        elif each["outcome"] != "passed":
            ET.SubElement(case, "skipped", message=f"{each['outcome']}: {each['reason']}")
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", ET.tostring(suite, encoding="unicode", xml_declaration=True))


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
