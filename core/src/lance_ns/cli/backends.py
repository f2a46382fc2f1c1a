"""Commands about what is installed: `backends` and `config`."""

from typing import Any

import click

from lance_ns import registry
from lance_ns.cli.options import json_option
from lance_ns.cli.output import show_json, show_table


@click.command()
@json_option
def backends(as_json: bool) -> None:
    """List the installed backends, what they can do, and why broken ones are broken."""
    found = list(registry.installed())
    if as_json:
        show_json([_as_data(each) for each in found])
        return
    show_table(
        ("BACKEND", "VERSION", "DISTRIBUTION", "SUMMARY"),
        (
            (each.name, each.version, each.distribution, each.backend.summary if each.backend else "broken")
            for each in found
        ),
    )
    for each in found:
        click.echo()
        click.echo(f"{click.style(each.name, bold=True)}: {_capabilities(each)}")
    if not found:
        click.echo("none; for the embedded one: pip install lance-ns-dir", err=True)


@click.command()
@click.argument("backend", shell_complete=lambda *_: registry.names(registry.BACKENDS))
@json_option
def config(backend: str, as_json: bool) -> None:
    """Show the properties of BACKEND."""
    from lance_ns import config as configuration

    found = registry.find(backend)
    infos = configuration.describe(registry.part(found, found.config))
    if as_json:
        import attrs

        show_json([attrs.asdict(info) for info in infos])
        return
    show_table(
        ("PROPERTY", "TYPE", "DEFAULT", "DESCRIPTION"),
        ((info.name, info.type, info.default, info.description) for info in infos),
    )


def _capabilities(each: registry.Installed) -> str:
    if each.backend is None:
        return str(each.problem)
    return ", ".join(sorted(each.backend.capabilities))


def _as_data(each: registry.Installed) -> dict[str, Any]:
    return {
        "name": each.name,
        "distribution": each.distribution,
        "version": each.version,
        "summary": each.backend.summary if each.backend else None,
        "capabilities": sorted(each.backend.capabilities) if each.backend else [],
        "problem": str(each.problem) if each.problem else None,
    }
