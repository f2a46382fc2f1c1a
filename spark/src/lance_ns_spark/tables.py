"""Tables as jobs name them: a connection and an identifier, which travel to the workers and connect again there."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs

import lance_ns
from lance_ns.config import StorageOptions
from lance_ns.errors import InvalidTableState, TableNotFound
from lance_ns.identifiers import Identifier, Levels
from lance_ns.lance import datasets
from lance_ns.lance.errors import pylance_errors
from lance_ns.namespace import Namespace

if TYPE_CHECKING:
    import lance


@attrs.frozen
class Place:
    """Where a table's data is, and how its storage is reached."""

    location: str
    storage: StorageOptions


@attrs.frozen(eq=False)
class Table:
    """A table of a catalog, whether it exists or not.

    It pickles with the connection's properties, secrets included, and shows none of them. A worker process connects
    and asks the catalog once, however many tasks it runs.
    """

    ns: Namespace
    id: Levels
    name: str
    """What people and results call it: the profile, or else the backend, and the identifier."""

    @classmethod
    def of(
        cls,
        table: Identifier,
        *,
        profile: str | None = None,
        backend: str | None = None,
        properties: Mapping[str, Any] | None = None,
        delimiter: str = "$",
    ) -> "Table":
        """A table of the catalog that a profile, or a backend and its properties, lead to."""
        ns = lance_ns.connect(backend, properties, profile=profile, delimiter=delimiter)
        return cls.within(ns, table, called=profile)

    @classmethod
    def within(cls, ns: Namespace, table: Identifier, *, called: str | None = None) -> "Table":
        """A table of a connection that is open."""
        id = ns.parse(table)
        return cls(ns, id, f"{called or ns.backend}:{ns.show(id)}")

    def __str__(self) -> str:
        return self.name

    def place(self) -> Place:
        """Where it is, as the catalog says.

        Raises:
            TableNotFound: the catalog has no such table.
        """
        return place_of(self.ns, self.ns.describe_table(self.id))

    def dataset(self, version: int | str | None = None) -> "lance.LanceDataset":
        """The table's data, at a version or tag.

        Raises:
            TableNotFound: the catalog has no such table.
            InvalidTableState: it is declared, but has no data.
        """
        return self.ns.dataset(self.id, version=version)

    def existing(self) -> "lance.LanceDataset | None":
        """The table's data, or None when there is no such table, or no data in it."""
        try:
            return self.dataset()
        except (TableNotFound, InvalidTableState):
            return None


def place_of(ns: Namespace, described: Any) -> Place:
    """Where a table is that the catalog has described or declared."""
    return Place(datasets.location_of(described), datasets.storage_options(ns.storage, described.storage_options))


def dataset_at(table: Table, version: int) -> "lance.LanceDataset":
    """A version of a table, opened once in a worker process for all its tasks."""
    return _opened(table.ns.namespace_id(), table.id, version, _Unhashed(table))


class _Unhashed:
    """Carries a table past a cache, whose key are the values beside it."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unhashed)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _opened(connection: str, id: Levels, version: int, carried: _Unhashed) -> "lance.LanceDataset":  # noqa: ARG001
    with pylance_errors(f"opening {carried.table}"):
        return carried.table.dataset(version)
