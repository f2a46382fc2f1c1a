"""Recording and playing interactions, of whatever protocol: what is compared is plain data."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from lance_ns_conformance.cassettes.form import CassetteError, Interaction
from lance_ns_conformance.cassettes.walking import difference

SHOWN = 12
"""How many of the last interactions are shown when a scenario fails."""

Line = Callable[[Interaction], str]
"""Shows an interaction on one line."""


class Recorder:
    """Keeps what goes by. Safe for threads."""

    def __init__(self, clean: Callable[[Any], Any], line: Line, *, everything: bool = True) -> None:
        """Record, and clean what is taken out again; without `everything` only the last interactions are kept."""
        self._clean, self._line = clean, line
        self._lock = threading.Lock()
        self._kept: deque[Interaction] = deque(maxlen=None if everything else SHOWN)

    def add(self, request: dict[str, Any], response: dict[str, Any]) -> None:
        """Keep an interaction."""
        with self._lock:
            self._kept.append({"request": request, "response": response})

    def interactions(self) -> list[Interaction]:
        """All that was kept, cleaned."""
        with self._lock:
            return [self._clean(each) for each in self._kept]

    def lines(self) -> list[str]:
        """The last interactions, to be shown."""
        return [self._line(each) for each in self.interactions()[-SHOWN:]]


class Player:
    """Answers requests as they were answered when they were recorded: each interaction once, in any order."""

    def __init__(
        self,
        interactions: list[Interaction],
        comparable: Callable[[dict[str, Any]], dict[str, Any]],
        line: Line,
        *,
        name: str,
        hint: str,
    ) -> None:
        """Play interactions of the file `name`; `comparable` gives the fields of a request that must be the same."""
        self._interactions, self._comparable, self._line = interactions, comparable, line
        self._name, self._hint = name, hint
        self._keys = [comparable(each["request"]) for each in interactions]
        self._left = list(range(len(interactions)))
        self._played: deque[int] = deque(maxlen=SHOWN)
        self._lock = threading.Lock()
        self.problems: list[CassetteError] = []

    def play(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to a request.

        Raises:
            CassetteError: it was not recorded, or not as often.
        """
        wanted = self._comparable(request)
        with self._lock:
            for number in self._left:
                if self._keys[number] == wanted:
                    self._left.remove(number)
                    self._played.append(number)
                    response: dict[str, Any] = self._interactions[number]["response"]
                    return response
            problem = CassetteError(self._complaint(request, wanted))
        self.note(problem)
        raise problem

    def note(self, problem: CassetteError) -> None:
        """Remember a problem, for the code under test may swallow it."""
        self.problems.append(problem)

    def check(self) -> None:
        """Raise the first problem, or that something was recorded and never asked for."""
        if self.problems:
            raise self.problems[0]
        if self._left:
            shown = "\n".join(f"  {self._line(self._interactions[number])}" for number in self._left[:3])
            more = f"\n  and {len(self._left) - 3} more" if len(self._left) > 3 else ""
            raise CassetteError(
                f"{self._name}: {len(self._left)} of {len(self._interactions)} recorded requests were never sent\n"
                f"{shown}{more}\n  {self._hint}"
            )

    def lines(self) -> list[str]:
        """The interactions that were played last, to be shown."""
        return [self._line(self._interactions[number]) for number in list(self._played)]

    def _complaint(self, request: dict[str, Any], wanted: dict[str, Any]) -> str:
        shown = self._line({"request": request, "response": {}})
        if wanted in self._keys:
            times = self._keys.count(wanted)
            why = [f"it was recorded {times} time{'s' if times > 1 else ''}, and is sent once more"]
        elif not self._keys:
            why = ["nothing was recorded"]
        else:
            number = min(self._left or range(len(self._keys)), key=lambda each: self._distance(each, wanted))
            why = [
                f"nearest  {self._line({**self._interactions[number], 'response': {}})}",
                *self._differences(number, wanted),
            ]
        return "\n  ".join([f"{self._name}: a request was not recorded: {shown}", *why, self._hint])

    def _differences(self, number: int, wanted: dict[str, Any]) -> list[str]:
        found = (difference(self._keys[number].get(field), wanted.get(field), field) for field in wanted)
        return [each for each in found if each]

    def _distance(self, number: int, wanted: dict[str, Any]) -> int:
        return len(self._differences(number, wanted))
