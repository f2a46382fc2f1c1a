"""Trouble on the way: the right result or a typed error, never a wrong or empty answer, and a consistent catalog."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from iceberg_catalog import LANCE, Catalog, no_such
from small_server import RESET, Asked, Reply

import lance_ns
from lance_ns.errors import ErrorCode, LanceNsError, ServiceUnavailable, TableAlreadyExists
from lance_ns.rest import retrying
from servers.faults import (
    Fault,
    FaultProxy,
    half_closed,
    html,
    latency,
    reset_after,
    reset_before,
    stalled,
    throttled,
    truncated,
    unavailable,
)

Id = tuple[str, ...]

FAULTS: dict[str, Fault] = {
    "late": latency(0.05),
    "reset before": reset_before(),
    "reset after": reset_after(),
    "truncated": truncated(),
    "page": html(),
    "page after": html(forward=True),
    "429": throttled(),
    "429 with Retry-After": throttled("1"),
    "503": unavailable(),
    "503 with Retry-After": unavailable("1"),
    "503 after": unavailable(forward=True),
    "stall": stalled(),
    "stall after": stalled(forward=True),
    "half closed": half_closed(),
    "half closed after": half_closed(forward=True),
}
HARMLESS = {"late", "429", "429 with Retry-After"}
"""After these nobody can doubt what became of a request."""
CONFIGURATION = ("/v1/config", "/v1/lance/namespaces?pageToken=")
"""What a connection asks first; that is the same for all operations, so some of them try it for all."""
FROM_THE_BEGINNING = {"create namespace", "list tables of a missing namespace", "missing exists", "deregister"}
REFUSED = {"declare what exists", "rename to what exists"}
"""Changes that are never made."""
TYPED = {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.INTERNAL, ErrorCode.THROTTLING}


def always(*_: Any) -> bool:
    return True


def nothing(*_: Any) -> None:
    pass


@dataclass(frozen=True)
class Operation:
    """An operation on something of its own.

    Attributes:
        run: does it; what it returns is compared.
        right: what is right: a value, or the code of an error.
        prepare: makes what the operation needs.
        done: whether it has been done.
        when_done: what it says when it is run again after it was done, besides a success.
    """

    run: Callable[[lance_ns.Namespace, Id], Any]
    right: Callable[[lance_ns.Namespace, Id], Any] = nothing
    prepare: Callable[[lance_ns.Namespace, Id], Any] = nothing
    done: Callable[[lance_ns.Namespace, Id], bool] = always
    when_done: frozenset[int] = field(default_factory=frozenset)


def place(ns: lance_ns.Namespace, id: Id, suffix: str = "") -> str:
    return f"{ns._config.root}/{id[-1]}{suffix}"


def declared(ns: lance_ns.Namespace, id: Id) -> None:
    ns.declare_table(id, location=place(ns, id), properties={"a": "1", "b": "2"})


def ours(answer: Any) -> dict[str, str]:
    """The properties in an answer, without those that a server adds."""
    return {key: value for key, value in answer.properties.items() if key in ("a", "b", "c")}


def told(answer: Any) -> tuple[str, dict[str, str]]:
    return answer.location, ours(answer)


def renamed(id: Id) -> Id:
    return (*id[:-1], f"{id[-1]}_new")


OPERATIONS: dict[str, Operation] = {
    "create namespace": Operation(
        run=lambda ns, at: ns.create_namespace(at, properties={"a": "1"}).properties,
        right=lambda *_: {"a": "1"},
        done=lambda ns, at: ns.namespace_exists(at),
        when_done=frozenset({2}),
    ),
    "create namespace, if missing": Operation(
        prepare=lambda ns, at: ns.create_namespace(at, properties={"a": "1"}),
        run=lambda ns, at: ours(ns.create_namespace(at, mode="exist_ok")),
        right=lambda *_: {"a": "1"},
    ),
    "create namespace, overwriting": Operation(
        prepare=lambda ns, at: ns.create_namespace(at, properties={"a": "1", "b": "2"}),
        run=lambda ns, at: ns.create_namespace(at, mode="overwrite", properties={"b": "3"}).properties,
        right=lambda *_: {"b": "3"},
        done=lambda ns, at: ours(ns.describe_namespace(at)) == {"b": "3"},
    ),
    "create namespace, overwriting more": Operation(
        prepare=lambda ns, at: ns.create_namespace(at, properties={"a": "1", "b": "2"}),
        run=lambda ns, at: ns.create_namespace(at, mode="overwrite", properties={"b": "2"}).properties,
        right=lambda *_: {"b": "2"},
        done=lambda ns, at: ours(ns.describe_namespace(at)) == {"b": "2"},
    ),
    "create namespace in a missing one": Operation(
        run=lambda ns, at: ns.create_namespace((*at, "child")), right=lambda *_: ErrorCode.NAMESPACE_NOT_FOUND
    ),
    "describe namespace": Operation(
        prepare=lambda ns, at: ns.create_namespace(at, properties={"a": "1"}),
        run=lambda ns, at: ours(ns.describe_namespace(at)),
        right=lambda *_: {"a": "1"},
    ),
    "describe missing namespace": Operation(
        run=lambda ns, at: ns.describe_namespace(at), right=lambda *_: ErrorCode.NAMESPACE_NOT_FOUND
    ),
    "namespace exists": Operation(
        prepare=lambda ns, at: ns.create_namespace(at),
        run=lambda ns, at: ns.namespace_exists(at),
        right=lambda *_: True,
    ),
    "missing namespace exists": Operation(run=lambda ns, at: ns.namespace_exists(at), right=lambda *_: False),
    "drop namespace": Operation(
        prepare=lambda ns, at: ns.create_namespace(at),
        run=lambda ns, at: ns.drop_namespace(at) and None,
        done=lambda ns, at: not ns.namespace_exists(at),
    ),
    "drop namespace with tables": Operation(
        prepare=lambda ns, at: (ns.create_namespace(at), declared(ns, (*at, "t"))),
        run=lambda ns, at: ns.drop_namespace(at),
        right=lambda *_: ErrorCode.NAMESPACE_NOT_EMPTY,
        done=lambda ns, at: ns.table_exists((*at, "t")),
    ),
    "list namespaces": Operation(
        prepare=lambda ns, at: (
            ns.create_namespace(at),
            ns.create_namespace((*at, "a")),
            ns.create_namespace((*at, "b")),
        ),
        run=lambda ns, at: list(ns.list_namespaces(at)),
        right=lambda *_: ["a", "b"],
    ),
    "list namespaces of a missing one": Operation(
        run=lambda ns, at: list(ns.list_namespaces(at)), right=lambda *_: ErrorCode.NAMESPACE_NOT_FOUND
    ),
    "list tables": Operation(
        prepare=lambda ns, at: (ns.create_namespace(at), declared(ns, (*at, "s")), declared(ns, (*at, "t"))),
        run=lambda ns, at: list(ns.list_tables(at)),
        right=lambda *_: ["s", "t"],
    ),
    "list tables of a missing namespace": Operation(
        run=lambda ns, at: list(ns.list_tables(at)), right=lambda *_: ErrorCode.NAMESPACE_NOT_FOUND
    ),
    "declare": Operation(
        run=lambda ns, at: ns.declare_table(at, location=place(ns, at), properties={"a": "1"}).location,
        right=place,
        done=lambda ns, at: ns.table_exists(at),
        when_done=frozenset({5}),
    ),
    "declare what exists": Operation(
        prepare=declared,
        run=lambda ns, at: ns.declare_table(at, location=place(ns, at, "_elsewhere")),
        right=lambda *_: ErrorCode.TABLE_ALREADY_EXISTS,
        done=lambda ns, at: ns.describe_table(at).location == place(ns, at),
    ),
    "declare in a missing namespace": Operation(
        run=lambda ns, at: ns.declare_table((*at, "t")), right=lambda *_: ErrorCode.NAMESPACE_NOT_FOUND
    ),
    "register": Operation(
        run=lambda ns, at: ns.register_table(at, place(ns, at)).location,
        right=place,
        done=lambda ns, at: ns.table_exists(at),
        when_done=frozenset({5}),
    ),
    "register, overwriting": Operation(
        prepare=declared,
        run=lambda ns, at: (
            ns.register_table(at, place(ns, at, "_moved"), mode="overwrite", properties={"c": "3"}).location
        ),
        right=lambda ns, at: place(ns, at, "_moved"),
        done=lambda ns, at: (
            ours(ns.describe_table(at)) == {"c": "3"} and ns.describe_table(at).location == place(ns, at, "_moved")
        ),
    ),
    "describe": Operation(
        prepare=declared,
        run=lambda ns, at: told(ns.describe_table(at)),
        right=lambda ns, at: (place(ns, at), {"a": "1", "b": "2"}),
    ),
    "describe missing": Operation(run=lambda ns, at: ns.describe_table(at), right=lambda *_: ErrorCode.TABLE_NOT_FOUND),
    "exists": Operation(prepare=declared, run=lambda ns, at: ns.table_exists(at), right=lambda *_: True),
    "missing exists": Operation(run=lambda ns, at: ns.table_exists(at), right=lambda *_: False),
    "rename": Operation(
        prepare=declared,
        run=lambda ns, at: ns.rename_table(at, renamed(at)[-1]) and None,
        done=lambda ns, at: ns.table_exists(renamed(at)) and not ns.table_exists(at),
        when_done=frozenset({4}),
    ),
    "rename to what exists": Operation(
        prepare=lambda ns, at: (declared(ns, at), declared(ns, renamed(at))),
        run=lambda ns, at: ns.rename_table(at, renamed(at)[-1]),
        right=lambda *_: ErrorCode.TABLE_ALREADY_EXISTS,
        done=lambda ns, at: ns.table_exists(renamed(at)) and ns.table_exists(at),
    ),
    "alter": Operation(
        prepare=declared,
        run=lambda ns, at: ours(ns.alter_table_properties(at, {"a": "3", "c": "4"}, removals=["b"])),
        right=lambda *_: {"a": "3", "c": "4"},
        done=lambda ns, at: ours(ns.describe_table(at)) == {"a": "3", "c": "4"},
    ),
    "deregister": Operation(
        prepare=declared,
        run=lambda ns, at: ns.deregister_table(at).location,
        right=place,
        done=lambda ns, at: not ns.table_exists(at),
        when_done=frozenset({4}),
    ),
    "deregister missing": Operation(
        run=lambda ns, at: ns.deregister_table(at), right=lambda *_: ErrorCode.TABLE_NOT_FOUND
    ),
}


class Trial:
    """A catalog, and the same one behind a proxy that makes trouble."""

    def __init__(self, properties: dict[str, Any], proxy: FaultProxy, direct: lance_ns.Namespace) -> None:
        self._properties = {**properties, "endpoint": proxy.url, "max_retries": 1}
        self._proxy = proxy
        self._direct = direct
        self._space = (properties["warehouse"], f"f{uuid4().hex[:8]}")
        self._numbers = count()
        direct.create_namespace(self._space)

    def requests(self, operation: Operation) -> list[Any]:
        """What an operation asks of a server that makes no trouble."""
        assert self.outcome(operation) == ""
        return [*self._proxy.seen]

    def outcome(self, operation: Operation, *faults: Fault, patient: bool = True) -> str:
        """What comes of an operation, "" if all is well."""
        id = (*self._space, f"x{next(self._numbers)}")
        operation.prepare(self._direct, id)
        self._proxy.clear()
        self._proxy.order(*faults)
        timeout = 60_000 if patient else 700
        with lance_ns.connect("iceberg", {**self._properties, "read_timeout": timeout}) as ns:
            said = self._said(operation, ns, id)
        if said == operation.right(self._direct, id):
            return "" if operation.done(self._direct, id) else "reported, not done"
        if not isinstance(said, ErrorCode) or said not in TYPED:
            return f"wrong: {said!r}"
        done = operation.done(self._direct, id)
        again = self._said(operation, self._direct, id)
        if again != operation.right(self._direct, id) and not (done and again in operation.when_done):
            return f"then wrong: {again!r}"
        if not operation.done(self._direct, id):
            return "repeated, not done"
        return f"error {int(said)}"

    @staticmethod
    def _said(operation: Operation, ns: lance_ns.Namespace, id: Id) -> Any:
        try:
            return operation.run(ns, id)
        except LanceNsError as error:
            return error.code


@pytest.fixture(scope="module")
def trial(live_server, tmp_path_factory) -> Iterator[Trial]:
    server = live_server("iceberg")
    properties = {key: value for key, value in server.properties.items() if key != "backend"}
    properties["root"] = str(tmp_path_factory.mktemp("lake"))
    patch = pytest.MonkeyPatch()
    patch.setattr(retrying, "sleep", nothing)  # pauses are tested elsewhere
    with FaultProxy("127.0.0.1", server.port) as proxy, lance_ns.connect("iceberg", properties) as direct:
        yield Trial(properties, proxy, direct)
    patch.undo()


@pytest.mark.live("iceberg")
@pytest.mark.parametrize("name", OPERATIONS)
def test_any_fault_of_any_request_leaves_the_right_result_or_a_typed_error(trial, name):
    operation = OPERATIONS[name]
    rows = []
    for position, seen in enumerate(trial.requests(operation)):
        if seen.target.startswith(CONFIGURATION) and name not in FROM_THE_BEGINNING:
            continue
        method, before = seen.method, [latency(0.0)] * position
        for label, fault in FAULTS.items():
            stalls = fault.kind == "stall"
            found = trial.outcome(operation, *before, fault, patient=not stalls)
            # What may be sent again is overcome, and a change that was made is found made; others may fail.
            unmade = method == "POST" and label not in HARMLESS and (not fault.forward or name in REFUSED)
            # An answer without a body cannot be cut; what is sent next, on a connection that ends, may be lost.
            ends_behind = label == "truncated" and method in ("HEAD", "DELETE")
            may_fail = unmade or ends_behind or stalls
            rows.append((found == "" or (found.startswith("error") and may_fail), position, method, label, found))
        found = trial.outcome(operation, *before, reset_before(), reset_before())
        rows.append((found == "" or found.startswith("error"), position, method, "reset, twice", found))
    matrix = "\n".join(
        f"{'ok ' if fits else 'BAD'} request {position + 1} {method:6} {label:22} {found or 'right'}"
        for fits, position, method, label, found in rows
    )
    assert all(fits for fits, *_ in rows), f"{name}\n{matrix}"


# --- answers that were lost, without a server ----------------------------------------------------------------------


LOST = {
    "create namespace": (lambda ns: ns.create_namespace(["w", "n"], properties={"a": "b"}), "POST /v1/p/namespaces"),
    "overwrite namespace": (
        lambda ns: ns.create_namespace(["w", "n"], mode="overwrite", properties={"a": "b"}),
        "POST /v1/p/namespaces/n/properties",
    ),
    "declare": (lambda ns: ns.declare_table(["w", "n", "t"], location="/lake/t"), "POST /v1/p/namespaces/n/tables"),
    "register": (lambda ns: ns.register_table(["w", "n", "t"], "/lake/t"), "POST /v1/p/namespaces/n/tables"),
    "rename": (lambda ns: ns.rename_table(["w", "n", "old"], "t"), "POST /v1/p/tables/rename"),
    "alter": (lambda ns: ns.alter_table_properties(["w", "n", "t"], {"a": "b"}), "POST /v1/p/namespaces/n/tables/t"),
}


class Losing(Catalog):
    """Does what a request asks, or not, and never says so."""

    def __init__(self, lost: str, *, done: bool) -> None:
        super().__init__(defaults={"prefix": "p"})
        self._lost = lost
        self._does = done
        self.done = False

    def __call__(self, asked: Asked) -> Any:
        if f"{asked.method} {asked.target}" == self._lost:
            self.done = self._does
            return RESET
        if asked.method == "POST" and asked.target == "/v1/p/namespaces":
            return Reply(409, {"error": {"type": "AlreadyExistsException", "message": "there", "code": 409}})
        changed = {"a": "b"} if self.done else {}
        _, is_table, name = asked.target.partition("?")[0].partition("/tables/")
        if is_table:
            if not (self.done or self._lost.endswith("/tables/t") if name == "t" else not self.done):
                return no_such("Table")
            table = {**LANCE["metadata"], "properties": {"table_type": "lance", **changed}}
            return Reply(204) if asked.method == "HEAD" else Reply(body={**LANCE, "metadata": table})
        if asked.target == "/v1/p/namespaces/n" and asked.method == "GET":
            if self._lost == "POST /v1/p/namespaces" and not self.done:
                return no_such("Namespace")
            return Reply(body={"namespace": ["n"], "properties": changed})
        return super().__call__(asked)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("name", LOST)
def test_a_change_whose_answer_was_lost_is_looked_up_and_never_sent_twice(serve, connect, name, done):
    run, lost = LOST[name]
    server = serve(Losing(lost, done=done))
    ns = connect(server, max_retries=3)

    if done:
        run(ns)
    else:
        with pytest.raises(ServiceUnavailable):
            run(ns)

    assert sum(f"{each.method} {each.target}" == lost for each in server.asked) == 1


def test_a_lost_creation_does_not_claim_the_table_of_another(serve, connect):
    catalog = Catalog(defaults={"prefix": "p"})
    server = serve(lambda asked: RESET if asked.method == "POST" else catalog(asked))

    with pytest.raises(TableAlreadyExists, match="another one"):
        connect(server).declare_table(["w", "n", "t"], location="/lake/elsewhere")


@pytest.mark.parametrize("mode", ["exist_ok", "overwrite"])
def test_a_lost_creation_does_not_take_what_there_was_for_its_own_work(serve, connect, mode):
    catalog = Catalog(defaults={"prefix": "p"})
    there = {"a": "1", "b": "2", "location": "/lake/n"}

    def answer(asked: Asked) -> Any:
        if asked.method == "POST" and asked.target == "/v1/p/namespaces":
            return RESET
        if asked.method == "GET" and asked.target == "/v1/p/namespaces/n":
            return Reply(body={"namespace": ["n"], "properties": there})
        return catalog(asked)

    server = serve(answer)

    found = connect(server).create_namespace(["w", "n"], mode=mode, properties={"b": "2"})

    changes = [each.json for each in server.asked if each.target.endswith("/properties")]
    assert found.properties == (there if mode == "exist_ok" else {"b": "2"})
    assert changes == ([] if mode == "exist_ok" else [{"removals": ["a"], "updates": {"b": "2"}}])
