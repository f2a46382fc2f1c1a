"""pylance's own directory namespace, by its binding."""

from typing import Any


class Client:
    """The calls themselves, with nothing between."""

    LANCE_ONLY, MAKES_AT_ONCE = True, 1

    def __init__(self, settings: dict[str, Any]) -> None:
        from lance.lance import PyDirectoryNamespace  # type: ignore[attr-defined]

        self._ns = PyDirectoryNamespace(session=None, context_provider=None, **settings["properties"])
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._ns.describe_table({"id": [namespace, table]})["location"]

    def names(self, namespace: str) -> int:
        """The names of all tables, in one answer."""
        return len(self._ns.list_tables({"id": [namespace]})["tables"])

    count = names

    def step(self, worker: int, number: int) -> None:  # noqa: ARG002  # all do the same
        """One of the mixed operations."""
        kind = number % 20
        if kind % 5 == 1:
            self._ns.describe_namespace({"id": [self._mixed]})
        elif kind == 8:
            self._ns.list_namespaces({"id": []})
        else:
            self._ns.describe_table({"id": [*self._table]})

    def make_namespace(self, namespace: str) -> None:
        """Make a namespace."""
        self._ns.create_namespace({"id": [namespace], "properties": {}})

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:  # noqa: ARG002  # all are
        """Make a table."""
        self._ns.declare_table({"id": [namespace, table]})
