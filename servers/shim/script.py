"""Faults that tests order through the control route, used up one request at a time."""

import threading
from dataclasses import asdict, dataclass
from typing import Any

KINDS = ("throttling", "internal", "timeout", "drop-before", "drop-after", "truncated", "delay")


@dataclass(slots=True)
class Fault:
    """One kind of trouble for the next requests of an operation (of any, where none is named)."""

    kind: str
    operation: str | None = None
    times: int = 1
    seconds: float = 0.0


def fault_from(document: dict[str, Any]) -> Fault:
    """A fault from its JSON form; raises ValueError with a text for the person who wrote it."""
    unknown = set(document) - {"kind", "operation", "times", "seconds"}
    if unknown:
        message = f"a fault has no {', '.join(sorted(unknown))}"
        raise ValueError(message)
    if document.get("kind") not in KINDS:
        message = f"a fault's kind is one of {', '.join(KINDS)}"
        raise ValueError(message)
    return Fault(
        str(document["kind"]),
        document.get("operation"),
        int(document.get("times", 1)),
        float(document.get("seconds", 0.0)),
    )


class Script:
    """The faults to come and the calls that were seen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []
        self._calls: list[str] = []

    def add(self, faults: list[Fault]) -> None:
        """Order faults, after those ordered before."""
        with self._lock:
            self._faults.extend(faults)

    def clear(self) -> None:
        """Forget the faults and the calls."""
        with self._lock:
            self._faults.clear()
            self._calls.clear()

    def next_for(self, operation: str) -> Fault | None:
        """Note a call, and use up the first fault that is meant for it."""
        with self._lock:
            self._calls.append(operation)
            for fault in self._faults:
                if fault.operation in (None, operation):
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                    return fault
            return None

    def show(self) -> dict[str, Any]:
        """What is still to come, and what was called."""
        with self._lock:
            return {"faults": [asdict(fault) for fault in self._faults], "calls": list(self._calls)}
