"""A catalog that cannot be reached."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from lance_ns.errors import ErrorCode
from lance_ns.namespace import Namespace
from lance_ns_conformance.scenario import raises, scenario
from lance_ns_conformance.scenarios.connections import connected_with
from lance_ns_conformance.stand_in import Reply, StandIn
from lance_ns_conformance.world import World


@scenario(
    "an unreachable catalog answers ServiceUnavailable to every call, and nothing is called empty or missing",
    clauses=["contract.errors.3", "contract.exists.9", "contract.data-safety.10"],
    live_only=True,
)
def every_call(ns: Namespace, world: World) -> None:
    description = world.subject.description
    if description is None or description.endpoint is None:
        world.skip("there is no server that could be unreachable")
    with StandIn(lambda _: Reply()) as server:
        nobody = f"127.0.0.1:{server.port}"
    address = urlsplit(str(world.subject.properties[description.endpoint]))._replace(netloc=nobody).geturl()
    id = world.namespace()
    with connected_with(world, {description.endpoint: address, **description.hasty}) as other:
        calls: list[Callable[[], Any]] = [
            lambda: other.create_namespace(id),
            lambda: list(other.list_namespaces(world.expect.base)),
            lambda: other.describe_namespace(id),
            lambda: other.namespace_exists(id),
            lambda: other.drop_namespace(id, mode="skip"),
            lambda: other.declare_table((*id, "t")),
            lambda: list(other.list_tables(id)),
            lambda: list(other.list_all_tables(id)),
            lambda: other.describe_table((*id, "t")),
            lambda: other.table_exists((*id, "t")),
            lambda: other.deregister_table((*id, "t")),
        ]
        for call in calls:
            with raises(ErrorCode.SERVICE_UNAVAILABLE):
                call()
