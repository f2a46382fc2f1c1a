"""What the hook relay, the facade and middleware add to a call that does a millisecond of work."""

import time
from collections.abc import Callable, Generator
from typing import Any

import lance_ns
from benchmarks.measure import Figure, at_most, figure, in_turns
from lance_ns.models import DescribeTableRequest, DescribeTableResponse

WORK = 1e-3


def work() -> None:
    """A millisecond by the clock, whatever the processor's speed is at the moment."""
    until = time.perf_counter() + WORK
    while time.perf_counter() < until:
        pass


class Working(lance_ns.Operations):
    """A backend whose every answer takes a millisecond."""

    def __init__(self, config: lance_ns.StorageProperties) -> None:
        self.config = config

    @lance_ns.hookimpl
    def describe_table(self, request: DescribeTableRequest) -> DescribeTableResponse:
        """Work, then answer."""
        work()
        return DescribeTableResponse(location=str(request.id))


BACKEND = lance_ns.Backend(
    name="working",
    summary="Works",
    hookspec=1,
    config=lance_ns.StorageProperties,
    factory=Working,
    capabilities={"describe_table"},
)


def figures() -> list[Figure]:
    """The relay, alone and with a middleware, and a keyword method, against a direct call."""
    config = lance_ns.StorageProperties()
    request = DescribeTableRequest(id=("ml", "docs"))
    direct = Working(config)
    plain = lance_ns.Namespace(BACKEND, config)
    watched = lance_ns.Namespace(BACKEND, config, plugins=[_observer()])
    candidates: dict[str, Callable[[], Any]] = {
        "direct": lambda: direct.describe_table(request),
        "relay": lambda: plain.call(request),
        "relay and middleware": lambda: watched.call(request),
        "keyword method": lambda: plain.describe_table(("ml", "docs")),
    }
    costs = in_turns({name: _timed(call) for name, call in candidates.items()}, rounds=3001)
    goals = {"relay": at_most(1.02), "relay and middleware": at_most(1.02)}
    return [
        figure(f"{name}, 1 ms of work", "core", costs.ratio(name, "direct"), goals.get(name), "a direct call")
        for name in candidates
        if name != "direct"
    ]


def _observer() -> Any:
    """A middleware that does nothing; each is an object of its own, as pluggy wants it."""

    def observed(request: Any) -> Generator[None, Any, Any]:  # noqa: ARG001
        return (yield)

    return lance_ns.around(observed)


def _timed(call: Callable[[], Any]) -> Callable[[], float]:
    """One call at a time: the processor's speed changes more slowly than that."""

    def cost() -> float:
        started = time.perf_counter()
        call()
        return time.perf_counter() - started

    return cost
