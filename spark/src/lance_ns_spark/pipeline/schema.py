"""What a pipeline file may say. Each field is described once: reader, manual and JSON Schema take it from here.

A step is named by its kind: the first field of its class, which says what the job works on.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, TypeVar, dataclass_transform

import attrs

from lance_ns.config import REQUIRED, holds_credentials, prop
from lance_ns.errors import InvalidInput

Value = str | int | float | bool
"""A property or option."""
C = TypeVar("C")

_REFERENCE = re.compile(r"\$\{[^}]+\}")
_DURATION = re.compile(r"(\d+) ?(m|h|d|w)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(prop,))
def part(cls: type[C]) -> type[C]:
    """Make a class of declared fields, a part of the file."""
    return attrs.frozen(cls, kw_only=True)


@part
class Catalog:
    """A catalog: a profile, or a backend with properties that are no secrets."""

    profile: str | None = prop(None, "A profile of the configuration, where secrets belong")
    backend: str | None = prop(None, "A backend, where there is no profile")
    properties: Mapping[str, Value] = prop(dict, "The backend's properties; secrets are refused", shown="none")
    delimiter: str = prop("$", "What separates the levels of identifiers")

    def __attrs_post_init__(self) -> None:
        for name in self.properties:
            if holds_credentials({name: ""}):
                raise InvalidInput(
                    f"property {name!r} is a secret, which belongs in a profile",
                    hint="describe the connection in lance-ns.toml, and name it by `profile`",
                )
        self.check_connection()

    def check_connection(self) -> None:
        """Refuse a catalog that is named twice, or not at all."""
        if (self.profile is None) == (self.backend is None):
            raise InvalidInput("a catalog is named by either `profile` or `backend`")
        if self.profile is not None and self.properties:
            raise InvalidInput("`properties` go with `backend`", hint="a profile has its own")


@part
class OneTable(Catalog):
    """One table of a catalog."""

    table: str = prop(REQUIRED, "The table's identifier, such as `ml$docs`")


@part
class Tables(Catalog):
    """Tables of a catalog, by patterns."""

    tables: tuple[str, ...] = prop(
        ("**",),
        "Identifiers, or patterns: `*` and `?` stand for parts of one level, `**` for any number of levels",
        shown="all tables",
    )
    exclude: tuple[str, ...] = prop((), "Patterns of tables to leave out", shown="none")


@part
class NamedCatalog(Catalog):
    """A catalog under the name that a report gives it."""

    name: str | None = prop(None, "What the report calls it", shown="the profile or the backend")
    namespace: str | None = prop(None, "Only what is below this namespace", shown="everything")

    @property
    def called(self) -> str:
        """What the report calls it."""
        return self.name or self.profile or str(self.backend)


@part
class Destination(Catalog):
    """Where copies go."""

    namespace: str | None = prop(
        None, "The namespace that the copies go into, under their own names", shown="the identifiers of the sources"
    )
    tree: bool = prop(False, "Whether copies keep their whole identifiers below `namespace`")


@part
class Source(Catalog):
    """What is read: files, a table of a catalog, or anything else that Spark reads.

    The catalog is that of a Lance table; of files it lends the options that their storage is reached by.
    """

    format: str = prop(
        REQUIRED,
        "`parquet` or `lance`, which tasks read as Arrow, or one of Spark's: `csv`, `json`, `orc`, `jdbc`, `table`, …",
    )
    path: tuple[str, ...] | str = prop(
        (), "Files, directories or glob patterns, for formats that have files", shown="none"
    )
    table: str | None = prop(
        None, "The table: of a catalog for the format `lance`, of Spark's own for the format `table`"
    )
    version: int | None = prop(None, "A version of a Lance table", at_least=1, shown="the newest")
    columns: tuple[str, ...] = prop((), "The columns to read", shown="all columns")
    filter: str | None = prop(None, "A condition in SQL for the rows to read", shown="all rows")
    schema: str | None = prop(None, "The columns and types of the source, as Spark's DDL", shown="what Spark finds")
    options: Mapping[str, Value] = prop(
        dict,
        "Options of Spark's reader; `${NAME}` takes a value from the environment, as secrets must",
        shown="none",
    )
    storage: Mapping[str, Value] = prop(
        dict, "Options for the files' storage, by pylance's names; `${NAME}` as above", shown="none"
    )
    stream: bool = prop(False, "Read what has come since the last run, with Structured Streaming")

    def check_connection(self) -> None:
        """Refuse a source that is named twice, or not at all, or with a secret in clear."""
        if self.format == "lance" or self.profile is not None or self.backend is not None:
            Catalog.check_connection(self)
        if self.format in ("lance", "table") and self.table is None:
            raise InvalidInput(f"the format {self.format!r} needs `table`")
        if self.format == "parquet" and not self.paths:
            raise InvalidInput("the format 'parquet' needs `path`")
        for option, value in (*self.options.items(), *self.storage.items()):
            if holds_credentials({option: ""}) and not _REFERENCE.fullmatch(str(value)):
                raise InvalidInput(
                    f"option {option!r} is a secret, which belongs in the environment",
                    hint=f'write it as {option} = "${{NAME}}"',
                )

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths, whether one was given or several."""
        return (self.path,) if isinstance(self.path, str) else tuple(self.path)


@part
class Index:
    """An index."""

    column: str = prop(REQUIRED, "The column")
    type: str = prop(REQUIRED, "The index type, such as `BTREE`, `INVERTED` or `IVF_PQ`")
    name: str | None = prop(None, "Its name", shown="made of the column's name")
    params: Mapping[str, Any] = prop(dict, "Parameters of the type, as pylance takes them", shown="none")


@part
class Files:
    """How data files are made."""

    rows_per_file: int | None = prop(None, "At most so many rows in a file", at_least=1, shown="as pylance has it")
    bytes_per_file: int | None = prop(
        None, "At most about so many bytes in a file", at_least=1, shown="as pylance has it"
    )
    storage_version: str | None = prop(None, "The version of the file format", shown="as pylance has it")


@part
class Ingest:
    """Read anything that Spark reads into a Lance table."""

    ingest: Source = prop(REQUIRED, "What is read")
    into: OneTable = prop(REQUIRED, "The table that is written; created where it is missing")
    mode: str = prop("append", "What happens to a table that is there", choices=("create", "append", "overwrite"))
    sql: str | None = prop(None, "A query that makes the rows out of the view `source`", shown="the source as it is")
    vectors: Mapping[str, int] = prop(dict, "Columns that hold vectors, with their dimensions", shown="none")
    evolve: bool = prop(False, "Whether columns that the table lacks are added to it")
    indexes: tuple[Index, ...] = prop((), "Indexes to build afterwards", shown="none")
    files: Files | None = prop(None, "How data files are made", shown="as pylance has it")
    state: str | None = prop(
        None, "A directory for notes of what is done, so that a broken run is resumed", shown="in the user's cache"
    )
    name: str | None = prop(None, "The step's name", shown="its kind")


@part
class Copy:
    """Copy tables between catalogs."""

    copy: Tables = prop(REQUIRED, "The tables that are copied")
    to: Destination = prop(REQUIRED, "Where they go")
    how: str = prop(
        "data", "Copy the data, or enter the same data in the other catalog as well", choices=("data", "register")
    )
    mode: str = prop("create", "What happens to a table that is there", choices=("create", "append", "overwrite"))
    verify: bool = prop(True, "Whether rows and checksums of the copy are compared with the source")
    files: Files | None = prop(None, "How data files are made", shown="as pylance has it")
    state: str | None = prop(
        None, "A directory for notes of what is done, so that a broken run is resumed", shown="in the user's cache"
    )
    name: str | None = prop(None, "The step's name", shown="its kind")


@part
class Maintain:
    """Compact tables, build and refresh their indexes, clean up old versions."""

    maintain: Tables = prop(REQUIRED, "The tables that are maintained")
    compact: bool = prop(True, "Whether small fragments are joined")
    target_rows: int = prop(2**20, "How many rows a fragment has after compaction", at_least=1)
    small_below: int = prop(2**20, "Fragments with fewer rows are joined", at_least=0)
    deleted_share: float = prop(0.1, "Fragments of which more is deleted are written anew", at_least=0)
    indexes: tuple[Index, ...] = prop((), "Indexes that the tables are to have", shown="none")
    optimize_indexes: bool = prop(True, "Whether rows that came later are added to the indexes")
    most_segments: int = prop(8, "An index of more segments is merged into one", at_least=1)
    keep_versions: str | None = prop(
        None, "Remove versions that are older, such as `30d`; at least the retry window of 7 days", shown="all are kept"
    )
    name: str | None = prop(None, "The step's name", shown="its kind")

    def __attrs_post_init__(self) -> None:
        if self.keep_versions is not None:
            duration(self.keep_versions)


@part
class Inventory:
    """Look at every table of catalogs, side by side."""

    inventory: tuple[NamedCatalog, ...] = prop(REQUIRED, "The catalogs")
    report: str | None = prop(None, "Write a page with charts to this file", shown="no report")
    into: OneTable | None = prop(None, "Append a row for each table to this table", shown="no table")
    parquet: str | None = prop(None, "Write a row for each table to this Parquet file", shown="no file")
    name: str | None = prop(None, "The step's name", shown="its kind")

    def __attrs_post_init__(self) -> None:
        called = [catalog.called for catalog in self.inventory]
        if not called:
            raise InvalidInput("an inventory is of at least one catalog")
        if twice := {name for name in called if called.count(name) > 1}:
            raise InvalidInput(f"two catalogs are called {min(twice)!r}", hint="give each a `name`")


@part
class Verify:
    """Read every fragment of tables, and find what is corrupt or missing."""

    verify: Tables = prop(REQUIRED, "The tables that are read")
    checksums: str | None = prop(
        None, "A JSON file with checksums of data files: known ones are compared, new ones are noted", shown="none"
    )
    name: str | None = prop(None, "The step's name", shown="its kind")


Step = Ingest | Copy | Maintain | Inventory | Verify
"""A step of a pipeline."""
KINDS: Mapping[str, type[Any]] = {
    "ingest": Ingest,
    "copy": Copy,
    "maintain": Maintain,
    "inventory": Inventory,
    "verify": Verify,
}
"""The class of each kind of step, by the field that names it."""


def kind_of(step: Step) -> str:
    """The kind of a step."""
    return next(kind for kind, cls in KINDS.items() if isinstance(step, cls))


@part
class Pipeline:
    """A pipeline: steps that run one after the other."""

    name: str = prop(REQUIRED, "The pipeline's name; jobs are recognised by it when they are run again")
    description: str | None = prop(None, "What it is for", shown="none")
    step: tuple[Step, ...] = prop(REQUIRED, "The steps, in the order in which they run")

    def __attrs_post_init__(self) -> None:
        if not self.name.strip():
            raise InvalidInput("the pipeline's `name` is empty")
        if not self.step:
            raise InvalidInput("a pipeline has at least one step", hint="begin one with [[step]]")
        for number, step in enumerate(self.step, 1):
            for earlier, other in enumerate(self.step[: number - 1], 1):
                if step == other:
                    raise InvalidInput(f"steps {earlier} and {number} are the same", hint="give each a `name`")
                if step.name is not None and step.name == other.name:
                    raise InvalidInput(f"steps {earlier} and {number} are both called {step.name!r}")

    def numbered(self) -> Iterator[tuple[int, Step]]:
        """The steps with their numbers, from 1 on."""
        return enumerate(self.step, 1)


def title_of(step: Step) -> str:
    """What a step is called: its name, or else its kind."""
    return step.name or kind_of(step)


def duration(text: str) -> timedelta:
    """A time such as `90m`, `12h`, `30d` or `2w`.

    Raises:
        InvalidInput: it is none.
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InvalidInput(f"{text!r} is no duration", hint="write it as 90m, 12h, 30d or 2w")
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
