"""Trouble between a client and a server, on order: the conformance kit's own proxy, under a name of this tool's."""

from lance_ns_conformance.faults import (
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

__all__ = [
    "Fault",
    "FaultProxy",
    "half_closed",
    "html",
    "latency",
    "reset_after",
    "reset_before",
    "stalled",
    "throttled",
    "truncated",
    "unavailable",
]
