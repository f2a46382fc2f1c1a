"""Processes that are measured: fresh ones for what a start costs, and workers that do as they are told."""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CLIENTS = Path(__file__).parent / "clients"


class Failed(Exception):
    """A child could not do what it was told."""


class Worker:
    """A child process with one client, to be used as a context manager."""

    def __init__(self, python: Path | str, settings: dict[str, Any]) -> None:
        self.name = str(settings["client"])
        self._said = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115  # closed with the process
        self._process = subprocess.Popen(
            [str(python), str(CLIENTS / "worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            encoding="utf-8",
            env=environment(),
        )
        self._write(settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._said.close()

    def ask(self, order: str, **arguments: Any) -> dict[str, Any]:
        """Give an order and wait for what became of it.

        Raises:
            Failed: it did not work.
        """
        self._write({"do": order, **arguments})
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"problem": f"it ended: {self._last_words()}"}
        if "problem" in answer:
            raise Failed(f"{self.name}: {answer['problem']}")
        return answer

    def seconds(self, method: str, *arguments: Any, times: int = 1) -> float:
        """What calling a method so many times takes."""
        return float(self.ask("repeat", method=method, arguments=arguments, times=times)["seconds"])

    def used(self, method: str, *arguments: Any, times: int = 1) -> float:
        """The processor time that calling a method so many times takes of the child."""
        return float(self.ask("repeat", method=method, arguments=arguments, times=times)["used"])

    def answer(self, method: str, *arguments: Any) -> Any:
        """What a method answers."""
        return self.ask("repeat", method=method, arguments=arguments)["answer"]

    def _write(self, line: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.name} ended: {self._last_words()}") from None

    def _last_words(self) -> str:
        self._said.seek(0)
        return self._said.read()[-2000:]


class Fresh:
    """A program for a fresh Python; every run costs processor time, and time on the clock."""

    def __init__(self, python: Path | str, code: str) -> None:
        self._python = python
        self._code = code
        self.on_the_clock: list[float] = []

    def __call__(self) -> float:
        """The processor time of one run."""
        started = time.perf_counter()
        process = subprocess.Popen(
            [str(self._python), "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdin is not None
        assert process.stderr is not None
        with process.stdin, process.stderr:
            process.stdin.write(self._code.encode())
            process.stdin.close()
            said = process.stderr.read()
            _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.on_the_clock.append(time.perf_counter() - started)
        if process.returncode:
            raise Failed(said.decode()[-2000:])
        return used.ru_utime + used.ru_stime


def environment() -> dict[str, str]:
    """The surroundings of a child: ours, without what would change how it connects or how Python starts.

    Where bytecode is not kept, every start would compile our modules and none of the installed ones.
    """
    changing = ("AWS_", "LANCE_NS_", "PYTHON")
    return {key: value for key, value in os.environ.items() if not key.startswith(changing)}


def here(code: str) -> Fresh:
    """A program for this Python."""
    return Fresh(sys.executable, code)
