"""`lance-ns certify`: run the scenarios on a backend, show progress, say whether it is certified."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from lance_ns.cli.options import pairs_of
from lance_ns.cli.output import show_json
from lance_ns.profiles import load
from lance_ns_conformance import formats, report
from lance_ns_conformance.clauses import proofs
from lance_ns_conformance.run import Result, applicable, run
from lance_ns_conformance.subject import Mode, description_of, subject_of
from lance_ns_conformance.suite import remove_stale


@click.command()
@click.argument("backend", required=False)
@click.option("--profile", help="A profile of the configuration with the connection's properties.")
@click.option(
    "--property", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="A property; {scratch} is a directory."
)
@click.option("--level", type=click.Choice(["basic", "full", "robust"]), default="full", show_default=True)
@click.option(
    "--mode",
    type=click.Choice(["live", "replay", "record"]),
    help="Meet the server for real, by recordings, or record it; without profile and properties recordings are "
    "replayed, where there are any.",
)
@click.option("--server", help="One of the servers that the plugin describes; without it the main one.")
@click.option(
    "--cassettes",
    type=click.Path(file_okay=False, path_type=Path),
    help="The directory of the recordings; without it tests/cassettes beside the plugin's src.",
)
@click.option(
    "--report", "target", type=click.Path(file_okay=False, path_type=Path), help="Write the report into this directory."
)
@click.option("--clauses", is_flag=True, help="Show all clauses, or BACKEND's, with what proves them; run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def certify(
    backend: str | None,
    profile: str | None,
    pairs: tuple[str, ...],
    level: str,
    mode: Mode | None,
    server: str | None,
    cassettes: Path | None,
    target: Path | None,
    clauses: bool,
    as_json: bool,
) -> None:
    """Hold BACKEND to the contract, scenario by scenario."""
    if clauses:
        show_json(proofs.matrix(backend)) if as_json else click.echo(proofs.lines(backend))
        return
    if backend is None:
        raise click.UsageError("name a backend; `lance-ns backends` lists those that are installed")
    loaded = load(profile) if profile else None
    given: dict[str, Any] = {**(loaded.properties if loaded else {}), **pairs_of(pairs, "--property")}
    mode = mode or ("live" if given else _usual_mode(backend, cassettes))
    subject = subject_of(backend, given, mode=mode, server=server, cassettes=cassettes)
    fitting, others = applicable(subject)
    chosen = [each for each in fitting if each.level in _UP_TO[level]]
    results = list(run(subject, chosen, (lambda _: None) if as_json else _progress))
    if mode == "record":
        remove_stale(subject)
    content = report.content(subject, results, others, level)
    if target is not None:
        _write(content, target)
    if as_json:
        show_json(content)
    else:
        click.echo()
        click.echo(formats.summary(content))
    if any(result.failed for result in results):
        sys.exit(1)


_UP_TO = {"basic": ("basic",), "full": ("basic", "full"), "robust": ("basic", "full", "robust")}


def _usual_mode(backend: str, cassettes: Path | None) -> Mode:
    """Recordings where there are any, for a backend without a server its own store."""
    description = description_of(backend)
    directory = cassettes or description.cassettes
    if description.records is None or directory is None or not directory.exists():
        return "live"
    return "replay"


def _progress(result: Result) -> None:
    """A line for each scenario, and another where there is more to say."""
    if result.passed:
        mark, more = click.style("✓", fg="green"), ""
    elif result.failed:
        mark, more = click.style("✗", fg="red"), result.reason
    else:
        mark = "–"
        more = f"does not apply: {result.why}" if result.why else f"deviates: {result.deviation}"
    click.echo(f"{mark} {result.scenario.title}")
    if more:
        click.echo(f"    {more}")


def _write(content: dict[str, Any], target: Path) -> None:
    """The report in all its forms."""
    from lance_ns_conformance import page

    target.mkdir(parents=True, exist_ok=True)
    forms = {
        "report.json": json.dumps(content, indent=2, ensure_ascii=False) + "\n",
        "index.html": page.html(content),
        "junit.xml": formats.junit(content),
        "badge.svg": formats.badge(content),
    }
    for name, text in forms.items():
        (target / name).write_text(text, encoding="utf-8")
    click.echo(f"report: {target / 'index.html'}", err=True)
