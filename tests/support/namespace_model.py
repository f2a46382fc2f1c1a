"""The namespace contract as a small model, and a state machine that holds any backend to it.

A backend's test derives from `NamespaceMachine`, says how to connect and what its catalog cannot do, and gets random
sequences of operations whose every answer is compared with the model's.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import lance_ns
from lance_ns import errors
from lance_ns.identifiers import Levels

NAMES = ["a", "b", "Zeta_9", "ünï", "per%20cent", "sp ace", "dot.ted"]
PROPERTIES = st.dictionaries(
    st.sampled_from(["owner", "größe", "empty"]), st.sampled_from(["", "x", "ü%/$"]), max_size=2
)


class Model:
    """What a catalog must do, in memory."""

    def __init__(self, *, shared_names: bool) -> None:
        self.namespaces: dict[Levels, dict[str, str]] = {(): {}}
        self.tables: dict[Levels, dict[str, str]] = {}
        self.shared_names = shared_names

    def children(self, id: Levels) -> list[str]:
        self._require(id)
        return sorted(each[-1] for each in self.namespaces if each and each[:-1] == id)

    def tables_of(self, id: Levels) -> list[str]:
        self._require(id)
        return sorted(each[-1] for each in self.tables if each[:-1] == id)

    def below(self, id: Levels) -> list[Levels]:
        return sorted(each for each in self.tables if each[: len(id)] == id)

    def create_namespace(self, id: Levels, mode: str, properties: dict[str, str]) -> dict[str, str]:
        self._require(id[:-1])
        if self.shared_names and id in self.tables:
            raise errors.NamespaceAlreadyExists("a table has this name")
        if id in self.namespaces:
            if mode == "create":
                raise errors.NamespaceAlreadyExists("there is one")
            if mode == "exist_ok":
                return self.namespaces[id]
            if self.children(id) or self.tables_of(id):
                raise errors.NamespaceNotEmpty("not empty")
        self.namespaces[id] = dict(properties)
        return self.namespaces[id]

    def describe_namespace(self, id: Levels) -> dict[str, str]:
        self._require(id)
        return self.namespaces[id]

    def drop_namespace(self, id: Levels, mode: str, behavior: str) -> None:
        if id not in self.namespaces:
            if mode == "skip":
                return
            raise errors.NamespaceNotFound("none")
        if (self.children(id) or self.tables_of(id)) and behavior == "restrict":
            raise errors.NamespaceNotEmpty("not empty")
        for entries in (self.namespaces, self.tables):
            for each in [each for each in entries if each[: len(id)] == id]:
                del entries[each]

    def declare_table(self, id: Levels, properties: dict[str, str]) -> None:
        self._require(id[:-1])
        if id in self.tables or (self.shared_names and id in self.namespaces):
            raise errors.TableAlreadyExists("there is one")
        self.tables[id] = dict(properties)

    def describe_table(self, id: Levels) -> dict[str, str]:
        if id not in self.tables:
            raise errors.TableNotFound("none")
        return self.tables[id]

    def deregister_table(self, id: Levels) -> None:
        self.describe_table(id)
        del self.tables[id]

    def _require(self, id: Levels) -> None:
        if id not in self.namespaces:
            raise errors.NamespaceNotFound("none")


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives: its value, or the class of the error that it raises."""
    try:
        return call()
    except errors.LanceNsError as error:
        return type(error)


class NamespaceMachine(RuleBasedStateMachine):
    """Random operations on a backend and on the model; every answer must be the same."""

    shared_names: ClassVar[bool] = False
    cascade: ClassVar[bool] = False
    max_depth: ClassVar[int] = 3

    def open_connection(self) -> lance_ns.Namespace:
        """A connection to an empty catalog."""
        raise NotImplementedError

    @initialize()
    def connect(self) -> None:
        self.ns = self.open_connection()
        self.model = Model(shared_names=self.shared_names)

    def teardown(self) -> None:
        if hasattr(self, "ns"):
            self.ns.close()

    def compare(self, ours: Callable[[], Any], models: Callable[[], Any]) -> None:
        found, expected = outcome(ours), outcome(models)
        assert found == expected, f"the backend gave {found!r}, the contract says {expected!r}"

    @rule(
        id=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(tuple),
        mode=st.sampled_from(["create", "exist_ok", "overwrite"]),
        properties=PROPERTIES,
    )
    def create_namespace(self, id: Levels, mode: str, properties: dict[str, str]) -> None:
        self.compare(
            lambda: dict(self.ns.create_namespace(id, mode=mode, properties=properties).properties or {}),
            lambda: self.model.create_namespace(id, mode, properties),
        )

    @rule(
        id=st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(tuple),
        mode=st.sampled_from(["fail", "skip"]),
        behavior=st.sampled_from(["restrict", "cascade"]),
    )
    def drop_namespace(self, id: Levels, mode: str, behavior: str) -> None:
        if behavior == "cascade" and not self.cascade:
            assert outcome(lambda: self.ns.drop_namespace(id, mode=mode, behavior=behavior)) is errors.Unsupported
            return
        self.compare(
            lambda: self.ns.drop_namespace(id, mode=mode, behavior=behavior) and None,
            lambda: self.model.drop_namespace(id, mode, behavior),
        )

    @rule(id=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple), properties=PROPERTIES)
    def declare_table(self, id: Levels, properties: dict[str, str]) -> None:
        self.compare(
            lambda: self.ns.declare_table(id, properties=properties) and None,
            lambda: self.model.declare_table(id, properties),
        )

    @rule(id=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple))
    def describe_table(self, id: Levels) -> None:
        self.compare(lambda: dict(self.ns.describe_table(id).properties or {}), lambda: self.model.describe_table(id))
        assert self.ns.table_exists(id) == (id in self.model.tables)

    @rule(id=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map(tuple))
    def deregister_table(self, id: Levels) -> None:
        self.compare(lambda: self.ns.deregister_table(id) and None, lambda: self.model.deregister_table(id))

    @rule(id=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple))
    def describe_namespace(self, id: Levels) -> None:
        self.compare(
            lambda: dict(self.ns.describe_namespace(id).properties or {}), lambda: self.model.describe_namespace(id)
        )
        assert self.ns.namespace_exists(id) == (id in self.model.namespaces)

    @rule(id=st.lists(st.sampled_from(NAMES), max_size=2).map(tuple), limit=st.integers(1, 4))
    def list_page_by_page(self, id: Levels, limit: int) -> None:
        self.compare(
            lambda: sorted(_pages(self.ns.list_namespaces_page, "namespaces", id, limit)),
            lambda: self.model.children(id),
        )
        self.compare(
            lambda: sorted(_pages(self.ns.list_tables_page, "tables", id, limit)), lambda: self.model.tables_of(id)
        )

    @invariant()
    def lists_everything(self) -> None:
        if hasattr(self, "ns"):
            assert sorted(self.ns.list_all_tables()) == self.model.below(())


def _pages(page_of: Callable[..., Any], field: str, id: Levels, limit: int) -> list[str]:
    names: list[str] = []
    token = None
    while True:
        page = page_of(id, limit=limit, page_token=token)
        assert len(getattr(page, field)) <= limit
        names += getattr(page, field)
        token = page.page_token
        if token is None:
            return names
