"""Free ports, chosen once and remembered, so that a server comes back where it was."""

import contextlib
import json
import random
import socket
from collections.abc import Callable
from pathlib import Path

from servers.errors import PortTaken, ServersError
from servers.locks import file_lock
from servers.processes import holder_of_port

HOST = "127.0.0.1"
# Below the range from which systems take ports for outgoing connections: those would steal a remembered one.
RANGE = range(20000, 32000)


def is_free(port: int) -> bool:
    """Whether a server could listen there now."""
    for family, host in ((socket.AF_INET, HOST), (socket.AF_INET, ""), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as candidate:
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                candidate.bind((host, port))
        except OSError:
            if family is socket.AF_INET6 and not _has_ipv6():
                continue
            return False
    return True


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
        probe.bind(("::1", 0))
        return True
    return False


class PortBook:
    """The remembered ports of one state directory: the first of `count` consecutive ones for each server."""

    def __init__(self, state: Path) -> None:
        self._file = state / "ports.json"
        self._lock = state / "ports.lock"

    def known(self, name: str) -> int | None:
        """The remembered port of a server."""
        return self._read().get(name)

    def choose(self, name: str, count: int = 1, wanted: int | None = None, say: Callable[[str], None] = print) -> int:
        """A free port for `name`: the one that was asked for, else the remembered one, else a new one."""
        with file_lock(self._lock):
            book = self._read()
            if wanted is not None:
                self._claim(name, count, wanted)
                port = wanted
            else:
                remembered = book.get(name)
                if remembered is not None and all(is_free(remembered + step) for step in range(count)):
                    return remembered
                port = self._new(count, book)
                if remembered is not None:
                    taker = holder_of_port(remembered) or "another process"
                    say(f"{name}: port {remembered} is taken by {taker}; using {port} from now on")
            book[name] = port
            self._write(book)
            return port

    def reserve(self, name: str) -> int:
        """The remembered port of a server that may or may not be running; a new one where none is remembered."""
        known = self.known(name)
        return self.choose(name) if known is None else known

    @staticmethod
    def _claim(name: str, count: int, wanted: int) -> None:
        for port in range(wanted, wanted + count):
            if not is_free(port):
                taker = holder_of_port(port) or "another process"
                message = (
                    f"{name}: port {port} is taken by {taker}. Stop that process, choose another with "
                    f"--port {name}=NUMBER, or leave --port out to have a free one chosen."
                )
                raise PortTaken(message)

    @staticmethod
    def _new(count: int, book: dict[str, int]) -> int:
        reserved = {port + step for port in book.values() for step in range(2)}
        for port in random.sample(RANGE, 200):
            span = range(port, port + count)
            if not reserved.intersection(span) and all(is_free(each) for each in span):
                return port
        message = f"no free port between {RANGE.start} and {RANGE.stop}: too many servers are running on this machine"
        raise ServersError(message)

    def _read(self) -> dict[str, int]:
        with contextlib.suppress(OSError, ValueError):
            return {str(name): int(port) for name, port in json.loads(self._file.read_text(encoding="utf-8")).items()}
        return {}

    def _write(self, book: dict[str, int]) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(".partial")
        partial.write_text(json.dumps(book, indent=1, sort_keys=True), encoding="utf-8")
        partial.replace(self._file)
