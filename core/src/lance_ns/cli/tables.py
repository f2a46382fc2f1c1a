"""Commands about tables: `describe`, `declare`, `register`, `deregister`, `head`, `schema`."""

from typing import Any

import click

from lance_ns import wire
from lance_ns.cli.options import connected, json_option, pairs_of, properties_option
from lance_ns.cli.output import clean, show_json, show_pairs, show_table, tell
from lance_ns.errors import NamespaceNotFound, TableNotFound
from lance_ns.models import RegisterMode
from lance_ns.namespace import Namespace


@click.command()
@click.argument("identifier", default="")
@click.option("--detailed", is_flag=True, help="Open the table for its version, schema and stats.")
@click.option("--show-storage-options", is_flag=True, help="Show storage options, which may be secret.")
@json_option
@connected
def describe(ns: Namespace, identifier: str, detailed: bool, show_storage_options: bool, as_json: bool) -> None:
    """Describe the table or namespace IDENTIFIER."""
    data = _described(ns, identifier, detailed)
    if not show_storage_options:
        data.pop("storage_options", None)
    if as_json:
        show_json(data)
    else:
        show_pairs((name, _in_words(value)) for name, value in data.items())


@click.command()
@click.argument("table")
@click.option("--location", help="Where its data is to be; without it, where the catalog or backend says.")
@properties_option
@json_option
@connected
def declare(ns: Namespace, table: str, location: str | None, assignments: tuple[str, ...], as_json: bool) -> None:
    """Enter TABLE in the catalog without data."""
    answer = ns.declare_table(table, location=location, properties=pairs_of(assignments, "--set"))
    tell(answer, f"declared table {ns.show(ns.parse(table))} at {answer.location}", as_json=as_json)


@click.command()
@click.argument("table")
@click.argument("location")
@click.option(
    "--mode", type=click.Choice([mode.name.lower() for mode in RegisterMode]), default="create", show_default=True
)
@properties_option
@json_option
@connected
def register(ns: Namespace, table: str, location: str, mode: str, assignments: tuple[str, ...], as_json: bool) -> None:
    """Enter TABLE, whose data is at LOCATION, in the catalog."""
    answer = ns.register_table(table, location, mode=mode, properties=pairs_of(assignments, "--set"))
    tell(answer, f"registered table {ns.show(ns.parse(table))} at {answer.location}", as_json=as_json)


@click.command()
@click.argument("table")
@json_option
@connected
def deregister(ns: Namespace, table: str, as_json: bool) -> None:
    """Take TABLE out of the catalog. Its data stays where it is."""
    answer = ns.deregister_table(table)
    line = f"deregistered table {ns.show(ns.parse(table))}; its data stays at {answer.location}"
    tell(answer, line, as_json=as_json)


@click.command()
@click.argument("table")
@click.option("--rows", "-n", default=10, show_default=True, type=click.IntRange(min=1), help="How many rows.")
@click.option("--columns", "-c", help="Which columns, separated by commas.")
@click.option("--version", type=click.IntRange(min=1), help="At which version.")
@json_option
@connected
def head(ns: Namespace, table: str, rows: int, columns: str | None, version: int | None, as_json: bool) -> None:
    """Show the first rows of TABLE."""
    dataset = ns.dataset(table, version=version)
    found = dataset.to_table(limit=rows, columns=_known_columns(dataset.schema, columns)).to_pylist()
    if as_json:
        show_json(found)
    elif found:
        show_table(list(found[0]), ([_shortened(value) for value in row.values()] for row in found))
    else:
        click.echo("no rows")


@click.command()
@click.argument("table")
@click.option("--version", type=click.IntRange(min=1), help="At which version.")
@json_option
@connected
def schema(ns: Namespace, table: str, version: int | None, as_json: bool) -> None:
    """Show the columns of TABLE."""
    arrow = ns.dataset(table, version=version).schema
    if as_json:
        from lance_ns.lance.schema import to_json

        show_json(to_json(arrow))
    else:
        show_table(
            ("COLUMN", "TYPE", "NULLABLE"),
            ((field.name, str(field.type), "yes" if field.nullable else "no") for field in arrow),
        )


def _described(ns: Namespace, identifier: str, detailed: bool) -> dict[str, Any]:
    """A table if there is one of this name, else a namespace."""
    id = ns.parse(identifier)
    if id:
        try:
            return wire.unstructure(ns.describe_table(id, load_detailed_metadata=detailed, check_declared=detailed))
        except TableNotFound as missing_table:
            try:
                return wire.unstructure(ns.describe_namespace(id))
            except NamespaceNotFound:
                raise missing_table from None
    return wire.unstructure(ns.describe_namespace(id))


def _known_columns(schema: Any, columns: str | None) -> list[str] | None:
    if columns is None:
        return None
    wanted = [column.strip() for column in columns.split(",")]
    unknown = [column for column in wanted if column not in schema.names]
    if unknown:
        raise click.UsageError(f"no column {', '.join(unknown)}; there are {', '.join(schema.names)}")
    return wanted


def _in_words(value: Any) -> str:
    if isinstance(value, dict) and "fields" in value:
        return ", ".join(f"{field['name']}: {field['type']['type']}" for field in value["fields"])
    if isinstance(value, dict):
        return ", ".join(f"{name}={text}" for name, text in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _shortened(value: Any) -> str:
    if isinstance(value, list) and len(value) > 4:
        return f"[{', '.join(_shortened(item) for item in value[:4])}, … {len(value)}]"
    if isinstance(value, float):
        return f"{value:.4g}"
    text = clean(str(value))
    return text if len(text) <= 60 else f"{text[:59]}…"
