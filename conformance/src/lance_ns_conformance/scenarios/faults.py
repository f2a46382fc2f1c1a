"""Trouble on the way to the server: every operation gives the right result or a typed error, and nothing is lost."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

import attrs

from lance_ns.errors import ErrorCode, LanceNsError
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns_conformance import faults
from lance_ns_conformance.scenario import scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.scenarios.paging import pages
from lance_ns_conformance.world import World

ALLOWED = (ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.INTERNAL, ErrorCode.THROTTLING)
FAULTS: dict[str, Callable[[], faults.Fault]] = {
    "an answer that comes late": lambda: faults.latency(0.2),
    "a connection reset before the server got the request": faults.reset_before,
    "a connection reset after the server did it": faults.reset_after,
    "an answer cut in the middle": faults.truncated,
    "a page for people in the place of the answer": faults.html,
    "a page for people after the server did it": lambda: faults.html(forward=True),
    "a refusal for too many calls": faults.throttled,
    "a server that is busy": faults.unavailable,
    "a gateway that lost the answer": lambda: faults.unavailable(forward=True),
    "silence": faults.stalled,
    "silence after the server did it": lambda: faults.stalled(forward=True),
    "an end of the stream": faults.half_closed,
}
HTTP_ONLY = ("html", "status")


@attrs.frozen
class Troubled:
    """A connection whose way to the server makes trouble on order, and a quiet one beside it."""

    ns: Namespace
    quiet: Namespace
    proxy: faults.FaultProxy

    def kinds(self) -> Iterator[tuple[str, faults.Fault]]:
        """Every fault that this protocol can have."""
        for words, make in FAULTS.items():
            if self.proxy.protocol == "http" or make().kind not in HTTP_ONLY:
                yield words, make()

    def reads(self, call: Callable[[Namespace], Any]) -> None:
        """A call that only reads gives what it gives in quiet, or a typed error."""
        expected = call(self.quiet)
        for words, fault in self.kinds():
            for position in range(2):
                failed, found = self._meets(fault, position, call)
                assert failed or found == expected, f"{words}: {found!r} instead of {expected!r}"

    def writes(
        self, call: Callable[[Namespace, int], Any], is_done: Callable[[int], bool], prepare: Callable[[int], Any]
    ) -> None:
        """A call that changes something has done it, or failed with a typed error; then it can be done again."""
        number = 0
        for words, fault in self.kinds():
            for position in range(2):
                number += 1
                prepare(number)
                failed, _ = self._meets(fault, position, partial(_flipped, call, number))
                done = is_done(number)
                assert failed or done, f"{words}: told that it was done, and it is not"
                if not done:
                    call(self.quiet, number)
                    assert is_done(number), f"{words}: it cannot be done afterwards"

    def _meets(self, fault: faults.Fault, position: int, call: Callable[[Namespace], Any]) -> tuple[bool, Any]:
        """Call with trouble on the first request, or on the second; whether it failed, and what it gave."""
        self.proxy.clear()
        self.proxy.order(*([faults.latency(0)] * position), fault)
        try:
            return False, call(self.ns)
        except LanceNsError as error:
            if error.code not in ALLOWED:
                raise AssertionError(f"{fault.kind}: {error}") from error
            return True, None
        finally:
            self.proxy.clear()


@contextmanager
def troubled(ns: Namespace, world: World) -> Iterator[Troubled]:
    """Put a proxy between a connection and the server."""
    description = world.subject.description
    if description is None or description.endpoint is None:
        world.skip("there is no way to a server on which trouble could be made")
    address = urlsplit(str(world.properties()[description.endpoint]))
    if address.scheme == "https" or not address.hostname or not address.port:
        world.skip("trouble can only be made on a plain connection to a host and port")
    protocol: Literal["tcp", "http"] = "tcp" if description.records == "thrift" else "http"
    with faults.FaultProxy(address.hostname, address.port, protocol=protocol) as proxy:
        through = address._replace(netloc=f"127.0.0.1:{proxy.port}").geturl()
        hasty = {description.endpoint: through, **description.hasty}
        with connected_with(world, hasty) as other:
            other.namespace_exists((*world.expect.base, "warm"))  # what is asked once in a connection has been asked
            yield Troubled(other, ns, proxy)


def _flipped(call: Callable[[Namespace, int], Any], number: int, ns: Namespace) -> Any:
    return call(ns, number)


def numbered(id: Levels, number: int) -> Levels:
    return (*id[:-1], f"n{number}{id[-1]}")  # ends as the scenario's names do, by which they are tidied up


@scenario(
    "creating a namespace under trouble is done or says so",
    robust=True,
    live_only=True,
    clauses=["contract.data-safety.9"],
)
def create_namespace(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    names = (*id, "child") if world.child_possible() else world.namespace("n")
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.create_namespace(numbered(names, number), properties={"k": "v"}),
            lambda number: ns.namespace_exists(numbered(names, number)),
            lambda _: None,
        )


@scenario(
    "listing and describing namespaces under trouble is right or fails",
    robust=True,
    live_only=True,
    clauses=["contract.exists.9", "contract.data-safety.10"],
)
def read_namespaces(ns: Namespace, world: World) -> None:
    id = world.created(ns, properties={"k": "v"})
    with troubled(ns, world) as trouble:
        trouble.reads(lambda each: dict(each.describe_namespace(id).properties or {}))
        trouble.reads(lambda each: world.shown(id[-1]) in list(each.list_namespaces(world.expect.base)))
        trouble.reads(lambda each: each.namespace_exists(id))
        trouble.reads(lambda each: each.namespace_exists((*id[:-1], "absent")))


@scenario("dropping a namespace under trouble is done or says so", robust=True, live_only=True)
def drop_namespace(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    names = (*id, "child") if world.child_possible() else world.namespace("n")
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.drop_namespace(numbered(names, number)),
            lambda number: not ns.namespace_exists(numbered(names, number)),
            lambda number: ns.create_namespace(numbered(names, number)),
        )


@scenario(
    "declaring a table under trouble is done or says so",
    robust=True,
    live_only=True,
    clauses=["contract.data-safety.9"],
)
def declare_table(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.declare_table(numbered(table, number), properties={"k": "v"}),
            lambda number: ns.table_exists(numbered(table, number)),
            lambda _: None,
        )


@scenario(
    "listing and describing tables under trouble is right or fails, and never empty",
    robust=True,
    live_only=True,
    clauses=["contract.paging.14", "contract.exists.9", "contract.data-safety.10"],
)
def read_tables(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for name in ("t1", "t2", "t3"):
        ns.declare_table((*id, name), properties={"k": name})
    with troubled(ns, world) as trouble:
        trouble.reads(lambda each: sorted(each.list_tables(id)))
        trouble.reads(lambda each: sorted(pages(each.list_tables_page, id, 1)))
        trouble.reads(lambda each: each.describe_table((*id, "t1")).location)
        trouble.reads(lambda each: each.table_exists((*id, "t2")))
        trouble.reads(lambda each: each.table_exists((*id, "absent")))


@scenario("deregistering a table under trouble is done or says so", robust=True, live_only=True)
def deregister_table(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.deregister_table(numbered(table, number)),
            lambda number: not ns.table_exists(numbered(table, number)),
            lambda number: ns.declare_table(numbered(table, number)),
        )


@scenario("renaming a table under trouble is done or says so", robust=True, live_only=True, needs=["rename_table"])
def rename_table(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.rename_table(numbered(table, number), f"moved{number}"),
            lambda number: ns.table_exists((*table[:-1], f"moved{number}")),
            lambda number: ns.declare_table(numbered(table, number)),
        )


@scenario(
    "altering properties of a table under trouble is done or says so",
    robust=True,
    live_only=True,
    needs=["alter_table_properties"],
)
def alter_table_properties(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    ns.declare_table(table)
    with troubled(ns, world) as trouble:
        trouble.writes(
            lambda each, number: each.alter_table_properties(table, updates={f"k{number}": "v"}),
            lambda number: (ns.describe_table(table).properties or {}).get(f"k{number}") == "v",
            lambda _: None,
        )
    assert (ns.describe_table(table).properties or {}).items() >= {"k1": "v"}.items()
