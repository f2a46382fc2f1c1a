"""What was measured: kept as JSON, shown as a table in the manual and as a page of charts.

Every entry names its suite, the moment, the machine and the server, so that one suite can be measured anew alone.
"""

import datetime as dt
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks import page
from benchmarks.measure import Figure

RESULTS = Path(__file__).parent / "results"
LATEST = RESULTS / "latest.json"
MANUAL = Path(__file__).parent.parent / "docs" / "performance.md"
START, END = "<!-- results -->", "<!-- end of results -->"
ORDER = ("startup", "relay", "iceberg", "polaris", "unity", "hive3", "glue", "dir", "spark")

Entry = dict[str, Any]


def read() -> list[Entry]:
    """The latest entry of every figure."""
    return json.loads(LATEST.read_text(encoding="utf-8")) if LATEST.exists() else []


def of_suite(name: str) -> list[Entry]:
    """The entries of one suite."""
    return [each for each in read() if each["suite"] == name]


def add(suite: str, figures: Iterable[Figure], server: str) -> None:
    """Put a suite's figures in the place of its earlier ones."""
    stamp = {
        "suite": suite,
        "at": dt.datetime.now(dt.UTC).date().isoformat(),
        "machine": f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores",
        "server": server,
    }
    entries = [each for each in read() if each["suite"] != suite]
    entries += [{**_rounded(each), **stamp} for each in figures]
    entries.sort(key=lambda each: ORDER.index(each["suite"]))  # the order within a suite stays
    RESULTS.mkdir(exist_ok=True)
    LATEST.write_text(json.dumps(entries, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def publish(entries: list[Entry]) -> None:
    """Make the table in the manual and the page of charts."""
    manual = MANUAL.read_text(encoding="utf-8")
    before, after = manual.partition(START)[0], manual.partition(END)[2]
    content = "\n".join([_stamps(entries), "", table(entries), "", *_notes(entries)])
    MANUAL.write_text(f"{before}{START}\n{content}\n{END}{after}", encoding="utf-8")
    (RESULTS / "index.html").write_text(page.made(entries), encoding="utf-8")


def table(entries: Iterable[Entry]) -> str:
    """The figures as Markdown."""
    lines = [
        "| figure | backend | ratio | goal | met | against | spread |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for each in entries:
        if each["value"] is None:
            lines.append(f"| {each['figure']} | {each['backend']} | not measured | – | – | – | – |")
            continue
        met = "–" if each["met"] is None else "yes" if each["met"] else "no"
        lines.append(
            f"| {each['figure']} | {each['backend']} | {each['value']:.3g} | {each['goal']} | {met} "
            f"| {each['against']} | {each['spread']:.0%} |"
        )
    return "\n".join(lines)


def _rounded(figure: Figure) -> Entry:
    entry = figure._asdict()
    for key in ("value", "spread"):
        entry[key] = None if entry[key] is None else float(f"{entry[key]:.4g}")
    entry["others"] = {name: float(f"{value:.4g}") for name, value in figure.others.items()}
    return entry


def _stamps(entries: list[Entry]) -> str:
    """Where and when: one line for each machine and day."""
    suites: dict[str, list[str]] = {}
    for each in entries:
        where = f"{each['at']}, {each['machine']}"
        what = f"{each['suite']} {each['server']}".strip()
        if what not in suites.setdefault(where, []):
            suites[where].append(what)
    return "\n".join(f"{where}: {', '.join(what)}." for where, what in suites.items())


def _notes(entries: list[Entry]) -> list[str]:
    """What one must know to read them, once for all figures that share it."""
    shared: dict[str, list[str]] = {}
    for each in entries:
        if each["note"]:
            shared.setdefault(each["note"], []).append(f"{each['backend']}, {each['figure']}")
    return [f"- {'; '.join(figures)}: {note}." for note, figures in shared.items()]
