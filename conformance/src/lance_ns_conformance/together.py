"""Doing one thing from several threads that start together."""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from lance_ns.errors import LanceNsError

WORKERS = 8


def outcomes(call: Callable[[int], object], workers: int = WORKERS) -> Counter[str]:
    """How often each outcome came: "ok", or the name of an error of the taxonomy. Anything else is raised."""
    gate = threading.Barrier(workers)

    def attempt(number: int) -> str:
        gate.wait()
        try:
            call(number)
        except LanceNsError as error:
            return type(error).__name__
        return "ok"

    with ThreadPoolExecutor(workers) as pool:
        return Counter(pool.map(attempt, range(workers)))
