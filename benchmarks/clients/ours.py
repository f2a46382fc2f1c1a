"""lance-ns itself, as a user has it."""

from itertools import islice
from typing import Any

import lance_ns


class Client:
    """A connection, asked in the words of the benchmarks."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._ns = lance_ns.connect(settings["backend"], settings["properties"])
        self._base = tuple(settings["base"])
        self._mixed = (*self._base, settings["mixed"])
        self._table = (*self._base, *settings["table"])
        self._writes = settings["writes"]
        self._bridge: Any = None

    def describe(self, namespace: str, table: str) -> str | None:
        """Where a table is."""
        return self._ns.describe_table((*self._base, namespace, table)).location

    def count(self, namespace: str, most: int | None = None) -> int:
        """How many Lance tables a namespace has, none of them kept; at most so many are looked at."""
        return sum(1 for _ in islice(self._ns.list_tables((*self._base, namespace)), most))

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0 and self._writes:
            self._ns.declare_table((*self._mixed, f"w{worker}"))
        elif kind == 19 and self._writes:
            self._ns.deregister_table((*self._mixed, f"w{worker}"))
        elif kind % 5 == 1:
            self._ns.describe_namespace(self._mixed)
        elif kind == 8:
            list(self._ns.list_namespaces(self._base))
        else:
            self._ns.describe_table(self._table)

    def write(self, namespace: str, table: str) -> int:
        """Make a table with data."""
        return int(self._ns.write((*self._base, namespace, table), [{"v": 1}, {"v": 2}]).count_rows())

    def open_by_uri(self, namespace: str, table: str) -> str:
        """Describe a table and open it where it is."""
        import lance

        location = self._ns.describe_table((*self._base, namespace, table)).location
        return str(lance.dataset(location).uri)

    def open_through_the_bridge(self, namespace: str, table: str) -> str:
        """Let pylance ask for the table."""
        import lance

        self._bridge = self._bridge or self._ns.as_lance()
        return str(lance.dataset(namespace_client=self._bridge, table_id=[*self._base, namespace, table]).uri)
