"""What an ingest reads: files, a Lance table, or anything that Spark has a reader for."""

from collections.abc import Mapping, Sequence

import attrs

from lance_ns.config import Hidden, StorageOptions
from lance_ns.errors import InvalidInput
from lance_ns_spark.tables import Table

LANCE = "lance"
PARQUET = "parquet"
TABLE = "table"
"""The format of a table or view that the Spark session knows by name."""


def _texts(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


def _maybe_texts(value: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else _texts(value)


@attrs.frozen(kw_only=True)
class Source:
    """Where rows come from.

    Parquet files and Lance tables are read as Arrow by the tasks themselves; everything else is read by Spark. The
    options of Spark's reader and of the storage may hold secrets: they are never shown.
    """

    format: str = PARQUET
    """`parquet`, `lance`, `table` (what the session knows by name), or a format of Spark: csv, json, orc, jdbc, …"""
    path: tuple[str, ...] = attrs.field(default=(), converter=_texts)
    """Files, directories, or patterns such as `raw/*.parquet`."""
    table: Table | str | None = None
    """A Lance table, or the name of a table or view of the session."""
    version: int | None = None
    """The version of a Lance table; the newest if none is given."""
    columns: tuple[str, ...] | None = attrs.field(default=None, converter=_maybe_texts)
    """The columns that are read; all if none are given."""
    filter: str | None = None
    """Which rows of a Lance table are read, as an SQL expression."""
    options: Mapping[str, str] = attrs.field(factory=Hidden, converter=Hidden, repr=False)
    """Options of Spark's reader."""
    schema: str | None = None
    """The schema that Spark's reader is told, as in `id bigint, text string`."""
    storage: Mapping[str, str] = attrs.field(factory=StorageOptions, converter=StorageOptions, repr=False)
    """How the storage of Parquet files is reached, by the names of a connection's `storage.*` options."""
    stream: bool = False
    """Whether it is read as a stream: what is new since the job ran last."""

    def __attrs_post_init__(self) -> None:
        if self.format == LANCE and not isinstance(self.table, Table):
            raise InvalidInput("a source of format 'lance' is a table", hint="give `table`")
        if self.format == TABLE and not isinstance(self.table, str):
            raise InvalidInput("a source of format 'table' is a name of the session", hint="give `table`, a name")
        if self.format == PARQUET and not self.path:
            raise InvalidInput("a source of format 'parquet' needs a path", hint="give `path`")
        if self.format != LANCE and (self.filter is not None or self.version is not None):
            raise InvalidInput("only Lance tables have a filter and a version", hint="use `sql` to choose rows")
        if self.stream and self.format == LANCE and (self.filter or self.version is not None):
            raise InvalidInput("a stream has neither a filter nor a version", hint="use `sql` to choose rows")

    @classmethod
    def parquet(
        cls, *path: str, storage: Mapping[str, str] | None = None, columns: Sequence[str] | None = None
    ) -> "Source":
        """Parquet files."""
        return cls(format=PARQUET, path=path, storage=storage or {}, columns=columns)

    @classmethod
    def lance(
        cls,
        table: Table,
        *,
        version: int | None = None,
        columns: Sequence[str] | None = None,
        filter: str | None = None,
    ) -> "Source":
        """A Lance table."""
        return cls(format=LANCE, table=table, version=version, columns=columns, filter=filter)

    @property
    def name(self) -> str:
        """What people and results call it; it shows no option."""
        if self.table is not None:
            return str(self.table)
        return f"{self.format}:{','.join(self.path)}" if self.path else self.format

    @property
    def is_arrow(self) -> bool:
        """Whether tasks can read it as Arrow, so that no row passes through the JVM."""
        return not self.stream and not self.options and self.schema is None and self.format in (LANCE, PARQUET)
