"""The world of one scenario: names that nobody else uses, and the means to look at what happened."""

from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import attrs

from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient
from lance_ns_conformance.scenario import NotApplicable
from lance_ns_conformance.subject import Expectations, Subject, filled


@attrs.define
class World:
    """What a scenario may use beside its connection. Names follow from its id, so that recordings stay true."""

    subject: Subject
    scenario: str
    scratch: Path
    foreign: list[Levels] = attrs.field(factory=list, init=False)
    _native: NativeClient | None = attrs.field(default=None, init=False)

    @property
    def expect(self) -> Expectations:
        """In what the backend's catalog is known to differ."""
        return self.subject.expectations

    @property
    def native(self) -> NativeClient | None:
        """A client of the catalog that is not ours, or None where the plugin has none."""
        if self._native is None:
            self._native = self.subject.native(self.scratch)
        return self._native

    def connect(self) -> Namespace:
        """Another connection to the same catalog."""
        return self.subject.connect(self.scratch)

    def properties(self) -> dict[str, Any]:
        """The properties of the scenario's connections."""
        return filled(self.subject.properties, self.scratch)

    def skip(self, why: str) -> NoReturn:
        """Say that the scenario does not apply to this catalog, and why."""
        raise NotApplicable(why)

    def needs_nesting(self) -> None:
        """Skip the scenario where namespaces cannot be nested."""
        if not self.child_possible():
            self.skip("namespaces of this catalog do not nest")

    def needs_namespace_properties(self) -> None:
        """Skip the scenario where namespaces keep no properties."""
        if not self.expect.namespace_properties:
            self.skip("namespaces of this catalog keep no properties")

    def needs_table_properties(self) -> None:
        """Skip the scenario where tables keep no properties."""
        if not self.expect.table_properties:
            self.skip("tables of this catalog keep no properties")

    def needs_property_values(self) -> None:
        """Skip the scenario where a property may not be empty, or not in any script."""
        if not self.expect.property_values:
            self.skip("this catalog restricts the values of properties")

    def needs_native(self) -> NativeClient:
        """A client of the catalog that is not ours; the scenario is skipped where the plugin has none."""
        native = self.native
        if native is None:
            self.skip("the plugin has no client of the catalog that is not its own")
        return native

    def name(self, word: str = "x") -> str:
        """A plain name of this scenario's own, always the same for the same word."""
        return f"{word}_{sha256(self.scenario.encode()).hexdigest()[:8]}"

    def namespace(self, word: str = "ns") -> Levels:
        """The identifier of a namespace that does not exist yet."""
        return (*self.expect.base, self.name(word))

    def created(self, ns: Namespace, word: str = "ns", properties: dict[str, str] | None = None) -> Levels:
        """The identifier of a namespace that was created just now."""
        id = self.namespace(word)
        ns.create_namespace(id, properties=properties)
        return id

    def child_possible(self) -> bool:
        """Whether namespaces can be nested here."""
        return self.expect.max_depth is None or self.expect.max_depth > 1

    def shown(self, name: str) -> str:
        """A name as the catalog gives it back."""
        return name.lower() if self.expect.folds_case else name

    def close(self) -> None:
        """Let go of the client that is not ours."""
        if self._native is not None:
            self._native.close()
            self._native = None
