"""`lance-ns certify`: run the scenarios on a backend, show progress, say whether it is certified."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from lance_ns.cli.options import pairs_of
from lance_ns.cli.output import show_json
from lance_ns.profiles import load
from lance_ns_conformance import report
from lance_ns_conformance.run import Result, applicable, run
from lance_ns_conformance.subject import subject_of


@click.command()
@click.argument("backend", required=False)
@click.option("--profile", help="A profile of the configuration with the connection's properties.")
@click.option(
    "--property", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="A property; {scratch} is a directory."
)
@click.option("--level", type=click.Choice(["basic", "full"]), default="full", show_default=True)
@click.option(
    "--report", "target", type=click.Path(file_okay=False, path_type=Path), help="Write the report into this directory."
)
@click.option("--clauses", is_flag=True, help="Show every clause with the scenarios that prove it, and run nothing.")
@click.option("--json", "as_json", is_flag=True, help="Answer as JSON.")
def certify(
    backend: str | None,
    profile: str | None,
    pairs: tuple[str, ...],
    level: str,
    target: Path | None,
    clauses: bool,
    as_json: bool,
) -> None:
    """Hold BACKEND to the contract, scenario by scenario."""
    if clauses:
        show_json(report.clauses()) if as_json else click.echo(report.clause_lines())
        return
    if backend is None:
        raise click.UsageError("name a backend; `lance-ns backends` lists those that are installed")
    loaded = load(profile) if profile else None
    given: dict[str, Any] = {**(loaded.properties if loaded else {}), **pairs_of(pairs, "--property")}
    subject = subject_of(backend, given)
    fitting, others = applicable(subject)
    chosen = [each for each in fitting if level == "full" or each.level == "basic"]

    def progress(result: Result) -> None:
        if not as_json:
            mark = click.style("✓", fg="green") if result.passed else click.style("✗", fg="red")
            click.echo(f"{mark} {result.scenario.title}")
            if not result.passed:
                click.echo(f"    {result.reason}")

    results = list(run(subject, chosen, progress))
    content = report.content(subject, results, others)
    if target is not None:
        _write(content, target)
    if as_json:
        show_json(content)
    else:
        click.echo()
        click.echo(report.summary(content))
    if not all(result.passed for result in results):
        sys.exit(1)


def _write(content: dict[str, Any], target: Path) -> None:
    """The report in all its forms."""
    from lance_ns_conformance import page

    target.mkdir(parents=True, exist_ok=True)
    forms = {
        "report.json": json.dumps(content, indent=2, ensure_ascii=False) + "\n",
        "index.html": page.html(content),
        "junit.xml": page.junit(content),
        "badge.svg": page.badge(content),
    }
    for name, text in forms.items():
        (target / name).write_text(text, encoding="utf-8")
    click.echo(f"report: {target / 'index.html'}", err=True)
