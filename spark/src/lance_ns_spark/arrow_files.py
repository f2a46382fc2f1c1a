"""Sources that tasks read as Arrow: Parquet files and Lance tables, divided into splits of similar size.

A split is plain data: it travels to a task, and stands in a job's journal. Splits follow from the source and from how
many tasks may run at once, and from nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import attrs

from lance_ns.config import StorageOptions
from lance_ns.errors import InvalidInput, TableColumnNotFound, Unsupported
from lance_ns.lance.errors import pylance_errors, translated
from lance_ns.paging import side_by_side
from lance_ns_spark.tables import Table, dataset_at

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import FileInfo, FileSystem

LARGEST_SPLIT = 256 * 2**20
SMALLEST_SPLIT = 8 * 2**20
_BATCH_ROWS = 64 * 1024
_BATCH_BYTES = 16 * 2**20
_FOOTERS_AT_ONCE = 16
_BLOB_V2 = b"lance.blob.v2"

T = TypeVar("T")

Part = tuple[str | int, tuple[int, ...]]
"""A file and its row groups, or a fragment's id and nothing."""


@attrs.frozen
class Split:
    """What one task reads."""

    parts: tuple[Part, ...]
    rows: int
    bytes: int


class ArrowSource(Protocol):
    """A source that has been looked at, and that tasks can read. It pickles."""

    @property
    def schema(self) -> "pa.Schema":
        """The schema of what is read."""

    @property
    def fingerprint(self) -> str:
        """Differs when what the source holds does."""

    @property
    def rows(self) -> int:
        """How many rows it has, before a filter."""

    @property
    def is_filtered(self) -> bool:
        """Whether only some of the rows are read."""

    def splits(self, tasks: int) -> list[Split]:
        """Divide it, for a number of tasks that may run at once."""

    def read(self, split: Split) -> "Iterator[pa.RecordBatch]":
        """The rows of a split, in a task; the batches may lack columns that the schema has."""


# --- Parquet --------------------------------------------------------------------------------------------------------


@attrs.frozen
class _File:
    path: str
    size: int
    changed: int
    row_groups: tuple[tuple[int, int], ...]
    """Rows and bytes of each."""


@attrs.frozen
class ParquetFiles:
    """Parquet files, as they were when the job began."""

    files: tuple[_File, ...]
    schema: "pa.Schema"
    columns: tuple[str, ...] | None
    filesystem: "FileSystem" = attrs.field(repr=False)
    is_partitioned: bool
    """Whether directories hold values of columns, as in `year=2026/`: only Spark reads such."""

    @classmethod
    def found(
        cls, paths: Sequence[str], *, columns: Sequence[str] | None = None, storage: Mapping[str, str] | None = None
    ) -> "ParquetFiles":
        """Look at files, directories and patterns, and read all footers side by side.

        Raises:
            InvalidInput: there are no files, or one is not Parquet, or their schemas do not go together.
            TableColumnNotFound: no file has a column that is asked for.
        """
        import pyarrow as pa

        filesystem, first = located(paths[0], storage or {})
        inner = [first]
        for path in paths[1:]:
            another, within = located(path, storage or {})
            if not another.equals(filesystem):
                raise InvalidInput(f"{paths[0]} and {path} are on different storage", hint="ingest them one by one")
            inner.append(within)
        files: dict[str, FileInfo] = {}
        is_partitioned = False
        for path in inner:
            listed = {info.path: info for info in _listed(filesystem, path)}
            is_partitioned |= any(_is_partition(name, path) for name in listed)
            files |= listed
        opened = side_by_side(lambda path: _footer(filesystem, files[path]), sorted(files), _FOOTERS_AT_ONCE)
        try:
            schema = pa.unify_schemas([_plain(schema) for _, schema in opened], promote_options="permissive")
        except pa.ArrowException as error:
            raise InvalidInput(
                f"the schemas of the files in {', '.join(paths)} do not go together: {error}",
                hint="ingest them one by one, or with `sql`, which lets Spark read them",
            ) from error
        if columns is not None and not is_partitioned:
            schema = _chosen(schema, columns)
        chosen = None if columns is None else tuple(columns)
        return cls(tuple(file for file, _ in opened), schema, chosen, filesystem, is_partitioned)

    @property
    def fingerprint(self) -> str:
        """Differs when a file is added, removed or changed."""
        return _digest([[file.path, file.size, file.changed] for file in self.files], self.columns)

    @property
    def rows(self) -> int:
        """How many rows the footers count."""
        return sum(rows for file in self.files for rows, _ in file.row_groups)

    @property
    def is_filtered(self) -> bool:
        """All rows are read."""
        return False

    def splits(self, tasks: int) -> list[Split]:
        """Runs of row groups. Small files share a split, so that they become one fragment."""
        units = [
            (file.path, number, rows, size)
            for file in self.files
            for number, (rows, size) in enumerate(file.row_groups)
        ]
        return [
            Split(tuple(_by_file(run)), sum(unit[2] for unit in run), sum(unit[3] for unit in run))
            for run in _runs(units, [unit[3] for unit in units], tasks)
        ]

    def read(self, split: Split) -> "Iterator[pa.RecordBatch]":
        """The rows of some row groups, file after file."""
        import pyarrow.parquet as pq

        for path, row_groups in split.parts:
            with _arrow_errors(f"reading {path}"), self.filesystem.open_input_file(str(path)) as opened:
                file = pq.ParquetFile(opened, pre_buffer=True)
                there = file.schema_arrow.names
                # A file that has none of the columns still has rows.
                columns = [name for name in there if name in self.schema.names] or there[:1]
                yield from file.iter_batches(_batch_rows(split), row_groups=list(row_groups), columns=columns)


def _listed(filesystem: "FileSystem", path: str) -> "list[FileInfo]":
    """The files that a path, directory or pattern leads to."""
    import re

    from pyarrow.fs import FileSelector, FileType

    with _arrow_errors(f"looking at {path}"):
        wild = re.search(r"[*?\[]", path)
        if wild:
            base = path[: wild.start()].rpartition("/")[0]
            pattern = re.compile(_as_regex(path))
            found = filesystem.get_file_info(FileSelector(base or "/", recursive=True, allow_not_found=True))
            files = [each for each in found if pattern.fullmatch(each.path)]
        else:
            info = filesystem.get_file_info(path)
            if info.type == FileType.Directory:
                base, files = path, filesystem.get_file_info(FileSelector(path, recursive=True))
            else:
                base, files = path, [info]  # who names a file wants it, whatever its name is
    files = [each for each in files if each.type == FileType.File and not _is_hidden(each.path, base)]
    if not files:
        raise InvalidInput(f"there are no files at {path}", hint="check the path, and the storage options")
    return files


def _as_regex(pattern: str) -> str:
    """A pattern as shells read it: `*` stays within a directory, `**` does not."""
    import re

    out = ""
    for piece in re.findall(r"\*\*/|\*\*|\*|\?|\[[^\]]+\]|[^*?\[]+|\[", pattern):
        if piece in ("**/", "**"):
            out += "(?:.*/)?" if piece == "**/" else ".*"
        elif piece == "*":
            out += "[^/]*"
        elif piece == "?":
            out += "[^/]"
        elif piece.startswith("[") and len(piece) > 1:
            out += piece.replace("[!", "[^")
        else:
            out += re.escape(piece)
    return out


def _is_partition(path: str, given: str) -> bool:
    """Whether directories below the one that was given hold values of columns; below patterns none do, as in Spark."""
    directory = given.rstrip("/") + "/"
    return path.startswith(directory) and "=" in path[len(directory) :].rpartition("/")[0]


def _is_hidden(path: str, directory: str) -> bool:
    """What Spark and others leave beside the data, such as `_SUCCESS` and `.part-0.crc`."""
    return any(part.startswith(("_", ".")) for part in path[len(directory) :].split("/"))


def _footer(filesystem: "FileSystem", info: "FileInfo") -> "tuple[_File, pa.Schema]":
    import pyarrow.parquet as pq

    with _arrow_errors(f"reading the footer of {info.path}"), filesystem.open_input_file(info.path) as opened:
        metadata = pq.read_metadata(opened)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        schema = metadata.schema.to_arrow_schema()
    changed = int(info.mtime_ns or 0)
    return _File(
        info.path, int(info.size), changed, tuple((group.num_rows, group.total_byte_size) for group in groups)
    ), schema


def _plain(schema: "pa.Schema") -> "pa.Schema":
    """A schema without what Parquet writers note in it for themselves."""
    import pyarrow as pa

    def without_notes(field: "pa.Field") -> "pa.Field":
        kept = {key: value for key, value in (field.metadata or {}).items() if not key.startswith(b"PARQUET:")}
        return field.with_metadata(kept or None)

    return pa.schema([without_notes(field) for field in schema])


def _chosen(schema: "pa.Schema", columns: Sequence[str]) -> "pa.Schema":
    import pyarrow as pa

    for name in columns:
        if name not in schema.names:
            raise TableColumnNotFound(f"the source has no column {name!r}", hint=f"it has {', '.join(schema.names)}")
    return pa.schema([schema.field(name) for name in columns])


def _by_file(units: Iterable[tuple[str, int, int, int]]) -> Iterator[Part]:
    groups: dict[str, list[int]] = {}
    for path, number, _, _ in units:
        groups.setdefault(path, []).append(number)
    yield from ((path, tuple(numbers)) for path, numbers in groups.items())


# --- Lance ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class LanceFragments:
    """A version of a Lance table."""

    table: Table
    version: int
    schema: "pa.Schema"
    columns: tuple[str, ...] | None
    filter: str | None
    fragments: tuple[tuple[int, int, int], ...]
    """Id, live rows and bytes of each."""

    @classmethod
    def found(
        cls,
        table: Table,
        *,
        version: int | None = None,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
    ) -> "LanceFragments":
        """Look at a table, at its newest version if none is given.

        Raises:
            TableColumnNotFound: it has no such column.
            Unsupported: it has blobs that lie beside the data files.
        """
        dataset = table.dataset(version)
        schema = dataset.schema if columns is None else _chosen(dataset.schema, columns)
        for field in schema:
            if (field.metadata or {}).get(b"ARROW:extension:name") == _BLOB_V2 or str(field.type).startswith(
                "extension<lance.blob"
            ):
                raise Unsupported(
                    f"column {field.name!r} of {table} holds blobs beside its data files",
                    hint="choose other columns, or register the table instead of copying it",
                    identifier=table.id,
                )
        with pylance_errors(f"looking at {table}"):
            fragments = tuple(
                (
                    int(fragment.fragment_id),
                    int(fragment.count_rows()),
                    sum(file.file_size_bytes or 0 for file in fragment.data_files()),
                )
                for fragment in dataset.get_fragments()
            )
        return cls(
            table,
            int(dataset.version),
            schema,
            tuple(columns) if columns is not None else None,
            filter,
            fragments,
        )

    @property
    def fingerprint(self) -> str:
        """Differs between versions, and between what is read of them."""
        return _digest([str(self.table), self.version, self.fragments], self.columns, self.filter)

    @property
    def rows(self) -> int:
        """How many live rows the fragments have."""
        return sum(rows for _, rows, _ in self.fragments)

    @property
    def is_filtered(self) -> bool:
        """Whether there is a filter."""
        return self.filter is not None

    def splits(self, tasks: int) -> list[Split]:
        """Runs of fragments. Small ones share a split, so that they become one."""
        return [
            Split(tuple((id, ()) for id, _, _ in run), sum(unit[1] for unit in run), sum(unit[2] for unit in run))
            for run in _runs(self.fragments, [size for _, _, size in self.fragments], tasks)
        ]

    def read(self, split: Split) -> "Iterator[pa.RecordBatch]":
        """The live rows of some fragments, in their order."""
        dataset = dataset_at(self.table, self.version)
        with pylance_errors(f"reading {self.table}"):
            scanner = dataset.scanner(
                columns=None if self.columns is None else list(self.columns),
                filter=self.filter,
                fragments=[dataset.get_fragment(id) for id, _ in split.parts],
                batch_size=_batch_rows(split),
                scan_in_order=True,
                blob_handling="all_binary",
            )
            yield from scanner.to_batches()


# --- both -----------------------------------------------------------------------------------------------------------


def located(path: str, storage: Mapping[str, str]) -> "tuple[FileSystem, str]":
    """The file system of a path or URI, and the path within it. Options have the names that pylance gives them.

    Raises:
        InvalidInput: there is no such file system, or an option that it does not have.
    """
    from pyarrow.fs import FileSystem, LocalFileSystem, S3FileSystem

    scheme, found, rest = path.partition("://")
    try:
        if not found:
            import os

            return LocalFileSystem(), os.path.abspath(path)  # noqa: PTH100  # a pattern is no path
        if scheme == "file":
            return LocalFileSystem(), rest
        if scheme in ("s3", "s3a"):
            return S3FileSystem(**_s3_options(storage)), rest
        if storage:
            raise InvalidInput(f"storage options for {scheme} are not supported", hint="use its environment variables")
        filesystem, inner = FileSystem.from_uri(path)
    except (ValueError, OSError) as error:
        raise InvalidInput(f"{path} cannot be reached: {error}") from error
    return filesystem, inner


_S3_OPTIONS = {
    "access_key_id": "access_key",
    "secret_access_key": "secret_key",
    "session_token": "session_token",
    "token": "session_token",
    "region": "region",
    "endpoint": "endpoint_override",
    "endpoint_url": "endpoint_override",
}
_S3_IGNORED = {"allow_http", "virtual_hosted_style_request"}


def _s3_options(storage: Mapping[str, str]) -> dict[str, Any]:
    options = StorageOptions()
    for name, value in storage.items():
        plain = name.lower().removeprefix("aws_")
        if plain in _S3_IGNORED:
            continue
        if plain not in _S3_OPTIONS:
            raise InvalidInput(
                f"{name!r} is not a storage option for Parquet files", hint=f"there are {', '.join(_S3_OPTIONS)}"
            )
        options[_S3_OPTIONS[plain]] = value
    endpoint = options.get("endpoint_override", "")
    scheme, found, host = endpoint.partition("://")
    if found:
        options |= {"scheme": scheme, "endpoint_override": host.rstrip("/")}
    return dict(options)


def _runs(units: Sequence[T], sizes: Sequence[int], tasks: int) -> Iterator[list[T]]:
    """Consecutive units, in runs of about the same size."""
    total = max(sum(sizes), 1)
    wanted = min(LARGEST_SPLIT, max(SMALLEST_SPLIT, -(-total // max(tasks, 1))))
    many = -(-total // wanted)
    runs: dict[int, list[T]] = {}
    before = 0
    for unit, size in zip(units, sizes, strict=True):
        middle = before + size / 2
        runs.setdefault(int(middle * many / total), []).append(unit)
        before += size
    yield from runs.values()


def _batch_rows(split: Split) -> int:
    """Many rows where they are narrow, few where they are wide."""
    width = max(split.bytes // max(split.rows, 1), 1)
    return int(min(max(_BATCH_BYTES // width, 256), _BATCH_ROWS))


def _digest(*what: Any) -> str:
    import hashlib
    import json

    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


class _arrow_errors:  # noqa: N801  # a context manager, as pylance_errors is
    """Raise what pyarrow raises inside as errors of the taxonomy."""

    def __init__(self, doing: str) -> None:
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        import pyarrow as pa

        if isinstance(error, pa.ArrowInvalid):
            raise InvalidInput(f"{self._doing}: {error}", native=type(error).__name__) from error
        if isinstance(error, pa.ArrowException | OSError):
            raise translated(error, self._doing) from error
