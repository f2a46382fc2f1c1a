"""The world of one scenario: names that nobody else uses, and the means to look at what happened."""

from hashlib import sha256
from pathlib import Path

import attrs

from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance.subject import Expectations, Subject


@attrs.define
class World:
    """What a scenario may use beside its connection. Names follow from its id, so that recordings stay true."""

    subject: Subject
    scenario: str
    scratch: Path

    @property
    def expect(self) -> Expectations:
        """In what the backend's catalog is known to differ."""
        return self.subject.expectations

    def connect(self) -> Namespace:
        """Another connection to the same catalog."""
        return self.subject.connect(self.scratch)

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
