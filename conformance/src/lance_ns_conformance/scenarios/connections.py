"""Connections: shared, pickled, closed, and silent about their secrets."""

import json
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from lance_ns.config import Properties
from lance_ns.errors import ErrorCode, LanceNsError
from lance_ns.identifiers import DELIMITER, Levels
from lance_ns.models import DeclareTableRequest, DescribeTableRequest, ListTablesRequest
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.world import World


def connected_with(world: World, properties: Mapping[str, Any], delimiter: str = DELIMITER) -> Namespace:
    """A connection to the same catalog that differs in some properties, or reads identifiers in another way.

    A property that is None is left out.
    """
    with world.connect() as plain:
        again, (backend, known, plugins, _) = plain.__reduce__()
    kept = {name: known[name] for name in known if properties.get(name, known) is not None}
    other: Namespace = again(backend, Properties(kept, properties), plugins, delimiter)
    return other


def failure(call: Callable[[], Any]) -> LanceNsError:
    """The error of a call that must fail."""
    try:
        call()
    except LanceNsError as error:
        return error
    raise AssertionError("nothing was raised")


def refused(world: World, properties: Mapping[str, Any]) -> LanceNsError:
    """The error of connecting with some properties that must not be."""
    return failure(lambda: connected_with(world, properties).close())


@scenario("a connection pickles, and works when it is read again")
def pickles(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with pickle.loads(pickle.dumps(ns)) as again:
        assert again.namespace_exists(id)


@scenario("a closed connection refuses calls, and may be closed again", clauses=["contract.errors.6"])
def closed(ns: Namespace, world: World) -> None:
    other = world.connect()
    other.close()
    other.close()
    with raises(ErrorCode.INVALID_INPUT):
        other.describe_namespace(world.expect.base)


@scenario(
    "two connections with the same properties have one key, and the key shows no property",
    clauses=["contract.secrets.7"],
)
def keys(ns: Namespace, world: World) -> None:
    with world.connect() as other:
        assert ns.namespace_id() == other.namespace_id()
    assert str(world.scratch) not in ns.namespace_id()


@scenario(
    "errors name backend, operation and identifier, and pickle",
    clauses=["contract.errors.1", "contract.errors.2", "contract.errors.4"],
)
def errors_are_whole(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "absent")
    caught: LanceNsError | None = None
    try:
        ns.describe_table(table)
    except LanceNsError as error:
        caught = error
    assert caught is not None, "a missing table was described"
    assert (caught.backend, caught.operation, caught.identifier) == (ns.backend, "describe_table", table)
    assert str(pickle.loads(pickle.dumps(caught))) == str(caught)
    assert LanceNsError.from_wire(caught.to_wire()).code == caught.code


@scenario("a connection that was pickled can do and is called what it was before")
def pickled_is_the_same(ns: Namespace, world: World) -> None:
    with pickle.loads(pickle.dumps(ns)) as again:
        assert (again.backend, again.capabilities) == (ns.backend, ns.capabilities)
        assert again.namespace_id() == ns.namespace_id()


@scenario("a closed connection refuses listings and questions too", clauses=["contract.errors.6"])
def closed_for_everything(ns: Namespace, world: World) -> None:
    other = world.connect()
    other.close()
    id = world.namespace()
    calls: list[Callable[[], Any]] = [
        lambda: list(other.list_namespaces(world.expect.base)),
        lambda: list(other.list_tables(id)),
        lambda: list(other.list_all_tables(id)),
        lambda: other.namespace_exists(id),
        lambda: other.table_exists((*id, "t")),
        lambda: other.create_namespace(id),
        lambda: other.declare_table((*id, "t")),
        lambda: other.dataset((*id, "t")),
    ]
    for call in calls:
        with raises(ErrorCode.INVALID_INPUT):
            call()
    assert not ns.namespace_exists(id)


@scenario("closing one connection leaves another open", clauses=["contract.errors.6"])
def closed_alone(ns: Namespace, world: World) -> None:
    with world.connect() as other:
        id = world.created(other)
    with raises(ErrorCode.INVALID_INPUT):
        other.describe_namespace(id)
    assert ns.namespace_exists(id)


@scenario(
    "connections that differ in a property have different keys, which do not show it", clauses=["contract.secrets.7"]
)
def keys_differ(ns: Namespace, world: World) -> None:
    with connected_with(world, {"storage.conformance": "marked"}) as other:
        assert other.namespace_id() != ns.namespace_id()
        assert "marked" not in other.namespace_id()


@scenario("an unknown property answers InvalidInput with the nearest name", clauses=["contract.errors.7"])
def unknown_property(ns: Namespace, world: World) -> None:
    known = next((name for name in world.subject.properties if not name.startswith("storage.")), "storage.region")
    caught = refused(world, {f"{known.replace('.', '_')}x": "1"})
    assert caught.code is ErrorCode.INVALID_INPUT, f"got {caught}"
    assert known.partition(".")[0] in str(caught), f"the message does not name {known}: {caught}"


@scenario("a property of the wrong type answers InvalidInput", clauses=["contract.errors.8"])
def wrong_type(ns: Namespace, world: World) -> None:
    for name in [*(name for name in world.subject.properties if not name.startswith("storage.")), "storage.x"]:
        caught = refused(world, {name: [object()]})
        assert caught.code is ErrorCode.INVALID_INPUT, f"got {caught}"
        assert name in str(caught), f"the message does not name {name}: {caught}"


@scenario(
    "the context of a request changes nothing in its answer", clauses=["contract.describe.2", "contract.declare.4"]
)
def context(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    around = {"request-id": "42", "größe": "ünï"}
    declared = ns.call(DeclareTableRequest(id=(*id, "t"), context=around))
    described = ns.call(DescribeTableRequest(id=(*id, "t"), context=around))
    assert described.location == declared.location == ns.describe_table((*id, "t")).location
    assert list(ns.call(ListTablesRequest(id=id, context=around)).tables) == ["t"]
    with raises(ErrorCode.TABLE_NOT_FOUND):
        ns.call(DescribeTableRequest(id=(*id, "absent"), context=around))


@scenario("errors about what was asked are not called retryable", clauses=["contract.errors.5"])
def not_retryable(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    ns.declare_table((*id, "t"))
    calls: list[Callable[[], Any]] = [
        lambda: ns.create_namespace(id),
        lambda: ns.drop_namespace(id),
        lambda: ns.declare_table((*id, "t")),
        lambda: ns.describe_table((*id, "absent")),
        lambda: list(ns.list_tables(world.namespace("absent"))),
        lambda: ns.describe_table((*id, "")),
    ]
    for call in calls:
        caught = failure(call)
        assert not caught.retryable, f"called retryable: {caught}"
        assert caught.retry_after is None


@scenario(
    "the wire form of an error holds its code, message and instance, and is read back the same",
    clauses=["contract.errors.1", "contract.errors.2"],
)
def wire_form(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "absent")
    caught = failure(lambda: ns.describe_table(table))
    body = json.loads(json.dumps(caught.to_wire()))
    assert (body["code"], body["error"], body["instance"]) == (4, caught.message, "$".join(table))
    again = LanceNsError.from_wire(body)
    assert type(again) is type(caught)
    assert again.fields() == caught.fields()


@scenario(
    "every basic operation that fails names itself, its identifier and the backend",
    clauses=["contract.errors.2", "contract.errors.4"],
)
def errors_of_every_operation(ns: Namespace, world: World) -> None:
    id, absent = world.created(ns), world.namespace("absent")
    calls: dict[str, tuple[Levels, Callable[[], Any]]] = {
        "create_namespace": (id, lambda: ns.create_namespace(id)),
        "describe_namespace": (absent, lambda: ns.describe_namespace(absent)),
        "declare_table": ((*absent, "t"), lambda: ns.declare_table((*absent, "t"))),
        "list_tables": (absent, lambda: list(ns.list_tables(absent))),
        "describe_table": ((*id, "t"), lambda: ns.describe_table((*id, "t"))),
        "deregister_table": ((*id, "t"), lambda: ns.deregister_table((*id, "t"))),
    }
    for operation, (about, call) in calls.items():
        caught = failure(call)
        assert (caught.backend, caught.operation, caught.identifier) == (ns.backend, operation, about)
        again = pickle.loads(pickle.dumps(caught))
        assert (type(again), again.fields()) == (type(caught), caught.fields())
