"""The clauses: every rule of the contract, of the catalogs' specs and of the notes on them, in the kit's own words."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import attrs


@attrs.frozen(kw_only=True)
class Clause:
    """One rule.

    Attributes:
        id: stable, by file and heading.
        text: the rule.
        reference: where it comes from, file and heading.
        backends: whom it concerns; `*` is everybody.
        operations: the operations it is about; none for what concerns connecting.
        codes: the error codes it names.
        decision: the clause that settles what its source leaves open.
        reason: why no scenario can prove it.
    """

    id: str
    text: str
    reference: str
    backends: tuple[str, ...] = attrs.field(converter=tuple)
    operations: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    codes: tuple[int, ...] = attrs.field(default=(), converter=tuple)
    decision: str | None = None
    reason: str | None = None

    def concerns(self, backend: str) -> bool:
        """Whether a backend is held to it."""
        return bool({"*", backend} & set(self.backends))


@cache
def every_clause() -> dict[str, Clause]:
    """All clauses by their ids."""
    found: dict[str, Clause] = {}
    for clause in _read():
        if clause.id in found:
            raise ValueError(f"two clauses are called {clause.id}")
        found[clause.id] = clause
    return found


def _read() -> Iterator[Clause]:
    import tomllib

    for source in sorted(files(__name__).iterdir(), key=lambda each: each.name):
        if source.name.endswith(".toml"):
            for content in tomllib.loads(source.read_text(encoding="utf-8"))["clause"]:
                yield Clause(**content)
