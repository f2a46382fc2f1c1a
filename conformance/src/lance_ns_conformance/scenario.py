"""What a scenario is, and the collection of all of them."""

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import attrs

from lance_ns.capabilities import BASIC, KNOWN
from lance_ns.errors import ErrorCode, LanceNsError, error_class
from lance_ns.namespace import Namespace

if TYPE_CHECKING:
    from lance_ns_conformance.world import World

Body = Callable[[Namespace, "World"], None]


@attrs.frozen(eq=False)
class Scenario:
    """One behaviour that a backend must show.

    Attributes:
        id: stable, `module.function`.
        title: the behaviour as a sentence.
        body: shows it on a connection, and raises when it is not so.
        clauses: the ids of the clauses that it proves.
        needs: the capabilities without which it does not apply.
        live_only: whether it depends on timing, and so cannot be replayed.
        dialect: whether servers of one catalog can differ in it: errors, paging, locations, identification.
        robust: whether it makes trouble on the way to the server, which only some runs ask for.
        backends: whose own behaviour it is; none for one that every backend must show.
    """

    id: str
    title: str
    body: Body
    clauses: tuple[str, ...]
    needs: frozenset[str]
    live_only: bool
    dialect: bool = False
    robust: bool = False
    backends: frozenset[str] = frozenset()

    @property
    def level(self) -> str:
        """*basic* when it needs nothing but the eight basic operations, else *full*; *robust* with faults."""
        if self.robust:
            return "robust"
        return "basic" if self.needs <= BASIC else "full"


class NotApplicable(Exception):
    """A scenario found out that it does not apply to this catalog; the message says why."""


_found: dict[str, Scenario] = {}


def scenario(
    title: str,
    *,
    clauses: Iterable[str] = (),
    needs: Iterable[str] = (),
    live_only: bool = False,
    dialect: bool = False,
    robust: bool = False,
    backends: Iterable[str] = (),
) -> Callable[[Body], Body]:
    """Make a scenario of a function over a connection and a world of names."""

    def collect(body: Body) -> Body:
        needed = frozenset(needs)
        if not needed <= KNOWN:
            raise ValueError(f"{title}: unknown capabilities {', '.join(sorted(needed - KNOWN))}")
        id = f"{body.__module__.rpartition('.')[2]}.{body.__name__}"
        if id in _found and _found[id].body is not body:
            raise ValueError(f"two scenarios are called {id}")
        _found[id] = Scenario(id, title, body, tuple(clauses), needed, live_only, dialect, robust, frozenset(backends))
        return body

    return collect


@cache
def every_scenario() -> tuple[Scenario, ...]:
    """All scenarios of the kit, in a stable order."""
    from lance_ns_conformance import scenarios

    for module in iter_modules(scenarios.__path__):
        import_module(f"{scenarios.__name__}.{module.name}")
    return tuple(sorted(_found.values(), key=lambda each: each.id))


@contextmanager
def raises(*codes: ErrorCode) -> Generator[None]:
    """Expect an error with one of some codes, and that it says where it happened."""
    expected = " or ".join(error_class(code).__name__ for code in codes)
    caught: LanceNsError | None = None
    try:
        yield
    except LanceNsError as error:
        caught = error
    assert caught is not None, f"expected {expected}, and nothing was raised"
    assert caught.code in codes, f"expected {expected}, got {caught}"
    assert caught.backend, f"the error does not name its backend: {caught!r}"
    assert caught.message, "the error has no message"
