"""What may be sent again, and after how long."""

import time
from time import sleep
from typing import NamedTuple

from lance_ns.errors import ServiceUnavailable

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
LONGEST_ASKED = 30.0
"""The longest that a server's Retry-After is obeyed, in seconds."""
_LONGEST_DEADLINE = 30 * 86400.0  # more than that no system's call can wait

REPEATABLE = frozenset({"GET", "HEAD", "DELETE"})
BUSY = frozenset({429, 502, 503, 504})
"""Statuses after which the same call may succeed."""
UNREACHED = BUSY - {429}
"""Those of a gateway: the server behind it may or may not have got the call."""


class Deadline(NamedTuple):
    """The end of the time that an operation has."""

    at: float
    allowed: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """A deadline that many seconds from now."""
        return cls(time.monotonic() + min(seconds, _LONGEST_DEADLINE), seconds)

    def left(self) -> float:
        """The seconds that are left.

        Raises:
            ServiceUnavailable: there are none.
        """
        left = self.at - time.monotonic()
        if left <= 0:
            raise ServiceUnavailable(
                f"the operation did not end within {self.allowed:g} seconds",
                hint="try again later, or raise operation_timeout",
            )
        return left


def pause(attempt: int, asked: float | None, deadline: Deadline) -> bool:
    """Wait before the next attempt, as the server asked or longer each time; False when there is no time for it."""
    seconds = min(asked, LONGEST_ASKED) if asked is not None else _backed_off(attempt)
    if seconds >= deadline.at - time.monotonic():
        return False
    sleep(seconds)
    return True


def _backed_off(attempt: int) -> float:
    """Twice as long each time, up to a cap, and anywhere below it, so that clients do not come back together."""
    from random import random

    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt) * random()  # noqa: S311  # spreads load, guards nothing


def asked_to_wait(header: str | None) -> float | None:
    """The seconds of a Retry-After header: a number, or a date; None for what is neither."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def fresh_key() -> str:
    """A key by which a server knows a call that is sent again: a UUID of version 7, which begins with the time."""
    import secrets
    from uuid import UUID

    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(UUID(int=value))
