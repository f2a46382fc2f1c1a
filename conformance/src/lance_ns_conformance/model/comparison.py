"""A backend beside the model: each operation is played on both, and every answer must be the same."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lance_ns import errors
from lance_ns.capabilities import TABLE_OPERATIONS
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.model.contract import Kept, Model
from lance_ns_conformance.model.steps import KEYS
from lance_ns_conformance.scenarios.paging import pages
from lance_ns_conformance.world import World


class Comparison:
    """Plays operations. Identifiers begin below the catalog's base; names there are the world's own."""

    def __init__(self, ns: Namespace, world: World) -> None:
        expect = world.expect
        self.world = world
        self.backend = Backend(ns, world)
        self.model = Model(
            capabilities=ns.capabilities,
            shared_names=expect.shared_names,
            drop_of_missing_succeeds=expect.drop_of_missing_succeeds,
        )
        self.played = 0

    def play(self, do: str, **arguments: Any) -> None:
        """Play one operation on both; one that the catalog's depth does not allow is made to fit, or left out.

        Raises:
            AssertionError: the answers differ.
        """
        self.played += 1
        id = self._fitting(do, tuple(arguments.pop("id")))
        to = arguments.get("to")
        if id is None or (to and self.world.shown(to) == self.world.shown(id[-1])):
            return
        for name in ("properties", "updates"):
            if name in arguments:
                arguments[name] = self._storable(do, arguments[name])
        found = outcome(lambda: getattr(self.backend, do)(id, **arguments))
        if found is errors.InvalidInput and self._may_be_refused((*id, *([to] if to else ()))):
            return
        known = {name: self.world.shown(value) if name == "to" else value for name, value in arguments.items()}
        expected = outcome(lambda: getattr(self.model, do)(self._shown(id), **known))
        told = ", ".join([repr(list(id)), *(f"{name}={value!r}" for name, value in arguments.items())])
        gave, says = _told(found), _told(expected)
        assert found == expected, f"operation {self.played}, {do}({told}): the backend gave {gave}, the contract {says}"

    def everything(self) -> None:
        """Compare all that there is.

        Raises:
            AssertionError: something differs.
        """
        for id in sorted(self.model.namespaces):
            self.play("list_namespaces", id=id)
            self.play("list_tables", id=id)
            if len(id) == 1:
                self.play("list_all_tables", id=id)
        for id in sorted(self.model.tables):
            self.play("describe_table", id=id)

    def _fitting(self, do: str, id: Levels) -> Levels | None:
        """The identifier at a depth that the catalog has."""
        expect = self.world.expect
        about_a_table = do in TABLE_OPERATIONS
        parent = (id[:-1] if about_a_table else id)[: expect.max_depth]
        if not parent and not expect.tables_at_base and (about_a_table or do == "list_tables"):
            return None
        if do == "list_namespaces" and len(parent) == expect.max_depth:
            return None
        return (*parent, id[-1]) if about_a_table else parent

    def _storable(self, do: str, properties: Mapping[str, str]) -> Kept:
        """Properties without those that the catalog cannot keep."""
        expect = self.world.expect
        if not (expect.namespace_properties if "namespace" in do else expect.table_properties):
            return {}
        if expect.property_values:
            return dict(properties)
        return {key: value for key, value in properties.items() if value and f"{key}{value}".isascii()}

    def _may_be_refused(self, names: Levels) -> bool:
        """Whether a catalog may say that it cannot have such names: then it has nothing by them."""
        unusual = not all(name.isidentifier() and name.isascii() for name in names)
        id = self._shown(names)
        return unusual and not (self.model.namespace_exists(id) or self.model.table_exists(id))

    def _shown(self, id: Levels) -> Levels:
        return tuple(map(self.world.shown, id))


class Backend:
    """The model's operations on a connection, with answers in the model's terms."""

    def __init__(self, ns: Namespace, world: World) -> None:
        self.ns = ns
        self.world = world
        self.own = world.name("")
        self.locations: dict[Levels, str | None] = {}

    def create_namespace(self, id: Levels, mode: str, properties: Mapping[str, str]) -> Kept:
        """The properties in the answer."""
        return _known(self.ns.create_namespace(self._id(id), mode=mode, properties=properties).properties)

    def describe_namespace(self, id: Levels) -> Kept:
        """The properties in the answer."""
        return _known(self.ns.describe_namespace(self._id(id)).properties)

    def namespace_exists(self, id: Levels) -> bool:
        """The answer."""
        return self.ns.namespace_exists(self._id(id))

    def list_namespaces(self, id: Levels, limit: int | None = None) -> list[str]:
        """The names on all pages."""
        ask, every = self.ns.list_namespaces_page, self.ns.list_namespaces
        return self._own(id, pages(ask, self._id(id), limit) if limit else every(self._id(id)))

    def drop_namespace(self, id: Levels, mode: str, behavior: str) -> None:
        """Nothing: what a dropped namespace had is not promised."""
        self.ns.drop_namespace(self._id(id), mode=mode, behavior=behavior)

    def declare_table(self, id: Levels, properties: Mapping[str, str]) -> Kept:
        """The properties that the new table has."""
        location = self.ns.declare_table(self._id(id), properties=properties).location
        self._remember(id, location)
        return dict(properties)

    def describe_table(self, id: Levels) -> Kept:
        """The properties in the answer."""
        answer = self.ns.describe_table(self._id(id))
        before = self.locations.get(self._key(id))
        assert answer.location == before, f"{id} was declared at {before} and is described at {answer.location}"
        return _known(answer.properties)

    def table_exists(self, id: Levels) -> bool:
        """The answer."""
        return self.ns.table_exists(self._id(id))

    def list_tables(self, id: Levels, limit: int | None = None) -> list[str]:
        """The names on all pages."""
        ask, every = self.ns.list_tables_page, self.ns.list_tables
        return self._own(id, pages(ask, self._id(id), limit) if limit else every(self._id(id)))

    def list_all_tables(self, id: Levels) -> list[Levels]:
        """The tables below, by the identifiers that the model has."""
        begin = len(self.world.expect.base)
        found = [self._key(each[begin:]) for each in self.ns.list_all_tables(self._id(id))]
        return sorted((first.removesuffix(self.own), *rest) for first, *rest in found)

    def deregister_table(self, id: Levels) -> None:
        """Nothing."""
        self.ns.deregister_table(self._id(id))

    def rename_table(self, id: Levels, to: str) -> None:
        """Nothing."""
        self.ns.rename_table(self._id(id), self._id((*id[:-1], to))[-1])
        self._remember((*id[:-1], to), self.locations.get(self._key(id)))

    def alter_table_properties(self, id: Levels, updates: Mapping[str, str], removals: Sequence[str]) -> Kept:
        """The properties in the answer."""
        return _known(self.ns.alter_table_properties(self._id(id), updates, removals=removals).properties)

    def _remember(self, id: Levels, location: str | None) -> None:
        self.locations[self._key(id)] = location

    def _key(self, id: Levels) -> Levels:
        return tuple(map(self.world.shown, id))

    def _id(self, id: Levels) -> Levels:
        """The identifier in the catalog: nobody else uses the world's names."""
        return (*self.world.expect.base, *([self.world.name(id[0]), *id[1:]] if id else ()))

    def _own(self, id: Levels, names: Iterable[str]) -> list[str]:
        """Names in order; directly below the base, where others have theirs, our own without what marks them."""
        if id:
            return sorted(names)
        return sorted(name.removesuffix(self.own) for name in names if name.endswith(self.own))


def outcome(call: Callable[[], Any]) -> Any:
    """What a call gives: its value, or the class of the error that it raises."""
    try:
        return call()
    except errors.LanceNsError as error:
        return type(error)


def _known(properties: Mapping[str, str] | None) -> Kept:
    """The properties that operations set; a catalog may add its own."""
    return {key: value for key, value in (properties or {}).items() if key in KEYS}


def _told(outcome: Any) -> str:
    return outcome.__name__ if isinstance(outcome, type) else repr(outcome)
