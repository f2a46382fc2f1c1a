"""What the hook relay, the facade and middleware add to a call that does a millisecond of work."""

import time
from collections.abc import Callable, Generator
from typing import Any

import lance_ns
from benchmarks.measure import Figure, ratios
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
    found = ratios({name: _timed(call) for name, call in candidates.items()}, "direct", rounds=3001)
    goals = {"relay": 1.02, "relay and middleware": 1.02}
    return [
        Figure(
            f"{name}, 1 ms of work",
            "core",
            value,
            f"≤ {goals[name]}" if name in goals else "–",
            value <= goals.get(name, value),
            "a direct call",
            spread,
        )
        for name, (value, spread) in found.items()
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
