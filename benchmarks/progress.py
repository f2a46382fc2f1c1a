"""Tells on standard error what is being done, and when."""

import sys
import time

_began = time.monotonic()


def say(what: str) -> None:
    """One line."""
    print(f"[{time.monotonic() - _began:4.0f} s] {what}", file=sys.stderr, flush=True)
