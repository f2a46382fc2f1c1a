"""Measuring: candidates in turn, medians with their spread, ratios and never seconds."""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

Cost = Callable[[], float]


class Ratio(NamedTuple):
    """A median, and the spread of the middle half around it."""

    value: float
    spread: float


class Goal(NamedTuple):
    """What a ratio is held to."""

    sign: str
    limit: float

    def met(self, value: float) -> bool:
        """Whether a ratio is on the right side."""
        return value <= self.limit if self.sign == "≤" else value >= self.limit

    def __str__(self) -> str:
        return f"{self.sign} {self.limit:g}"


def at_most(limit: float) -> Goal:
    """A cost that must not be higher."""
    return Goal("≤", limit)


def at_least(limit: float) -> Goal:
    """A gain that must not be lower."""
    return Goal("≥", limit)


class Figure(NamedTuple):
    """A ratio, what it is held to, and how far its parts spread; without a value it was not measured.

    Attributes:
        figure: what is measured.
        backend: of which backend.
        value: the ratio.
        goal: what it is held to, a dash if nothing.
        met: whether it is.
        against: what it is compared with.
        spread: the spread of the middle half of all rounds, as a part of the median.
        note: what one must know to read it.
        others: the ratios of others to the same base, in the same rounds.
    """

    figure: str
    backend: str
    value: float | None
    goal: str
    met: bool | None
    against: str
    spread: float | None
    note: str = ""
    others: Mapping[str, float] = {}


def figure(
    name: str,
    backend: str,
    ratio: Ratio,
    goal: Goal | None,
    against: str,
    note: str = "",
    others: Mapping[str, float] | None = None,
) -> Figure:
    """A figure that was measured."""
    met = None if goal is None else goal.met(ratio.value)
    return Figure(name, backend, ratio.value, str(goal or "–"), met, against, ratio.spread, note, others or {})


def not_measured(backend: str, why: str) -> Figure:
    """What stands in the place of a backend's figures when they cannot be had."""
    return Figure("all figures", backend, None, "–", None, "–", None, f"not measured: {why}")


class Costs:
    """What each candidate took in each round."""

    def __init__(self, rounds: list[dict[str, float]]) -> None:
        self._rounds = rounds

    def ratio(self, one: str, other: str) -> Ratio:
        """One candidate's cost over another's in the same round: what slows the machine slows both."""
        found = [costs[one] / costs[other] for costs in self._rounds if one in costs and other in costs]
        return Ratio(statistics.median(found), _spread(found))

    def others(self, base: str, *names: str) -> dict[str, float]:
        """The ratios of some candidates to a base."""
        return {name: self.ratio(name, base).value for name in names}

    def median(self, name: str) -> float:
        """The median cost of one candidate."""
        return statistics.median(costs[name] for costs in self._rounds if name in costs)


def in_turns(
    candidates: Mapping[str, Cost],
    rounds: int,
    *,
    seldom: Mapping[str, int] | None = None,
    seconds: float = math.inf,
    least: int = 3,
) -> Costs:
    """Let the candidates take turns, in the other direction every second round.

    Those named in `seldom` take so many turns only, spread over the rounds: slow ones, far from their goals. After so
    many seconds there are no more rounds than the least.
    """
    turns = {name: min(rounds, (seldom or {}).get(name, rounds)) for name in candidates}
    found: list[dict[str, float]] = []
    end = time.monotonic() + seconds
    for number in range(rounds):
        if number >= least and time.monotonic() > end:
            break
        order = [name for name in candidates if number * turns[name] // rounds != (number - 1) * turns[name] // rounds]
        found.append({name: candidates[name]() for name in (order if number % 2 else reversed(order))})
    return Costs(found)


def enough(block: Callable[[int], float], seconds: float) -> int:
    """How many repetitions of something take at least so long: a base shorter than the noise is no base."""
    times = 1
    while (took := block(times)) < seconds:
        times = max(times * 2, min(times * 10, round(times * seconds / max(took, 1e-6) * 1.2)))
    return times


def _spread(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    lower, middle, upper = statistics.quantiles(values, n=4, method="inclusive")
    return (upper - lower) / middle
