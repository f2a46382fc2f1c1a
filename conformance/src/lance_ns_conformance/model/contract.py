"""What a catalog must do, in memory: every operation gives an answer or raises an error of the taxonomy."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from lance_ns import errors
from lance_ns.identifiers import Levels

Kept = dict[str, str]


@attrs.define(kw_only=True)
class Model:
    """Namespaces and tables by their levels, the root included.

    Attributes:
        capabilities: what is declared; anything else answers Unsupported.
        shared_names: whether a table and a namespace of one parent cannot have the same name.
        drop_of_missing_succeeds: whether dropping a missing namespace in mode Fail succeeds.
    """

    capabilities: frozenset[str]
    shared_names: bool = False
    drop_of_missing_succeeds: bool = False
    namespaces: dict[Levels, Kept] = attrs.field(factory=lambda: {(): {}})
    tables: dict[Levels, Kept] = attrs.field(factory=dict)

    def create_namespace(self, id: Levels, mode: str, properties: Mapping[str, str]) -> Kept:
        """The properties of a namespace that exists now."""
        self._require(id[:-1])
        if self.shared_names and id in self.tables:
            raise errors.NamespaceAlreadyExists("a table has this name")
        if id in self.namespaces:
            if mode == "create":
                raise errors.NamespaceAlreadyExists("there is one")
            if mode == "exist_ok":
                return self.namespaces[id]
            self._require_empty(id)
        self.namespaces[id] = dict(properties)
        return self.namespaces[id]

    def describe_namespace(self, id: Levels) -> Kept:
        """The properties of a namespace."""
        self._require(id)
        return self.namespaces[id]

    def namespace_exists(self, id: Levels) -> bool:
        """Whether there is a namespace."""
        return id in self.namespaces

    def list_namespaces(self, id: Levels, limit: int | None = None) -> list[str]:  # noqa: ARG002
        """The names of the children, sorted, however long the pages are."""
        self._require(id)
        return _names_in(self.namespaces, id)

    def drop_namespace(self, id: Levels, mode: str, behavior: str) -> None:
        """Remove a namespace; behavior Cascade with all that it holds."""
        if behavior == "cascade" and "drop_namespace.cascade" not in self.capabilities:
            raise errors.Unsupported("not declared")
        if id not in self.namespaces:
            if mode == "skip" or self.drop_of_missing_succeeds:
                return
            raise errors.NamespaceNotFound("none")
        if behavior == "restrict":
            self._require_empty(id)
        for entries in (self.namespaces, self.tables):
            for each in _below(entries, id):
                del entries[each]
        del self.namespaces[id]

    def declare_table(self, id: Levels, properties: Mapping[str, str]) -> Kept:
        """The properties of a new table."""
        self._require(id[:-1])
        self._require_free(id)
        self.tables[id] = dict(properties)
        return self.tables[id]

    def describe_table(self, id: Levels) -> Kept:
        """The properties of a table."""
        if id not in self.tables:
            raise errors.TableNotFound("none")
        return self.tables[id]

    def table_exists(self, id: Levels) -> bool:
        """Whether there is a table."""
        return id in self.tables

    def list_tables(self, id: Levels, limit: int | None = None) -> list[str]:  # noqa: ARG002
        """The names of the tables, sorted, however long the pages are."""
        self._require(id)
        return _names_in(self.tables, id)

    def list_all_tables(self, id: Levels) -> list[Levels]:
        """The tables of every depth, sorted."""
        self._require(id)
        return _below(self.tables, id)

    def deregister_table(self, id: Levels) -> None:
        """Remove a table."""
        self.describe_table(id)
        del self.tables[id]

    def rename_table(self, id: Levels, to: str) -> None:
        """Give a table another name in its namespace."""
        self._require_declared("rename_table")
        self.describe_table(id)
        self._require_free((*id[:-1], to))
        self.tables[*id[:-1], to] = self.tables.pop(id)

    def alter_table_properties(self, id: Levels, updates: Mapping[str, str], removals: Sequence[str]) -> Kept:
        """The properties of a table after a change."""
        self._require_declared("alter_table_properties")
        kept = {**self.describe_table(id), **updates}
        self.tables[id] = {key: value for key, value in kept.items() if key not in removals}
        return self.tables[id]

    def _require(self, id: Levels) -> None:
        if id not in self.namespaces:
            raise errors.NamespaceNotFound("none")

    def _require_empty(self, id: Levels) -> None:
        if _names_in(self.namespaces, id) or _names_in(self.tables, id):
            raise errors.NamespaceNotEmpty("it holds something")

    def _require_free(self, id: Levels) -> None:
        if id in self.tables or (self.shared_names and id in self.namespaces):
            raise errors.TableAlreadyExists("there is one")

    def _require_declared(self, operation: str) -> None:
        if operation not in self.capabilities:
            raise errors.Unsupported("not declared")


def _names_in(entries: Iterable[Levels], id: Levels) -> list[str]:
    return sorted(each[-1] for each in entries if each and each[:-1] == id)


def _below(entries: Iterable[Levels], id: Levels) -> list[Levels]:
    return sorted(each for each in entries if len(each) > len(id) and each[: len(id)] == id)
