"""Measuring: candidates in turn, medians with their spread, ratios and never seconds."""

import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Figure(NamedTuple):
    """A ratio, what it is held to, and how far its parts spread."""

    figure: str
    backend: str
    value: float
    goal: str
    met: bool
    against: str
    spread: float


def ratios(candidates: Mapping[str, Callable[[], float]], base: str, rounds: int) -> dict[str, tuple[float, float]]:
    """Each candidate's cost over the base's: the median of all rounds, and the spread of the middle half.

    The candidates take turns, and each is compared with the base of its own round: what slows the machine slows both.
    """
    found: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        costs = {name: cost() for name, cost in candidates.items()}
        for name, cost in costs.items():
            found[name].append(cost / costs[base])
    return {name: (statistics.median(each), _spread(each)) for name, each in found.items()}


def cpu_of_process(code: str) -> float:
    """The processor time of a fresh Python that runs some code: what a start costs, whatever else the machine does."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _spread(values: list[float]) -> float:
    lower, middle, upper = statistics.quantiles(values, n=4)
    return (upper - lower) / middle
