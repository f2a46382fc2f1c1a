"""Commands about namespaces: `ls`, `tree`, `create-namespace`, `drop-namespace`."""

import sys
from collections.abc import Iterator
from threading import Lock
from typing import Any

import attrs
import click

from lance_ns.cli.options import connected, json_option, pairs_of, properties_option
from lance_ns.cli.output import clean, count, show_json, size, tell
from lance_ns.derived import contents
from lance_ns.errors import LanceNsError
from lance_ns.identifiers import Levels
from lance_ns.models import CreateMode, DropBehavior, ListTablesRequest
from lance_ns.namespace import Namespace
from lance_ns.paging import side_by_side


@click.command()
@click.argument("namespace", default="")
@click.option("--with-data", is_flag=True, help="Leave out tables that are only declared (looks at their storage).")
@json_option
@connected
def ls(ns: Namespace, namespace: str, with_data: bool, as_json: bool) -> None:
    """List the child namespaces and Lance tables of NAMESPACE."""
    children, named = contents(ns, ListTablesRequest(id=ns.parse(namespace), include_declared=not with_data))
    if as_json:
        show_json({"namespaces": children, "tables": list(named)})
        return
    for child in children:
        click.echo(click.style(f"{clean(child)}/", bold=True))
    for table in named:
        click.echo(clean(table))


@click.command()
@click.argument("namespace", default="")
@click.option("--names", is_flag=True, help="Names only; no table is opened.")
@json_option
@connected
def tree(ns: Namespace, namespace: str, names: bool, as_json: bool) -> None:
    """Draw everything below NAMESPACE, with rows, bytes, version and indexes of each table."""
    root = _branch(ns, ns.parse(namespace))
    if not names:
        _measure(ns, root)
    if as_json:
        show_json(attrs.asdict(root))
        return
    click.echo(click.style(" · ".join([ns.backend, *([ns.show(root.id)] if root.id else [])]), bold=True))
    _draw(root, "")


@click.command("create-namespace")
@click.argument("namespace")
@click.option(
    "--mode", type=click.Choice([mode.name.lower() for mode in CreateMode]), default="create", show_default=True
)
@properties_option
@json_option
@connected
def create_namespace(ns: Namespace, namespace: str, mode: str, assignments: tuple[str, ...], as_json: bool) -> None:
    """Create NAMESPACE."""
    answer = ns.create_namespace(namespace, mode=mode, properties=pairs_of(assignments, "--set"))
    tell(answer, f"created namespace {ns.show(ns.parse(namespace))}", as_json=as_json)


@click.command("drop-namespace")
@click.argument("namespace")
@click.option("--skip-missing", is_flag=True, help="Succeed when it does not exist.")
@click.option("--cascade", is_flag=True, help="Drop what it holds, too. Table data stays.")
@json_option
@connected
def drop_namespace(ns: Namespace, namespace: str, skip_missing: bool, cascade: bool, as_json: bool) -> None:
    """Drop NAMESPACE. The data of tables is never deleted."""
    behavior = DropBehavior.CASCADE if cascade else DropBehavior.RESTRICT
    answer = ns.drop_namespace(namespace, mode="skip" if skip_missing else "fail", behavior=behavior)
    tell(answer, f"dropped namespace {ns.show(ns.parse(namespace))}", as_json=as_json)


@attrs.define
class Table:
    """A table of the tree, with its figures once they are known."""

    id: Levels
    rows: int | None = None
    bytes: int | None = None
    version: int | None = None
    indexes: int | None = None
    state: str | None = None


@attrs.define
class Branch:
    """A namespace of the tree, with what is in it."""

    id: Levels
    namespaces: list["Branch"]
    tables: list[Table]


def _branch(ns: Namespace, id: Levels) -> Branch:
    children, tables = contents(ns, ListTablesRequest(id=id))
    return Branch(id, [_branch(ns, (*id, child)) for child in children], [Table((*id, name)) for name in tables])


def _all_tables(branch: Branch) -> Iterator[Table]:
    yield from branch.tables
    for child in branch.namespaces:
        yield from _all_tables(child)


def _measure(ns: Namespace, root: Branch) -> None:
    """Open every table, some side by side, with progress where somebody watches."""
    tables = list(_all_tables(root))
    if not sys.stderr.isatty():
        side_by_side(lambda table: _figures(ns, table), tables)
        return
    one_at_a_time = Lock()
    with click.progressbar(length=len(tables), label="opening tables", file=sys.stderr) as bar:

        def measure(table: Table) -> None:
            _figures(ns, table)
            with one_at_a_time:
                bar.update(1)

        side_by_side(measure, tables)


def _figures(ns: Namespace, table: Table) -> None:
    try:
        described = ns.describe_table(table.id, check_declared=True)
        if described.is_only_declared:
            table.state = "declared, no data yet"
            return
        dataset = ns.dataset(table.id)
    except LanceNsError as error:
        table.state = f"unreadable: {type(error).__name__}"
        return
    table.rows = dataset.count_rows()
    table.bytes = sum(
        file.file_size_bytes or 0 for fragment in dataset.get_fragments() for file in fragment.data_files()
    )
    table.version = dataset.version
    table.indexes = len(dataset.list_indices())


def _draw(branch: Branch, indent: str) -> None:
    entries: list[Any] = [*branch.namespaces, *branch.tables]
    width = max((len(clean(table.id[-1])) for table in branch.tables), default=0)
    for entry in entries:
        last = entry is entries[-1]
        name = clean(entry.id[-1])
        stem = indent + ("└── " if last else "├── ")
        if isinstance(entry, Branch):
            click.echo(stem + click.style(name, bold=True))
            _draw(entry, indent + ("    " if last else "│   "))
        else:
            click.echo(f"{stem}{name.ljust(width)}   {_summary(entry)}".rstrip())


def _summary(table: Table) -> str:
    if table.state or table.rows is None:
        return table.state or ""
    indexes = f"{table.indexes} index{'' if table.indexes == 1 else 'es'}"
    return f"{count(table.rows)} rows   {size(table.bytes or 0)}   v{table.version}   {indexes}"
