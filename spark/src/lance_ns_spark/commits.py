"""Commits: once, on the driver, and not again when the job is run again.

Tasks write fragments that nobody sees. One transaction makes them a version of the table, and carries the job's id in
its properties. Before it is committed the id is looked for in the versions that are there: a driver that died after
its commit is run again without doubling anything.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal

import attrs

from lance_ns.errors import (
    ConcurrentModification,
    InvalidInput,
    LanceNsError,
    TableAlreadyExists,
    TableNotFound,
    TableVersionNotFound,
)
from lance_ns.lance.errors import pylance_errors
from lance_ns_spark.tables import Place, Table, place_of

if TYPE_CHECKING:
    import lance
    import pyarrow as pa

JOB = "lance_ns.job"
"""The transaction property that holds a job's id."""
RETRY_WINDOW = timedelta(days=7)
"""How long after its commit a job may be run again; maintenance keeps all versions that are younger."""
_BETWEEN_LOOKS_AT_THE_TIME = 16

WriteMode = Literal["create", "append", "overwrite"]


@attrs.frozen
class Written:
    """What a task wrote: fragments as JSON, and the counts that people want to see."""

    fragments: tuple[str, ...]
    rows: int
    bytes: int

    @property
    def files(self) -> Iterator[str]:
        """The names of the data files, in the table's `data` directory."""
        from lance.fragment import FragmentMetadata

        for fragment in self.fragments:
            yield from (file.path for file in FragmentMetadata.from_json(fragment).files)


@attrs.frozen
class Target:
    """A table that a job writes, as it was found when the job began."""

    table: Table
    mode: WriteMode
    place: Place
    read_version: int
    """The version that was there, 0 where there was no data."""
    schema: "pa.Schema"
    declared_here: bool
    """Whether this job entered the table in the catalog, and so takes it out again when it fails."""


@attrs.frozen
class Committed:
    """The version that a job made, now or when it was run before."""

    version: int
    again: bool
    """Whether an earlier run of the job had made it."""


def prepare(
    table: Table, schema: "pa.Schema", mode: WriteMode, *, properties: Mapping[str, str] | None = None
) -> Target:
    """Find a table, or declare it: the catalog decides which of several jobs creates it.

    `append` creates a table that is missing, as Spark does. `properties` are those of a table that is declared.

    Raises:
        TableAlreadyExists: mode `create`, and the table has data.
        InvalidInput: there is no such mode.
    """
    if mode not in ("create", "append", "overwrite"):
        raise InvalidInput(f"{mode!r} is not a write mode", hint="choose one of create, append, overwrite")
    declared_here = False
    try:
        described: Any = table.ns.describe_table(table.id)
    except TableNotFound:
        try:
            described = table.ns.declare_table(table.id, schema=schema, properties=properties)
            declared_here = True
        except TableAlreadyExists:
            if mode == "create":
                raise
            described = table.ns.describe_table(table.id)  # another job was faster
    existing = None if declared_here else table.existing()
    if existing is not None and mode == "create":
        raise TableAlreadyExists(
            f"table {table} already has data", hint="mode 'append' or 'overwrite' adds a version", identifier=table.id
        )
    return Target(
        table,
        mode,
        place_of(table.ns, described),
        existing.version if existing is not None else 0,
        existing.schema if existing is not None and mode == "append" else schema,
        declared_here,
    )


def commit(
    target: Target, written: Sequence[Written], job: str, *, properties: Mapping[str, str] | None = None
) -> Committed:
    """Make one version of all that the tasks wrote, unless this job already has.

    `properties` go into the transaction, beside the job's id.

    Raises:
        ConcurrentModification: the table changed in a way that what was written does not fit any more.
    """
    earlier = find(target.table, job)
    if earlier is not None:
        _discard_unused(target, written, earlier)
        return Committed(earlier, again=True)
    try:
        with pylance_errors(f"committing to {target.table}"):
            version = _committed(target, [fragment for each in written for fragment in each.fragments], job, properties)
    except LanceNsError:
        landed = None
        with suppress(LanceNsError):  # the first error is the one to tell
            landed = find(target.table, job)
        if landed is None:
            raise
        # The storage took it and only its answer was lost, or the job runs twice at once and the other was faster.
        return Committed(landed, again=_discard_unused(target, written, landed))
    first = find(target.table, job, since=target.read_version)
    if first is not None and first < version:  # the same job ran twice at once, and the other run was faster
        _take_back(target, written, version, first)
        return Committed(first, again=True)
    return Committed(version, again=False)


def find(table: Table, job: str, *, since: int | None = None) -> int | None:
    """The first version that a job made, or None. Versions older than the retry window are not looked at."""
    dataset = table.existing()
    if dataset is None:
        return None
    found = None
    for version, properties in _history(dataset, since):
        if properties.get(JOB) == job:
            found = version
    return found


def give_up(target: Target, written: Sequence[Written]) -> None:
    """After a job that failed: delete the files that are known, and deregister a table that it declared in vain.

    Nothing is deleted that a version has, nor while it cannot be known what versions have.
    """
    with suppress(LanceNsError):  # the first error is the one to tell
        existing = target.table.existing()
        used = set() if existing is None else _files_of(target.table, int(existing.version))
        discard(target.place, [each for each in written if used.isdisjoint(each.files)])
        if target.declared_here and existing is None:
            target.table.ns.deregister_table(target.table.id)


def discard(place: Place, written: Sequence[Written]) -> None:
    """Delete data files that no version has. What cannot be deleted now is left for the clean-up by age."""
    from lance.file import LanceFileSession

    with suppress(Exception):
        session = LanceFileSession(place.location, storage_options=dict(place.storage))
        for file in (file for each in written for file in each.files):
            with suppress(Exception):
                session.delete_file(f"data/{file}")


def _committed(target: Target, fragments: list[str], job: str, properties: Mapping[str, str] | None) -> int:
    import lance
    from lance.fragment import FragmentMetadata

    made = [FragmentMetadata.from_json(fragment) for fragment in fragments]
    appends = target.mode == "append" and target.read_version > 0
    operation = lance.LanceOperation.Append(made) if appends else lance.LanceOperation.Overwrite(target.schema, made)
    transaction = lance.Transaction(
        target.read_version, operation, transaction_properties={**(properties or {}), JOB: job}
    )
    try:
        # An append joins whatever others appended meanwhile. The other two must find the table as the job found it.
        dataset = lance.LanceDataset.commit(
            target.place.location,
            transaction,
            max_retries=20 if appends else 0,
            storage_options=dict(target.place.storage),
        )
    except Exception as error:
        if appends or _is_still(target):
            raise
        raise ConcurrentModification(
            f"{target.table} changed while the job ran", hint="run the job again", identifier=target.table.id
        ) from error
    return int(dataset.version)


def _is_still(target: Target) -> bool:
    dataset = target.table.existing()
    return (dataset.version if dataset is not None else 0) == target.read_version


def _history(dataset: "lance.LanceDataset", since: int | None) -> Iterator[tuple[int, dict[str, str]]]:
    """The properties of the transactions, newest first, as far back as they are kept and matter."""
    oldest = datetime.now(UTC) - RETRY_WINDOW
    newest = int(dataset.version)
    for version in range(newest, since or 0, -1):
        transaction = _transaction(dataset, version)
        if transaction is None:
            return  # cleaned up, and so are those before it
        yield version, transaction.transaction_properties or {}
        looked_at = newest - version + 1
        if since is None and looked_at % _BETWEEN_LOOKS_AT_THE_TIME == 0 and _time_of(dataset, version) < oldest:
            return


def _transaction(dataset: "lance.LanceDataset", version: int) -> Any:
    import lance

    try:
        with pylance_errors("reading a transaction"):
            try:
                return dataset.read_transaction(version)
            except TypeError as error:
                # pylance cannot show the compaction of a table with indexes, which is no job's commit.
                if "RewrittenIndex" not in str(error):
                    raise
                return lance.Transaction(0, lance.LanceOperation.BaseOperation())
    except TableVersionNotFound:
        return None


def _time_of(dataset: "lance.LanceDataset", version: int) -> datetime:
    with pylance_errors("reading a version"):
        moment: datetime = dataset.checkout_version(version).get_version()["timestamp"]
    return moment.astimezone(UTC)


def _files_of(table: Table, version: int) -> set[str]:
    with pylance_errors(f"looking at version {version} of {table}"):
        fragments = table.dataset(version).get_fragments()
        return {file.path for fragment in fragments for file in fragment.data_files()}


def _discard_unused(target: Target, written: Sequence[Written], version: int) -> bool:
    """Delete what was written and is not in a version, which another run may have made of the very same files."""
    used = _files_of(target.table, version)
    unused = [each for each in written if used.isdisjoint(each.files)]
    discard(target.place, unused)
    return bool(unused)


def _take_back(target: Target, written: Sequence[Written], version: int, first: int) -> None:
    """Take what this run appended out again: the same job's other run has the rows in an earlier version."""
    import lance

    ours = {file for each in written for file in each.files}
    there = {fragment.fragment_id for fragment in target.table.dataset(first).get_fragments()}
    dataset = target.table.dataset(version)
    twice = [
        fragment.fragment_id
        for fragment in dataset.get_fragments()
        if fragment.fragment_id not in there and any(file.path in ours for file in fragment.data_files())
    ]
    operation = lance.LanceOperation.Delete([], twice, "rows of a job that was committed twice")
    with pylance_errors(f"taking a second commit of a job out of {target.table}"):
        lance.LanceDataset.commit(
            target.place.location, operation, read_version=version, storage_options=dict(target.place.storage)
        )
