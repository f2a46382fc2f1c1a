"""Waiting for what must come true."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def eventually(condition: Callable[[], Any]) -> None:
    """Wait; the limit is for a run that would hang, how long it takes says nothing."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
