"""`lance-ns pipeline`: run pipeline files, and single jobs."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click  # noqa: TID253  # this module is imported when the command is named

from lance_ns.cli.options import json_option, pairs_of
from lance_ns.cli.output import clean, show_json, show_pairs, show_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lance_ns_spark.pipeline.run import Job, Outcome

_HERE = "command line"
Command = Callable[..., None]


@click.group()
def pipeline() -> None:
    """Move and keep Lance tables with Spark: pipeline files, and single jobs."""


# --- options --------------------------------------------------------------------------------------------------------


def _options(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


spark_options = _options(
    click.option("--master", help="Where Spark runs; without it what Spark's settings say, else local[*]."),
    click.option("--conf", "confs", multiple=True, metavar="KEY=VALUE", help="A setting of Spark; may be repeated."),
)
run_options = _options(
    click.option("--dry-run", is_flag=True, help="Say what would be read and written; change nothing."),
    click.option("--explain", is_flag=True, help="Like --dry-run, and say how: by which path, in how many tasks."),
    click.option("--job-id", help="An id for this run: what was done under it is not done again."),
    click.option(
        "--result", "target", type=click.Path(dir_okay=False, path_type=Path), help="Write the outcome as JSON here."
    ),
    json_option,
    spark_options,
)
index_option = click.option(
    "--index", "indexes", multiple=True, metavar="COLUMN:TYPE", help="An index to have; may be repeated."
)


def catalog_options(prefix: str = "", what: str = "the catalog") -> Callable[[Command], Command]:
    """The options that name a catalog."""
    name = prefix.replace("-", "_")
    short = () if prefix else ("-b",)
    return _options(
        click.option(f"--{prefix}profile", f"{name}profile", help=f"A profile of the configuration: {what}."),
        click.option(f"--{prefix}backend", *short, f"{name}backend", help="A backend, where there is no profile."),
        click.option(
            f"--{prefix}property",
            *(() if prefix else ("-p",)),
            f"{name}pairs",
            multiple=True,
            metavar="NAME=VALUE",
            help="A property of the backend, none that is secret.",
        ),
    )


def _catalog(profile: str | None, backend: str | None, pairs: tuple[str, ...], option: str) -> dict[str, Any]:
    if profile is None and backend is None and pairs:
        backend = "dir"
    return {"profile": profile, "backend": backend, "properties": pairs_of(pairs, option)}


def _indexes(texts: Sequence[str]) -> list[dict[str, str]]:
    found = []
    for text in texts:
        column, colon, kind = text.rpartition(":")
        if not colon or not column or not kind:
            raise click.UsageError("--index takes COLUMN:TYPE")
        found.append({"column": column, "type": kind})
    return found


# --- files ----------------------------------------------------------------------------------------------------------


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--set", "-s", "given", multiple=True, metavar="NAME=VALUE", help="What {NAME} in the file stands for.")
@click.option("--only", multiple=True, metavar="STEP", help="A step's name, kind or number; may be repeated.")
@click.option("--fresh", is_flag=True, help="Do again what was done before.")
@run_options
def run(
    file: Path,
    given: tuple[str, ...],
    only: tuple[str, ...],
    fresh: bool,
    job_id: str | None,
    **how: Any,
) -> None:
    """Run the steps of FILE, one after the other; stop at the first that fails."""
    from lance_ns_spark.pipeline import file as files
    from lance_ns_spark.pipeline.run import jobs

    found = files.read(file, pairs_of(given, "--set"))
    _run(found.name, jobs(found, only=only, job=job_id, fresh=fresh), **how)


@pipeline.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--set", "-s", "given", multiple=True, metavar="NAME=VALUE", help="What {NAME} in the file stands for.")
def check(file: Path, given: tuple[str, ...]) -> None:
    """Check FILE without running anything."""
    from lance_ns_spark.pipeline import file as files
    from lance_ns_spark.pipeline.schema import kind_of, title_of

    found = files.read(file, pairs_of(given, "--set"))
    click.echo(f"{clean(found.name)}: {len(found.step)} step{'' if len(found.step) == 1 else 's'}")
    for number, step in found.numbered():
        kind, title = kind_of(step), title_of(step)
        click.echo(f"  {number} {kind}" + (f" ({clean(title)})" if title != kind else ""))


@pipeline.command()
def schema() -> None:
    """Print the JSON Schema of pipeline files, for editors."""
    from lance_ns_spark.pipeline.reference import json_schema

    show_json(json_schema())


# --- jobs -----------------------------------------------------------------------------------------------------------


@pipeline.command()
@click.argument("table")
@catalog_options()
@click.option("--format", default="parquet", show_default=True, help="The source's format.")
@click.option("--path", "paths", multiple=True, help="A file, directory or pattern; may be repeated.")
@click.option("--from", "source", metavar="TABLE", help="The table to read, for the formats lance and table.")
@catalog_options("from-", "the source's catalog")
@click.option("--option", "options", multiple=True, metavar="NAME=VALUE", help="An option of Spark's reader.")
@click.option("--columns", help="The columns to read, separated by commas.")
@click.option("--filter", help="A condition in SQL for the rows of a Lance table.")
@click.option("--schema", "columns_and_types", help="Columns and types of the source, as Spark's DDL.")
@click.option("--mode", type=click.Choice(["create", "append", "overwrite"]), default="append", show_default=True)
@click.option("--sql", help="A query that makes the rows out of the view `source`.")
@click.option("--vector", "vectors", multiple=True, metavar="COLUMN=DIMENSION", help="A column of vectors.")
@index_option
@click.option("--evolve", is_flag=True, help="Add columns that the table lacks.")
@click.option("--state", help="A directory for notes of what is done.")
@run_options
def ingest(
    table: str,
    profile: str | None,
    backend: str | None,
    pairs: tuple[str, ...],
    format: str,
    paths: tuple[str, ...],
    source: str | None,
    from_profile: str | None,
    from_backend: str | None,
    from_pairs: tuple[str, ...],
    options: tuple[str, ...],
    columns: str | None,
    filter: str | None,
    columns_and_types: str | None,
    mode: str,
    sql: str | None,
    vectors: tuple[str, ...],
    indexes: tuple[str, ...],
    evolve: bool,
    state: str | None,
    **how: Any,
) -> None:
    """Read anything that Spark reads into TABLE."""
    step = {
        "ingest": {
            "format": format,
            "path": list(paths),
            "table": source,
            "options": pairs_of(options, "--option"),
            "columns": columns and [column.strip() for column in columns.split(",")],
            "filter": filter,
            "schema": columns_and_types,
            **_catalog(from_profile, from_backend, from_pairs, "--from-property"),
        },
        "into": {"table": table, **_catalog(profile, backend, pairs, "--property")},
        "mode": mode,
        "sql": sql,
        "vectors": {column: _number(text, column) for column, text in pairs_of(vectors, "--vector").items()},
        "indexes": _indexes(indexes),
        "evolve": evolve,
        "state": state,
    }
    _run_one(step, **how)


@pipeline.command()
@click.argument("tables", nargs=-1, required=True)
@catalog_options(what="the source")
@catalog_options("to-", "the target")
@click.option(
    "--to-namespace", help="The namespace that the copies go into; without it, copies keep their identifiers."
)
@click.option("--tree", is_flag=True, help="Keep whole identifiers below --to-namespace.")
@click.option("--exclude", multiple=True, help="A pattern of tables to leave out.")
@click.option("--how", "way", type=click.Choice(["data", "register"]), default="data", show_default=True)
@click.option("--mode", type=click.Choice(["create", "append", "overwrite"]), default="create", show_default=True)
@click.option("--verify/--no-verify", default=True, show_default=True, help="Compare rows and checksums.")
@click.option("--state", help="A directory for notes of what is done.")
@run_options
def copy(
    tables: tuple[str, ...],
    profile: str | None,
    backend: str | None,
    pairs: tuple[str, ...],
    to_profile: str | None,
    to_backend: str | None,
    to_pairs: tuple[str, ...],
    to_namespace: str | None,
    tree: bool,
    exclude: tuple[str, ...],
    way: str,
    mode: str,
    verify: bool,
    state: str | None,
    **how: Any,
) -> None:
    """Copy TABLES, identifiers or patterns, into another catalog."""
    step = {
        "copy": _tables(tables, exclude, profile, backend, pairs),
        "to": {
            "namespace": to_namespace,
            "tree": tree,
            **_catalog(to_profile, to_backend, to_pairs, "--to-property"),
        },
        "how": way,
        "mode": mode,
        "verify": verify,
        "state": state,
    }
    _run_one(step, **how)


@pipeline.command()
@click.argument("tables", nargs=-1, required=True)
@catalog_options()
@click.option("--exclude", multiple=True, help="A pattern of tables to leave out.")
@click.option("--compact/--no-compact", default=True, show_default=True, help="Join small fragments.")
@click.option("--target-rows", type=int, help="How many rows a fragment has after compaction.")
@index_option
@click.option("--optimize-indexes/--no-optimize-indexes", default=True, show_default=True, help="Add rows to indexes.")
@click.option("--keep-versions", metavar="TIME", help="Remove versions that are older, such as 30d.")
@run_options
def maintain(
    tables: tuple[str, ...],
    profile: str | None,
    backend: str | None,
    pairs: tuple[str, ...],
    exclude: tuple[str, ...],
    compact: bool,
    target_rows: int | None,
    indexes: tuple[str, ...],
    optimize_indexes: bool,
    keep_versions: str | None,
    **how: Any,
) -> None:
    """Compact TABLES, build and refresh their indexes, clean up old versions."""
    step = {
        "maintain": _tables(tables, exclude, profile, backend, pairs),
        "compact": compact,
        "target_rows": target_rows,
        "indexes": _indexes(indexes),
        "optimize_indexes": optimize_indexes,
        "keep_versions": keep_versions,
    }
    _run_one(step, **how)


@pipeline.command()
@click.option("--profile", "profiles", multiple=True, help="A catalog; may be repeated.")
@click.option("--backend", "-b", help="A backend, where there is no profile.")
@click.option("--property", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help="A property of the backend.")
@click.option("--report", type=click.Path(dir_okay=False), help="Write a page with charts here.")
@click.option("--parquet", type=click.Path(dir_okay=False), help="Write a row for each table to this Parquet file.")
@click.option("--into", metavar="TABLE", help="Append a row for each table to this table.")
@catalog_options("into-", "of the table that --into names")
@run_options
def inventory(
    profiles: tuple[str, ...],
    backend: str | None,
    pairs: tuple[str, ...],
    report: str | None,
    parquet: str | None,
    into: str | None,
    into_profile: str | None,
    into_backend: str | None,
    into_pairs: tuple[str, ...],
    **how: Any,
) -> None:
    """Look at every table of catalogs, side by side."""
    catalogs: list[Any] = [{"profile": profile} for profile in profiles]
    if backend is not None or pairs:
        catalogs.append(_catalog(None, backend, pairs, "--property"))
    if not catalogs:
        raise click.UsageError("name a catalog by --profile, or by --backend with -p")
    table = {"table": into, **_catalog(into_profile, into_backend, into_pairs, "--into-property")} if into else None
    _run_one({"inventory": catalogs, "report": report, "parquet": parquet, "into": table}, **how)


@pipeline.command()
@click.argument("tables", nargs=-1, required=True)
@catalog_options()
@click.option("--exclude", multiple=True, help="A pattern of tables to leave out.")
@run_options
def verify(
    tables: tuple[str, ...],
    profile: str | None,
    backend: str | None,
    pairs: tuple[str, ...],
    exclude: tuple[str, ...],
    **how: Any,
) -> None:
    """Read every fragment of TABLES, and find what is corrupt or missing."""
    _run_one({"verify": _tables(tables, exclude, profile, backend, pairs)}, **how)


def _tables(
    tables: tuple[str, ...],
    exclude: tuple[str, ...],
    profile: str | None,
    backend: str | None,
    pairs: tuple[str, ...],
) -> dict[str, Any]:
    return {"tables": list(tables), "exclude": list(exclude), **_catalog(profile, backend, pairs, "--property")}


def _number(text: str, column: str) -> int:
    if not text.isdecimal():
        raise click.UsageError(f"--vector {column}=… takes a whole number")
    return int(text)


# --- running --------------------------------------------------------------------------------------------------------


def _run_one(step: Mapping[str, Any], *, job_id: str | None, **how: Any) -> None:
    from lance_ns_spark import job_ids
    from lance_ns_spark.pipeline import file as files
    from lance_ns_spark.pipeline.run import Job

    found = files.structured({"name": _HERE, "step": [_given(step)]}, _HERE)
    id = job_ids.fresh() if job_id is None else job_ids.checked(job_id)
    _run(_HERE, [Job(number=1, step=found.step[0], id=id)], **how)


def _given(data: Any) -> Any:
    """What was given: neither None nor nothing."""
    if isinstance(data, Mapping):
        return {name: _given(value) for name, value in data.items() if value is not None and value not in ((), [], {})}
    return [_given(each) for each in data] if isinstance(data, list) else data


def _run(
    name: str,
    wanted: Sequence["Job"],
    *,
    dry_run: bool,
    explain: bool,
    target: Path | None,
    as_json: bool,
    master: str | None,
    confs: tuple[str, ...],
) -> None:
    from lance_ns_spark.display import Display
    from lance_ns_spark.pipeline.run import as_json as told
    from lance_ns_spark.pipeline.run import run

    spark = _Spark(name, master, pairs_of(confs, "--conf"))
    try:
        with Display() as display:
            outcomes = list(run(wanted, spark, dry_run=dry_run or explain, explain=explain, progress=display))
    finally:
        spark.stop()
    document = told(name, outcomes)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(document, encoding="utf-8")
    if as_json:
        click.echo(document, nl=False)
    else:
        _show(outcomes, planned=dry_run or explain, explain=explain)
    _leave(outcomes, len(wanted), spark)


def _show(outcomes: Sequence["Outcome"], *, planned: bool, explain: bool) -> None:
    from lance_ns_spark.display import HEADINGS, PLAN_HEADINGS, plan_of, summary_of

    lines = plan_of if planned else summary_of
    results = [(outcome.title, outcome.result) for outcome in outcomes if outcome.result is not None]
    if results:
        show_table(
            PLAN_HEADINGS if planned else HEADINGS, (line for title, result in results for line in lines(title, result))
        )
    for title, result in results if explain else ():
        click.echo()
        click.echo(click.style(clean(title), bold=True))
        show_pairs((f"  {name}", str(value)) for name, value in result.summary.items())


def _leave(outcomes: Sequence["Outcome"], wanted: int, spark: "_Spark") -> None:
    """End with an error and its status if the last step failed."""
    failed = bool(outcomes) and outcomes[-1].state == "failed"
    log = spark.log(keep=failed)
    if not failed:
        return
    last = outcomes[-1]
    left = wanted - len(outcomes)
    note = f"step {last.number} ({last.title}) failed" + (f"; {left} not run" if left else "")
    note += f"; Spark's log: {log}" if log else ""
    if last.error is not None:
        last.error.add_note(note)
        raise last.error
    click.echo(f"lance-ns: {note}", err=True)
    for output in last.result.failed if last.result is not None else ():
        click.echo(f"  {clean(output.name)}: {clean(str(output.error))}", err=True)
    sys.exit(1)


class _Spark:
    """Starts Spark when it is needed, and keeps its own logging out of sight."""

    def __init__(self, name: str, master: str | None, settings: Mapping[str, str]) -> None:
        self._name = name
        self._master = master
        self._settings = {key.replace(".", "__"): value for key, value in settings.items()}
        self._session: SparkSession | None = None
        self._log: Path | None = None

    def __call__(self) -> "SparkSession":
        """The session."""
        if self._session is None:
            from lance_ns_spark.session import session

            with self._quiet():
                self._session = session(self._name, master=self._master, **self._settings)
        return self._session

    def stop(self) -> None:
        """Stop it, if it was started."""
        if self._session is not None:
            self._session.stop()

    def log(self, *, keep: bool) -> str | None:
        """Where its log is, if it is kept and says anything."""
        if self._log is None:
            return None
        if keep and self._log.stat().st_size:
            return str(self._log)
        self._log.unlink()
        return None

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Let Java write its errors into a file, unless `--debug` wants to see them."""
        if "--debug" in sys.argv:
            yield
            return
        import tempfile

        number, name = tempfile.mkstemp(prefix="lance-ns-spark-", suffix=".log")
        self._log = Path(name)
        sys.stderr.flush()
        seen = os.dup(2)
        os.dup2(number, 2)  # what Java inherits as its standard error, and keeps
        try:
            yield
        finally:
            os.dup2(seen, 2)
            os.close(seen)
            os.close(number)
