"""Copy: tables, or all tables of a catalog, into another one, with their data or by entering the same data there."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import attrs

from lance_ns.config import holds_credentials
from lance_ns.errors import (
    InvalidInput,
    InvalidTableState,
    LanceNsError,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
    Unsupported,
)
from lance_ns.identifiers import Identifier, Levels, same_place
from lance_ns.lance.errors import pylance_errors
from lance_ns.namespace import Namespace
from lance_ns.paging import side_by_side
from lance_ns_spark import commits, job_ids, journal, moving, patterns
from lance_ns_spark.arrow_files import LanceFragments
from lance_ns_spark.commits import WriteMode
from lance_ns_spark.facts import indexes_of
from lance_ns_spark.fitting import fitting_schema
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions

if TYPE_CHECKING:
    import lance
    from pyspark.sql import SparkSession

How = Literal["data", "register"]
TABLES_AT_ONCE = 4
_OLDEST_FILES = "2.0"
"""The oldest version of data files that is still written."""


def copy(
    spark: "SparkSession",
    source: Namespace | Table | Sequence[Table],
    target: Namespace | Table,
    *,
    tables: Sequence[str] = ("**",),
    into: Identifier = None,
    tree: bool = False,
    how: How = "data",
    mode: WriteMode = "create",
    verify: bool = True,
    files: FileOptions | None = None,
    job: str | None = None,
    state: str | os.PathLike[str] | None = None,
    progress: Progress = silent,
) -> Result:
    """Copy tables into another catalog. A table that fails does not stop the others: the result says which, and why.

    Args:
        spark: the session.
        source: a table, several, or a connection.
        target: a table, for one table, or a connection. Namespaces that are missing are created.
        tables: which tables of a connection: identifiers, or patterns such as `ml$*`.
        into: the namespace that the copies go into, under their own names. Without one, copies have the identifiers
            of their sources.
        tree: whether copies keep the whole identifiers of their sources below `into`.
        how: `data` copies the live rows of the newest version; `register` enters the same data in the other catalog,
            and refuses tables that the target's connection cannot open.
        mode: what happens to a table that has data: `create` refuses, `append` adds to it, `overwrite` replaces it.
        verify: whether what was written is read again and compared: rows, and checksums by task.
        files: how data files are made.
        job: the job's id. A job that is run again with the same one does only what is missing.
        state: a directory for notes of what is done; without one a directory in the user's cache.
        progress: who is told how far it is.

    Raises:
        InvalidInput: the arguments do not go together, or two sources have the same target.
        TableNotFound: no table fits a pattern.
    """
    started = datetime.now(UTC)
    if how not in ("data", "register"):
        raise InvalidInput(f"{how!r} is no way to copy", hint="choose data or register")
    if how == "register" and mode == "append":
        raise InvalidInput("what is registered is not appended", hint="choose another mode, or how='data'")
    pairs = pairs_of(source, target, tables, into, tree)
    copying = _Copying(
        spark,
        how,
        mode,
        verify,
        files or FileOptions(),
        job_ids.checked(job) if job is not None else job_ids.fresh(),
        job is not None,
        state,
        progress,
    )
    counter = Counter(
        progress, "copy", f"{len(pairs)} {'table' if len(pairs) == 1 else 'tables'}", len(pairs), unit="tables"
    )

    def one(numbered: tuple[int, tuple[Table, Table]]) -> tuple[Input, Output]:
        number, (table, copied) = numbered
        done = copying.outcome(table, copied)
        counter.add(number, rows=done[1].rows, bytes=done[1].bytes)
        return done

    outcomes = side_by_side(one, list(enumerate(pairs)), TABLES_AT_ONCE)
    outputs = [output for _, output in outcomes]
    return Result(
        job=copying.job,
        kind="copy",
        started=started,
        ended=datetime.now(UTC),
        inputs=[found for found, _ in outcomes],
        outputs=outputs,
        summary={
            "tables": len(outputs),
            "failed": sum(output.error is not None for output in outputs),
            "done before": sum(output.again for output in outputs),
            "rows": sum(output.rows for output in outputs),
            "bytes": sum(output.bytes for output in outputs),
        },
    )


def pairs_of(
    source: Namespace | Table | Sequence[Table],
    target: Namespace | Table,
    patterns_: Sequence[str],
    into: Identifier,
    tree: bool,
) -> list[tuple[Table, Table]]:
    """Tables with what they are to become. The arguments are those of `copy`."""
    if isinstance(source, Namespace):
        chosen = [Table.within(source, id) for id in patterns.tables(source, patterns_)]
    else:
        chosen = [source] if isinstance(source, Table) else list(source)
    if isinstance(target, Table):
        if len(chosen) != 1:
            raise InvalidInput(f"{len(chosen)} tables cannot all become {target}", hint="give a connection as target")
        return [(chosen[0], target)]
    base = target.parse(into)
    pairs = [
        (table, Table.within(target, table.id if not base else (*base, *(table.id if tree else table.id[-1:]))))
        for table in chosen
    ]
    seen: dict[tuple[str, ...], Table] = {}
    for table, copied in pairs:
        if copied.id in seen:
            raise InvalidInput(
                f"{seen[copied.id]} and {table} would both become {copied}",
                hint="copy with `tree`, which keeps whole identifiers below `into`, or one by one",
            )
        seen[copied.id] = table
    return pairs


@attrs.frozen
class _Copying:
    """One copy job."""

    spark: "SparkSession"
    how: How
    mode: WriteMode
    verify: bool
    files: FileOptions
    job: str
    again: bool
    """Whether the job may be run again."""
    state: str | os.PathLike[str] | None
    progress: Progress

    def outcome(self, source: Table, target: Table) -> tuple[Input, Output]:
        """Copy one table; an error is its outcome."""
        found = Input(name=str(source))
        try:
            dataset = source.dataset()
            found = Input(
                name=str(source), location=str(dataset.uri), version=int(dataset.version), rows=dataset.count_rows()
            )
            _create_namespaces(target.ns, target.id[:-1])
            if self.how == "register":
                return found, self._registered(source, dataset, target)
            return self._copied(source, dataset, target, found)
        except LanceNsError as error:
            return found, Output(name=str(target), error=str(error))

    def _copied(self, table: Table, dataset: "lance.LanceDataset", target: Table, found: Input) -> tuple[Input, Output]:
        id = job_ids.job_id(pipeline=self.job, step="copy", parameters={"from": str(table), "to": str(target)})
        kept = journal.directory_of(id, self.state) if self.again else None
        before = moving.done_before(target, id, kept)
        if before is not None:
            return found, before
        source = LanceFragments.found(table, version=int(dataset.version))
        existing = target.existing() if self.mode == "append" else None
        schema = fitting_schema(source.schema, existing=None if existing is None else existing.schema)
        prepared = commits.prepare(target, schema, self.mode, properties=_properties_of(table))
        files = self.files
        if files.storage_version is None and existing is None and dataset.data_storage_version >= _OLDEST_FILES:
            files = attrs.evolve(files, storage_version=dataset.data_storage_version)
        output = moving.move(
            self.spark,
            "copy",
            source,
            prepared,
            job=id,
            kept=kept,
            files=files,
            verify=self.verify,
            properties=moving.lineage_of(source),
            progress=self.progress,
        )
        left = sorted(index.name for index in indexes_of(dataset))
        return found, attrs.evolve(output, details={**output.details, **({"indexes not copied": left} if left else {})})

    def _registered(self, source: Table, dataset: "lance.LanceDataset", target: Table) -> Output:
        """Enter a table's location in the other catalog, if its connection can open what is there."""
        location = source.place().location
        output = Output(name=str(target), location=location, version=int(dataset.version), rows=dataset.count_rows())
        try:
            there = target.place().location
        except TableNotFound:
            pass
        else:
            if same_place(there, location):
                return attrs.evolve(output, again=True)
            if self.mode == "create":
                raise TableAlreadyExists(f"{target} is there already, at {there}", identifier=target.id)
        _refuse_what_cannot_be_reached(target, location)
        target.ns.register_table(
            target.id,
            location,
            mode="overwrite" if self.mode == "overwrite" else "create",
            properties=_properties_of(source),
            schema=dataset.schema,
        )
        if self.verify:
            rows = target.dataset(int(dataset.version)).count_rows()
            if rows != output.rows:
                raise InvalidTableState(f"{target} has {rows} rows, and {source} has {output.rows}")
        return output


def _refuse_what_cannot_be_reached(target: Table, location: str) -> None:
    import lance

    try:
        with pylance_errors(f"opening {location}"):
            lance.dataset(location, storage_options=dict(target.ns.storage))
    except LanceNsError as error:
        raise Unsupported(
            f"the connection to {target.ns.backend} cannot open {location}: {error.message}",
            hint="give it storage options that reach the data, or copy the data",
            identifier=target.id,
        ) from error


def _create_namespaces(ns: Namespace, id: Levels) -> None:
    """Create a namespace where it is missing, and those that it is in.

    The innermost comes first: the outer levels of some catalogs, such as a warehouse, are no namespaces.
    """
    if not id or ns.namespace_exists(id):
        return
    try:
        ns.create_namespace(id, mode="exist_ok")
    except NamespaceNotFound:
        _create_namespaces(ns, id[:-1])
        ns.create_namespace(id, mode="exist_ok")


def _properties_of(table: Table) -> dict[str, str]:
    """A table's properties, without those that are credentials for its storage."""
    properties = table.ns.describe_table(table.id).properties or {}
    return {name: value for name, value in properties.items() if not holds_credentials({name: value})}
