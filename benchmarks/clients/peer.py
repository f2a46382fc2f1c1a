"""The peer, lance-namespace-impls, as a user has it; it runs in an environment of its own."""

from typing import Any


class Client:
    """A connection, asked in the words of the benchmarks."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import lance_namespace

        self._api = lance_namespace
        self._ns = lance_namespace.connect(settings["peer"], settings["properties"])
        self._base = settings["base"]

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        request = self._api.DescribeTableRequest(id=[*self._base, namespace, table])
        return self._ns.describe_table(request).location

    def count(self, namespace: str) -> int:
        """How many tables it lists."""
        return len(self._ns.list_tables(self._api.ListTablesRequest(id=[*self._base, namespace])).tables)

    def count_described(self, namespace: str) -> int:
        """How many Lance tables there are, where it lists others as well: each is described."""
        names = self._ns.list_tables(self._api.ListTablesRequest(id=[*self._base, namespace])).tables
        return sum(1 for name in names if self._is_lance(namespace, name))

    def _is_lance(self, namespace: str, table: str) -> bool:
        try:
            self.describe(namespace, table)
        except Exception as problem:
            if "is not a Lance table" not in str(problem):
                raise
            return False
        return True
