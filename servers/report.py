"""Says what is going on, on the error stream: standard output is for results."""

import sys
import time


def say(text: str) -> None:
    """One line for the person who waits."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class Progress:
    """A line that grows while something takes long: redrawn on a terminal, repeated now and then elsewhere."""

    def __init__(self, label: str, every: float = 30.0) -> None:
        self._label = label
        self._every = every
        self._began = time.monotonic()
        self._last = self._began
        self._terminal = sys.stderr.isatty()

    def show(self, detail: str = "") -> None:
        """Tell how far it is."""
        now = time.monotonic()
        if not self._terminal and now - self._last < self._every:
            return
        self._last = now
        text = f"{self._label} … {now - self._began:.0f} s{', ' if detail else ''}{detail}"
        sys.stderr.write(f"\r\033[K{text}" if self._terminal else f"{text}\n")
        sys.stderr.flush()

    def done(self) -> None:
        """Clear the line."""
        if self._terminal:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
