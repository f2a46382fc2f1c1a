"""Progress and summaries for people: bars on a terminal, plain lines elsewhere."""

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Self, TextIO

import attrs

from lance_ns.cli.output import clean, count, size
from lance_ns_spark.progress import Status
from lance_ns_spark.results import Output, Result

_WIDTH = 20
_DRAWN_EVERY = 0.1
_TOLD_EVERY = 10.0
_MOST_BARS = 8


@attrs.define
class _Part:
    """A part of a job, as it was told last."""

    status: Status
    begun: float
    told: float


class Display:
    """Shows the progress of jobs; give it to a job as `progress=`. On a terminal it is closed by `close()`."""

    def __init__(
        self, stream: TextIO | None = None, *, bars: bool | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream or sys.stderr
        self._bars = self._stream.isatty() if bars is None else bars
        self._clock = clock
        self._lock = Lock()
        self._parts: dict[tuple[str, str, str], _Part] = {}
        self._lines_drawn = 0
        self._drawn = 0.0

    def __call__(self, status: Status, /) -> None:
        """A part of a job came further."""
        now = self._clock()
        key = (status.job, status.what, status.unit)
        with self._lock:
            part = self._parts.get(key)
            if part is None:
                part = self._parts[key] = _Part(status, now, now)
            part.status = status
            ended = status.done >= status.of
            if self._bars:
                if ended or now - self._drawn >= _DRAWN_EVERY:
                    self._draw(now)
            elif ended or now - part.told >= _TOLD_EVERY:
                part.told = now
                self._print(self._line(part, now))
            if ended:
                del self._parts[key]

    def say(self, line: str) -> None:
        """Print a line among the bars."""
        with self._lock:
            self._erase()
            self._print(line)
            if self._bars:
                self._draw(self._clock())

    def close(self) -> None:
        """Leave the bars as they are, and begin a new line below them."""
        with self._lock:
            self._parts.clear()
            self._lines_drawn = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self, now: float) -> None:
        """Draw what goes on below what has ended, which stays."""
        self._erase()
        ended = [part for part in self._parts.values() if part.status.done >= part.status.of]
        going = [part for part in self._parts.values() if part.status.done < part.status.of]
        for part in ended:
            self._print(self._line(part, now))
        shown = going[:_MOST_BARS]
        for part in shown:
            self._print(self._line(part, now))
        if len(going) > len(shown):
            self._print(f"… and {len(going) - len(shown)} more")
        self._lines_drawn = len(shown) + (len(going) > len(shown))
        self._drawn = now

    def _erase(self) -> None:
        if self._lines_drawn:
            self._stream.write(f"\x1b[{self._lines_drawn}F\x1b[J")
            self._lines_drawn = 0

    def _print(self, line: str) -> None:
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def _line(self, part: _Part, now: float) -> str:
        status = part.status
        cells = [f"{status.job:<10} {clean(status.what):<28}"]
        if self._bars:
            full = _WIDTH * min(status.done, status.of) // status.of if status.of else _WIDTH
            cells.append("█" * full + "░" * (_WIDTH - full))
        cells.append(f"{status.done}/{status.of} {status.unit}")
        if status.rows:
            cells.append(f"  {count(status.rows)} rows")
        if status.bytes:
            passed = now - part.begun
            rate = f"  {size(int(status.bytes / passed))}/s" if passed > 0 else ""
            cells.append(f"  {size(status.bytes)}{rate}")
        line = " ".join(cells)
        # A line that is wrapped would be two where the cursor goes up by one.
        return line[: shutil.get_terminal_size().columns - 1] if self._bars else line


HEADINGS = ("STEP", "OUTPUT", "VERSION", "ROWS", "BYTES", "STATE")
"""The columns of a summary."""
PLAN_HEADINGS = ("STEP", "", "WHAT", "VERSION", "ROWS", "STATE")
"""The columns of a plan."""


def summary_of(title: str, result: Result) -> Iterator[Sequence[str]]:
    """The lines of a summary: one for each output of a job."""
    for output in result.outputs:
        name = output.name + (f" index {output.details['index']}" if "index" in output.details else "")
        yield (title, name, _versions(output), count(output.rows), size(output.bytes), _state(output))
    if not result.outputs:
        yield (title, "-", "", "", "", "nothing to do")


def plan_of(title: str, result: Result) -> Iterator[Sequence[str]]:
    """The lines of a plan: what would be read, and what would be written."""
    for read in result.inputs:
        version = "" if read.version is None else f"v{read.version}"
        yield (title, "reads", read.name, version, "" if read.rows is None else count(read.rows), "")
    for written in result.outputs:
        state = _state(written) if written.again or written.error is not None else ""
        yield (title, "writes", written.name, f"v{written.read_version or 0}", "", state)


def _versions(output: Output) -> str:
    before = f"v{output.read_version}" if output.read_version else ""
    after = f"v{output.version}" if output.version is not None else ""
    return f"{before} → {after}" if before and after and before != after else after or before


def _state(output: Output) -> str:
    if output.error is not None:
        return f"failed: {output.error}"
    return "was done before" if output.again else "done"
