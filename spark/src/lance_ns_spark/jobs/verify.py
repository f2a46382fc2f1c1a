"""Verification: every fragment is read, every file of the newest version is looked for, every index is opened.

Lance's files have no checksums, so a byte that changed inside of a value reads as another value. Checksums that an
earlier verification noted find that too: data files never change once they are written.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns_spark import job_ids
from lance_ns_spark.facts import error_text, indexes_of, missing_files
from lance_ns_spark.isolating import run_apart
from lance_ns_spark.native import native_errors
from lance_ns_spark.progress import Counter, Progress, silent
from lance_ns_spark.results import Input, Output, Result
from lance_ns_spark.tables import Table, dataset_at
from lance_ns_spark.tasks import Done
from lance_ns_spark.whole_files import replacing

if TYPE_CHECKING:
    import lance
    from pyspark.sql import SparkSession

_TABLES_AT_ONCE = 16
_PIECE = 8 << 20
_RESTORE = "restore the file from a backup, or go back to a version that does not need it"
_HINTS = {
    "data": f"{_RESTORE}; `dataset.delete` of the fragment's rows gives them up",
    "deletion": f"{_RESTORE}; without it deleted rows would come back",
    "index": "drop the index and build it again: `maintain` with this index in its policy",
}


@attrs.frozen(kw_only=True)
class Problem:
    """Something that is wrong with a table."""

    kind: str
    """data, deletion, index or table."""
    what: str
    fragment: int | None = None
    file: str | None = None
    index: str | None = None
    todo: str = ""

    def __str__(self) -> str:
        where = [
            *([f"fragment {self.fragment}"] if self.fragment is not None else []),
            *([f"index {self.index}"] if self.index is not None else []),
            *([self.file] if self.file is not None else []),
        ]
        return f"{', '.join([*where, ''])}{self.what}" + (f": {self.todo}" if self.todo else "")


def verify(
    spark: "SparkSession",
    tables: Sequence[Table],
    *,
    checksums: str | None = None,
    job: str | None = None,
    progress: Progress = silent,
) -> Result:
    """Read all that the newest versions of tables hold.

    The output of a table in which something is wrong has an error, and `problems` in its details: each names the
    fragment or index, the file, and what to do.

    Args:
        spark: the session.
        tables: the tables.
        checksums: a JSON file that holds the checksums of data files; those that it knows are compared, and those that
            are new and whole are noted in it.
        job: the job's id.
        progress: told after each group of fragments.
    """
    from concurrent.futures import ThreadPoolExecutor

    started = datetime.now(UTC)
    job = job_ids.fresh() if job is None else job_ids.checked(job)
    known = _noted(checksums)
    with ThreadPoolExecutor(_TABLES_AT_ONCE) as pool:
        checks = list(pool.map(_begin, tables))
    parts = [
        _Part(number, check.table, check.version, tuple(group), index, checksums is not None)
        for number, check in enumerate(checks)
        for group, index in check.parts(spark.sparkContext.defaultParallelism)
    ]
    counter = Counter(progress, "verify", f"{len(tables)} tables", len(parts), "parts")
    outcomes = run_apart(
        spark,
        f"verify {len(tables)} tables",
        _read,
        parts,
        arrived=lambda number, seen: counter.add(number, rows=seen.rows, bytes=seen.bytes),
    )
    for part, outcome in zip(parts, outcomes, strict=True):
        checks[part.number].add(part, outcome)
    outputs = [check.output(known) for check in checks]
    if checksums is not None:
        _note(checksums, known, checks)
    return Result(
        job=job,
        kind="verify",
        started=started,
        ended=datetime.now(UTC),
        inputs=[
            Input(name=each.name, location=each.location, version=each.read_version, rows=each.rows)
            for each in outputs
            if each.read_version is not None
        ],
        outputs=outputs,
        summary={
            "tables": len(outputs),
            "failed": sum(each.error is not None for each in outputs),
            "fragments": sum(each.fragments for each in outputs),
            "rows": sum(each.rows for each in outputs),
            "bytes": sum(each.bytes for each in outputs),
            "problems": sum(len(each.details["problems"]) for each in outputs),
        },
    )


@attrs.frozen
class _Part:
    """What one task reads: fragments, or an index."""

    number: int
    table: Table
    version: int
    fragments: tuple[int, ...]
    index: str | None
    checksums: bool


@attrs.frozen(kw_only=True)
class _Seen:
    """What a task found."""

    rows: int = 0
    bytes: int = 0
    problems: Sequence[Problem] = ()
    checksums: Mapping[str, str] = attrs.field(factory=dict)


@attrs.define
class _Check:
    """One table, from its metadata to all that the tasks found in it."""

    table: Table
    location: str | None = None
    version: int = 0
    fragments: Mapping[int, int] = attrs.field(factory=dict)
    indexes: Sequence[str] = ()
    problems: list[Problem] = attrs.field(factory=list)
    named: frozenset[str | None] = frozenset()
    """Files of which it is known without reading that they are wrong."""
    rows: int = 0
    bytes: int = 0
    checksums: dict[str, str] = attrs.field(factory=dict)

    def parts(self, most: int) -> list[tuple[list[int], str | None]]:
        """The fragments in groups of similar size, at least a few for each core; and each index."""
        ids = sorted(self.fragments)
        size = max(1, len(ids) // (4 * most))
        groups: list[tuple[list[int], str | None]] = [
            (ids[start : start + size], None) for start in range(0, len(ids), size)
        ]
        return groups + [([], name) for name in self.indexes]

    def add(self, part: _Part, outcome: Done[_Seen]) -> None:
        """What a task found."""
        if outcome.error is not None:
            self.problems.append(Problem(kind="table", index=part.index, what=error_text(part.table, outcome.error)))
            return
        seen = outcome.result or _Seen()
        self.rows += seen.rows
        self.bytes += seen.bytes
        self.problems += [each for each in seen.problems if each.file is None or each.file not in self.named]
        self.checksums |= seen.checksums

    def output(self, known: Mapping[str, Mapping[str, str]]) -> Output:
        """The outcome. Data files whose bytes are not those that were noted are a problem."""
        noted = known.get(self.location or "", {})
        for file, checksum in self.checksums.items():
            if noted.get(file, checksum) != checksum:
                changed = "its bytes are not those of the last verification"
                self.problems.append(Problem(kind="data", file=file, what=changed, todo=_HINTS["data"]))
        first = f"{self.problems[0]}" if self.problems else None
        others = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return Output(
            name=self.table.name,
            location=self.location,
            read_version=self.version or None,
            rows=self.rows,
            bytes=self.bytes,
            fragments=len(self.fragments),
            error=f"{self.table.name}: {first}{others}" if first else None,
            details={"problems": [attrs.asdict(each) for each in self.problems], "indexes": list(self.indexes)},
        )


def _begin(table: Table) -> _Check:
    """On the driver: what the newest version says that there is, and which files are not there."""
    check = _Check(table)
    try:
        check.location = table.place().location
        dataset = table.dataset()
        check.version = int(dataset.version)
        with native_errors(f"reading the metadata of {table}"):
            check.fragments = {each.fragment_id: each.metadata.num_rows for each in dataset.get_fragments()}
            lost, sizes = missing_files(dataset)
            check.problems += [*_lost(dataset, lost), *_resized(dataset, sizes)]
            check.named = frozenset(each.file for each in check.problems)
            check.indexes = [each.name for each in indexes_of(dataset)]
    except LanceNsError as error:
        check.problems.append(Problem(kind="table", what=error_text(table, error)))
    return check


def _lost(dataset: "lance.LanceDataset", lost: Sequence[str]) -> list[Problem]:
    owners = {f"data/{file.path}": each.fragment_id for each in dataset.get_fragments() for file in each.data_files()}
    owners |= {path: each.fragment_id for each in dataset.get_fragments() if (path := each.deletion_file()) is not None}
    segments = {segment.uuid: each.name for each in dataset.describe_indices() for segment in each.segments}
    return [
        Problem(
            kind=kind,
            fragment=owners.get(path),
            index=segments.get(path.split("/")[1]) if kind == "index" else None,
            file=path,
            what="the file is missing",
            todo=_HINTS[kind],
        )
        for path in lost
        for kind in ["index" if path.startswith("_indices/") else "data" if path.startswith("data/") else "deletion"]
    ]


def _resized(dataset: "lance.LanceDataset", sizes: Mapping[str, int]) -> list[Problem]:
    return [
        Problem(
            kind="data",
            fragment=each.fragment_id,
            file=path,
            what=f"the file has {sizes[path]} bytes, and the table's metadata say {file.file_size_bytes}",
            todo=_HINTS["data"],
        )
        for each in dataset.get_fragments()
        for file in each.data_files()
        for path in [f"data/{file.path}"]
        if path in sizes and file.file_size_bytes not in (None, sizes[path])
    ]


# --- in the tasks -------------------------------------------------------------------------------------------------


def _read(part: _Part) -> _Seen:
    dataset = dataset_at(part.table, part.version)
    if part.index is not None:
        return _Seen(problems=_opened(dataset, part.index))
    rows, size = 0, 0
    problems: list[Problem] = []
    checksums: dict[str, str] = {}
    for id in part.fragments:
        fragment = dataset.get_fragment(id)
        counted, found = _fragment(dataset, fragment)
        rows += counted
        size += sum(file.file_size_bytes or 0 for file in fragment.data_files())
        problems += found
        if part.checksums and not found:
            checksums |= _checksums(part.table, fragment)
    return _Seen(rows=rows, bytes=size, problems=problems, checksums=checksums)


def _opened(dataset: "lance.LanceDataset", index: str) -> list[Problem]:
    try:
        with native_errors("it cannot be opened"):
            dataset.prewarm_index(index)
    except LanceNsError as error:
        return [Problem(kind="index", index=index, what=error.message, todo=_HINTS["index"])]
    return []


def _fragment(dataset: "lance.LanceDataset", fragment: Any) -> tuple[int, list[Problem]]:
    """The rows that can be read, and what cannot: each data file by itself, so that the right one is named."""
    names = {each.id(): each.name() for each in dataset.lance_schema.fields()}
    # Row ids alone need no data file, only the file that says which rows are deleted.
    files: list[tuple[str, str, list[str]]] = []
    if (deletions := fragment.deletion_file()) is not None:
        files.append(("deletion", deletions, []))
    files += [
        ("data", f"data/{file.path}", [names[field] for field in file.fields if field in names])
        for file in fragment.data_files()
    ]
    problems: list[Problem] = []
    rows = []
    for kind, path, columns in files:
        place = {"kind": kind, "fragment": fragment.fragment_id, "file": path, "todo": _HINTS[kind]}
        try:
            with native_errors("it cannot be read"):
                rows.append(_rows(fragment, columns))
        except LanceNsError as error:
            problems.append(Problem(what=error.message, **place))
            if kind == "deletion":
                break
        else:
            if rows[-1] != fragment.metadata.num_rows:
                what = f"{rows[-1]} rows are left, and the table's metadata say {fragment.metadata.num_rows}"
                problems.append(Problem(what=what, **place))
    return min(rows, default=0), problems


def _rows(fragment: Any, columns: list[str]) -> int:
    count = 0
    for batch in fragment.scanner(columns=columns, with_row_id=not columns).to_reader():
        batch.validate(full=True)
        count += batch.num_rows
    return count


def _checksums(table: Table, fragment: Any) -> dict[str, str]:
    import hashlib

    from lance.file import LanceFileSession

    place = table.place()
    checksums = {}
    with native_errors(f"reading {table}"):
        session = LanceFileSession(place.location, storage_options=dict(place.storage))
        for file in fragment.data_files():
            path, size = f"data/{file.path}", file.file_size_bytes or 0
            digest = hashlib.blake2b(digest_size=16)
            for start in range(0, size, _PIECE):
                digest.update(session.read_range(path, start, min(_PIECE, size - start)))
            checksums[path] = digest.hexdigest()
    return checksums


# --- checksums that are kept --------------------------------------------------------------------------------------


def _noted(path: str | None) -> dict[str, dict[str, str]]:
    """Checksums by location and file."""
    if path is None or not Path(path).exists():
        return {}
    try:
        known: dict[str, dict[str, str]] = json.loads(Path(path).read_text(encoding="utf-8"))["checksums"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} does not hold checksums", hint="name another file, or delete this one") from error
    return known


def _note(path: str, known: dict[str, dict[str, str]], checks: Sequence[_Check]) -> None:
    for check in checks:
        if check.location is not None:
            kept = known.setdefault(check.location, {})
            known[check.location] = {**check.checksums, **kept}  # what was noted first stays
    with replacing(path) as file:
        file.write_text(json.dumps({"format": 1, "checksums": known}, indent=1), encoding="utf-8")
