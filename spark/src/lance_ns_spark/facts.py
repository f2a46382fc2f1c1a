"""What a table's metadata tell: its size, its shape, its indexes, and whether all its files are there."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import attrs

from lance_ns.errors import InvalidTableState, LanceNsError, TableNotFound
from lance_ns_spark.native import native_errors
from lance_ns_spark.tables import Place, Table

if TYPE_CHECKING:
    import lance

SMALL_ROWS = 1 << 20
"""A fragment with fewer rows than this, and with fewer bytes than `SMALL_BYTES`, is small."""
SMALL_BYTES = 128 << 20

State = Literal["data", "declared", "missing", "broken", "unreachable"]
STATES: dict[State, str] = {
    "data": "it opens, and all files of its newest version are there",
    "declared": "the catalog has it, and nothing is at its location",
    "missing": "files are missing that its newest version needs, or every version is",
    "broken": "it cannot be opened, or its metadata cannot be read",
    "unreachable": "the catalog did not list its tables",
}
"""The states of tables, and what each means."""


@attrs.frozen(kw_only=True)
class Column:
    """A column; `dimension` is that of a vector."""

    name: str
    type: str
    dimension: int | None = None


@attrs.frozen(kw_only=True)
class Index:
    """An index, and how much of the table it covers."""

    name: str
    type: str
    columns: tuple[str, ...]
    rows: int
    coverage: float
    """Rows indexed of rows, from 0 to 1; 1 for a table without rows."""
    segments: int
    bytes: int


@attrs.frozen(kw_only=True)
class Facts:
    """One table as it is now."""

    state: State
    location: str | None = None
    error: str | None = None
    version: int | None = None
    versions: int = 0
    created: datetime | None = None
    """When its first version was made; None when that version has been cleaned up."""
    changed: datetime | None = None
    rows: int = 0
    deleted_rows: int = 0
    fragments: int = 0
    small_fragments: int = 0
    bytes: int = 0
    """The data files of the newest version."""
    bytes_stored: int = 0
    """Everything at the location: older versions, indexes and what nobody uses any more."""
    missing_files: tuple[str, ...] = ()
    storage_version: str | None = None
    columns: tuple[Column, ...] = ()
    indexes: tuple[Index, ...] = ()

    @property
    def coverage(self) -> float | None:
        """The mean of what the indexes cover; None without any."""
        return sum(index.coverage for index in self.indexes) / len(self.indexes) if self.indexes else None


def look(table: Table) -> Facts:
    """The facts of a table. What is wrong with it is among them: nothing is raised for one table's sake."""
    try:
        place = table.place()
    except TableNotFound as error:
        return Facts(state="missing", error=error_text(table, error))
    except LanceNsError as error:
        return Facts(state="broken", error=error_text(table, error))
    try:
        with native_errors(f"looking at {table}"):
            return _with_data(table.dataset(), place)
    except InvalidTableState as error:
        return _without_data(table, place, error)
    except LanceNsError as error:
        return Facts(state="broken", location=place.location, error=error_text(table, error))


def error_text(table: Table, error: LanceNsError) -> str:
    """An error about a table as people may read it: without the connection's secrets."""
    table.ns.locate(error)
    return str(error)


def missing_files(dataset: "lance.LanceDataset") -> tuple[tuple[str, ...], dict[str, int]]:
    """The data, deletion and index files that a version needs and that are not there; and the sizes of all that are."""
    stored = dataset.all_files().read_all()
    sizes = dict(zip(stored["path"].to_pylist(), stored["size_bytes"].to_pylist(), strict=True))
    bases = set(stored["base_uri"].to_pylist())
    needed = dataset.tracked_files(min_version=dataset.version).read_all().to_pylist()
    lost = [
        each["path"]
        for each in needed
        if each["version"] == dataset.version
        and each["type"] in ("data file", "deletion file", "index file")
        and each["base_uri"] in bases  # other bases are not listed
        and each["path"] not in sizes
    ]
    return tuple(lost), sizes


def indexes_of(dataset: "lance.LanceDataset") -> list[Any]:
    """The descriptions of the indexes that people made."""
    return [each for each in dataset.describe_indices() if not each.name.startswith("__lance")]


def covered(description: Any) -> set[int]:
    """The fragments that an index covers, whether they are still there or not."""
    return {fragment for segment in description.segments for fragment in segment.fragment_ids}


def is_small(rows: int, size: int | None) -> bool:
    """Whether a fragment is small; one of unknown size by its rows alone."""
    return rows < SMALL_ROWS and (size is None or size < SMALL_BYTES)


def size_of(fragment: Any, sizes: dict[str, int]) -> int | None:
    """The bytes of a fragment's data files, or None where one is not known."""
    known = [
        file.file_size_bytes if file.file_size_bytes is not None else sizes.get(f"data/{file.path}")
        for file in fragment.data_files()
    ]
    return None if None in known else sum(known)  # type: ignore[arg-type]


def utc(moment: datetime) -> datetime:
    """A version's time, which pylance tells in the machine's zone."""
    return moment.astimezone(UTC)


def _with_data(dataset: "lance.LanceDataset", place: Place) -> Facts:
    fragments = dataset.get_fragments()
    versions = [each["version"] for each in dataset.version_refs()]
    lost, sizes = missing_files(dataset)
    rows = {each.fragment_id: each.metadata.num_rows for each in fragments}
    each_size = {each.fragment_id: size_of(each, sizes) for each in fragments}
    first = dataset.checkout_version(1).get_version()["timestamp"] if 1 in versions else None
    return Facts(
        state="missing" if lost else "data",
        error=f"{len(lost)} files are missing, the first is {lost[0]}" if lost else None,
        location=place.location,
        version=int(dataset.version),
        versions=len(versions),
        created=first and utc(first),
        changed=utc(dataset.get_version()["timestamp"]),
        rows=sum(rows.values()),
        deleted_rows=sum(each.metadata.num_deletions for each in fragments),
        fragments=len(fragments),
        small_fragments=sum(is_small(rows[id], each_size[id]) for id in rows),
        bytes=sum(size or 0 for size in each_size.values()),
        bytes_stored=sum(sizes.values()),
        missing_files=lost,
        storage_version=dataset.data_storage_version,
        columns=tuple(_column(field) for field in dataset.schema),
        indexes=tuple(_index(each, rows) for each in indexes_of(dataset)),
    )


def _without_data(table: Table, place: Place, error: LanceNsError) -> Facts:
    """Nothing at the location is a table that is only declared; files without a version are what is left of one."""
    from lance.file import LanceFileSession

    try:
        with native_errors(f"listing {place.location}"):
            found: Sequence[str] = LanceFileSession(place.location, storage_options=dict(place.storage)).list()
    except InvalidTableState:
        found = ()
    except LanceNsError as second:
        return Facts(state="broken", location=place.location, error=error_text(table, second))
    remains = [path for path in found if path.partition("/")[0] in ("data", "_indices", "_transactions", "_versions")]
    if remains:
        left = f"{error_text(table, error)}; {len(remains)} of its files are left"
        return Facts(state="missing", location=place.location, error=left)
    return Facts(state="declared", location=place.location)


def _column(field: Any) -> Column:
    import pyarrow as pa

    type = field.type
    vector = pa.types.is_fixed_size_list(type) and pa.types.is_floating(type.value_type)
    return Column(name=field.name, type=str(type), dimension=type.list_size if vector else None)


def _index(description: Any, rows: dict[int, int]) -> Index:
    indexed = sum(rows.get(fragment, 0) for fragment in covered(description))
    total = sum(rows.values())
    return Index(
        name=description.name,
        type=description.index_type.upper(),
        columns=tuple(description.field_names),
        rows=indexed,
        coverage=indexed / total if total else 1.0,
        segments=len(description.segments),
        bytes=description.total_size_bytes or 0,
    )
