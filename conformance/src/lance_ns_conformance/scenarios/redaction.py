"""Secrets: in no message, in nothing that is shown, in no log."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from lance_ns.errors import ErrorCode, LanceNsError
from lance_ns.models import DescribeTableRequest, Identity
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import scenario
from lance_ns_conformance.scenarios.connections import connected_with, failure, refused
from lance_ns_conformance.world import World

SECRET = "s3cr3t_of_the_k1t"  # noqa: S105  # made up, to be looked for


def connected(world: World) -> Namespace:
    """A connection that has a secret."""
    return connected_with(world, {"storage.secret_access_key": SECRET})


def told(error: LanceNsError) -> str:
    """All that an error tells, with its causes and notes, as it is printed."""
    return "\n".join([*traceback.format_exception(error), repr(error), str(error.native), str(error.hint)])


@contextmanager
def logged() -> Iterator[list[str]]:
    """All that is logged meanwhile, by whomever."""
    texts: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            texts.append(self.format(record))

    root, keeper = logging.getLogger(), Keeper(logging.DEBUG)
    level = root.level
    root.addHandler(keeper)
    root.setLevel(logging.DEBUG)
    try:
        yield texts
    finally:
        root.setLevel(level)
        root.removeHandler(keeper)


@scenario(
    "an error about something that is called as a secret does not show it",
    clauses=["contract.secrets.1", "contract.secrets.2"],
)
def errors(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    with connected(world) as other:
        for call in (other.describe_table, other.deregister_table):
            assert SECRET not in told(failure(lambda call=call: call((*id, SECRET)))), "an error shows a secret"  # type: ignore[misc]
        missing = failure(lambda: other.describe_namespace((*world.expect.base, SECRET)))
        assert SECRET not in told(missing), "an error shows a secret"


@scenario("neither a connection nor its answers show a secret", clauses=["contract.secrets.3"])
def shown(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with connected(world) as other:
        declared, described = other.declare_table(table), other.describe_table(table)
        for each in (other, declared, described, other.describe_namespace(table[:-1]), other.storage):
            assert SECRET not in f"{each!r} {each}", f"a {type(each).__name__} shows a secret"


@scenario("nothing that is logged holds a secret", clauses=["contract.secrets.4"])
def logs(ns: Namespace, world: World) -> None:
    table = (*world.created(ns), "t")
    with logged() as texts, connected(world) as other:
        other.declare_table(table)
        other.describe_table(table)
        failure(lambda: other.describe_table((*table[:-1], "absent")))
        other.deregister_table(table)
    assert not [text for text in texts if SECRET in text]


@scenario("an error of connecting does not show a secret", clauses=["contract.secrets.5"])
def connecting(ns: Namespace, world: World) -> None:
    for properties in ({"no_such_property": SECRET}, {"storage.secret_access_key": SECRET, "no_such_property": "1"}):
        caught = refused(world, properties)
        assert caught.code is ErrorCode.INVALID_INPUT, f"got {caught}"
        assert SECRET not in told(caught), "the error shows a secret"


@scenario("the identity of a request is neither shown nor part of its errors", clauses=["contract.secrets.6"])
def identity(ns: Namespace, world: World) -> None:
    id = world.created(ns)
    for who in (Identity(auth_token=SECRET), Identity(api_key=SECRET)):
        assert SECRET not in f"{who!r} {DescribeTableRequest(id=id, identity=who)!r}"
        request = DescribeTableRequest(id=(*id, SECRET), identity=who)
        assert SECRET not in told(failure(lambda request=request: ns.call(request)))  # type: ignore[misc]
