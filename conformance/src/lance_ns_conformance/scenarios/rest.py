"""What the backends on HTTP share: connecting, tokens, and errors that no catalog can be made to answer."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lance_ns.errors import ErrorCode
from lance_ns.models import DescribeNamespaceRequest, Identity
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with, refused
from lance_ns_conformance.stand_in import Asked, Reply, StandIn
from lance_ns_conformance.world import World

REST = ("iceberg", "polaris", "unity")
CONFIG = {"defaults": {}, "overrides": {"prefix": "stand-in", "namespace-separator": "%1F"}}


@contextmanager
def towards(world: World, answer: Callable[[Asked], Reply], **properties: Any) -> Iterator[tuple[Namespace, StandIn]]:
    """A connection to a server that answers as a function says."""
    given: Mapping[str, Any] = {"auth_token": "token-of-the-connection", "max_retries": 0, **properties}
    with StandIn(answer) as server, connected_with(world, {"endpoint": server.url, **given}) as ns:
        yield ns, server


def configured(reply: Reply) -> Callable[[Asked], Reply]:
    """One answer to everything, but for the configuration, without which nothing else would be asked."""
    return lambda asked: Reply(body=CONFIG) if "/config?" in asked.path else reply


def every_operation(world: World, ns: Namespace) -> dict[str, Callable[[], Any]]:
    """A call of each basic operation."""
    id = world.namespace()
    table = (*id, "t")
    return {
        "create_namespace": lambda: ns.create_namespace(id),
        "list_namespaces": lambda: list(ns.list_namespaces(world.expect.base)),
        "describe_namespace": lambda: ns.describe_namespace(id),
        "drop_namespace": lambda: ns.drop_namespace(id),
        "declare_table": lambda: ns.declare_table(table),
        "list_tables": lambda: list(ns.list_tables(id)),
        "describe_table": lambda: ns.describe_table(table),
        "deregister_table": lambda: ns.deregister_table(table),
    }


def all_answer(world: World, reply: Reply, code: ErrorCode) -> None:
    """Every operation gives an error when all that the server says is one thing."""
    with towards(world, configured(reply)) as (ns, _):
        for operation, call in every_operation(world, ns).items():
            try:
                with raises(code):
                    call()
            except AssertionError as error:
                raise AssertionError(f"{operation}, status {reply.status}: {error}") from None


@scenario(
    "connecting without an endpoint, or with one that is no URL of http or https, answers InvalidInput",
    backends=REST,
    clauses=[
        "iceberg.namespace-implementation-configuration-properties.properties.1",
        "iceberg.namespace-implementation-configuration-properties.properties.2",
        "polaris.namespace-implementation-configuration-properties.properties.1",
        "polaris.namespace-implementation-configuration-properties.properties.2",
        "unity.namespace-implementation-configuration-properties.properties.1",
    ],
)
def endpoint_is_checked(ns: Namespace, world: World) -> None:
    from lance_ns.connection import connect

    for endpoint in ("catalog.example.com", "ftp://catalog.example.com", "http://", ""):
        assert refused(world, {"endpoint": endpoint}).code is ErrorCode.INVALID_INPUT, endpoint
    with raises(ErrorCode.INVALID_INPUT):
        connect(ns.backend, {})


@scenario(
    "all calls go to the endpoint",
    backends=REST,
    clauses=[
        "iceberg.namespace-implementation-configuration-properties.properties.3",
        "polaris.namespace-implementation-configuration-properties.properties.3",
        "unity.namespace-implementation-configuration-properties.properties.3",
    ],
)
def endpoint_gets_the_calls(ns: Namespace, world: World) -> None:
    with towards(world, configured(Reply(418))) as (other, server):
        for operation, call in every_operation(world, other).items():
            before = len(server.seen)
            with raises(ErrorCode.INTERNAL):
                call()
            assert len(server.seen) > before, f"{operation} did not ask the endpoint"


@scenario(
    "a refused connection answers ServiceUnavailable",
    backends=REST,
    clauses=["decisions.errors-of-rest-servers.5"],
)
def refused_connection(ns: Namespace, world: World) -> None:
    with StandIn(lambda _: Reply()) as server:
        gone = server.url
    with connected_with(world, {"endpoint": gone, "max_retries": 0}) as other:
        for call in every_operation(world, other).values():
            with raises(ErrorCode.SERVICE_UNAVAILABLE):
                call()


@scenario(
    "a server that fails gives Internal, whatever it was asked to do",
    backends=REST,
    clauses=[
        "decisions.errors-of-rest-servers.8",
        "decisions.errors-of-rest-servers.10",
        *(
            f"{backend}.{operation}.errors.{number}"
            for backend, numbers in {
                "iceberg": (3, 2, 2, 3, 3, 2, 3, 2),
                "polaris": (3, 2, 2, 3, 3, 2, 3, 2),
                "unity": (3, 2, 2, 3, 3, 2, 3, 3),
            }.items()
            for operation, number in zip(
                (
                    "create-namespace",
                    "list-namespaces",
                    "describe-namespace",
                    "drop-namespace",
                    "declare-table",
                    "list-tables",
                    "describe-table",
                    "deregister-table",
                ),
                numbers,
                strict=True,
            )
        ),
    ],
)
def server_fails(ns: Namespace, world: World) -> None:
    for status in (500, 418, 507):
        all_answer(
            world, Reply(status, {"error": {"message": "broken", "type": "Oops", "code": status}}), ErrorCode.INTERNAL
        )


@scenario(
    "statuses of identity, privilege, throttling, absence and ability become their codes",
    backends=REST,
    clauses=[f"decisions.errors-of-rest-servers.{number}" for number in (1, 2, 3, 4, 7)],
)
def statuses_have_codes(ns: Namespace, world: World) -> None:
    expected = {
        401: ErrorCode.UNAUTHENTICATED,
        403: ErrorCode.PERMISSION_DENIED,
        406: ErrorCode.UNSUPPORTED,
        429: ErrorCode.THROTTLING,
        501: ErrorCode.UNSUPPORTED,
        502: ErrorCode.SERVICE_UNAVAILABLE,
        503: ErrorCode.SERVICE_UNAVAILABLE,
        504: ErrorCode.SERVICE_UNAVAILABLE,
    }
    for status, code in expected.items():
        all_answer(world, Reply(status), code)


@scenario(
    "a success that is a page for people, or not JSON, is Internal and never an empty answer",
    backends=REST,
    clauses=["decisions.errors-of-rest-servers.9"],
)
def success_without_json(ns: Namespace, world: World) -> None:
    all_answer(world, Reply(200, "<html>sign in</html>"), ErrorCode.INTERNAL)


@scenario(
    "a server that does not answer within the read time-out gives ServiceUnavailable, and one that does is waited for",
    backends=REST,
    clauses=[
        "decisions.errors-of-rest-servers.6",
        "decisions.time-outs.1",
        "decisions.time-outs.2",
        "decisions.time-outs.3",
        "iceberg.namespace-implementation-configuration-properties.properties.11",
        "polaris.namespace-implementation-configuration-properties.properties.7",
        "unity.namespace-implementation-configuration-properties.properties.10",
    ],
)
def read_time_out(ns: Namespace, world: World) -> None:
    silence = threading.Event()
    answer = configured(Reply(418, after=silence))
    short, long = (1, 60) if ns.backend == "unity" else (200, 60000)
    for limits in ({"read_timeout": short}, {"read_timeout": long, "operation_timeout": 0.5, "max_retries": 3}):
        with towards(world, answer, **limits) as (hasty, _), raises(ErrorCode.SERVICE_UNAVAILABLE):
            hasty.describe_namespace(world.namespace())
    with towards(world, answer, read_timeout=long) as (patient, _), raises(ErrorCode.INTERNAL):
        threading.Timer(2, silence.set).start()
        patient.describe_namespace(world.namespace())


@scenario(
    "the connection's token goes with every call, and that of a request's identity with this one call alone",
    backends=REST,
    needs=["identity"],
    clauses=[
        "decisions.per-request.1",
        "decisions.per-request.2",
        "iceberg.namespace-implementation-configuration-properties.properties.6",
        "polaris.namespace-implementation-configuration-properties.properties.4",
        "unity.namespace-implementation-configuration-properties.properties.7",
    ],
)
def tokens(ns: Namespace, world: World) -> None:
    id = world.namespace()
    with towards(world, configured(Reply(401))) as (other, server):
        for identity in (None, Identity(auth_token="token-of-the-call"), None):  # noqa: S106
            with raises(ErrorCode.UNAUTHENTICATED):
                other.call(DescribeNamespaceRequest(id=id, identity=identity))
        sent = [asked.headers.get("Authorization") for asked in server.seen if "/config?" not in asked.path]
    assert sent == ["Bearer token-of-the-connection", "Bearer token-of-the-call", "Bearer token-of-the-connection"]
