"""`lance-ns conformance-matrix`: the reports of several backends side by side, on one page."""

from pathlib import Path
from typing import Any

import click

from lance_ns.cli.options import json_option
from lance_ns.cli.output import show_json, show_table
from lance_ns_conformance import page, report
from lance_ns_conformance.formats import named


@click.command()
@click.argument("reports", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="REPORT.JSON...")
@click.option(
    "--report", "target", type=click.Path(file_okay=False, path_type=Path), help="Write index.html into this directory."
)
@json_option
def conformance_matrix(reports: tuple[Path, ...], target: Path | None, as_json: bool) -> None:
    """Show the reports of several backends, which `certify --report` wrote, side by side."""
    found = [report.read(path) for path in reports]
    if target is not None:
        target.mkdir(parents=True, exist_ok=True)
        (target / "index.html").write_text(page.html(*found), encoding="utf-8")
        click.echo(f"report: {target / 'index.html'}", err=True)
    if as_json:
        show_json([{key: each[key] for key in ("backend", "server", "mode", "levels")} for each in found])
        return
    show_table(
        ("BACKEND", "MODE", *(level.upper() for level in report.LEVELS)),
        ((named(each), each["mode"], *(_told(each["levels"].get(level)) for level in report.LEVELS)) for each in found),
    )


def _told(level: dict[str, Any] | None) -> str:
    if level is None:
        return "–"
    return f"{level['passed']}/{level['run']} {'certified' if level['certified'] else 'not certified'}"
