"""What is known about a server on disk: its process, its port, when it was ready, who holds it."""

import contextlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from servers.processes import Identity, marked

PERMANENT = "stay"


@dataclass(slots=True)
class Facts:
    """A server as it was started."""

    name: str
    version: str
    port: int
    endpoint: str
    began: str
    ready_seconds: float | None = None
    # A server that somebody else runs: never started, never ended by us.
    external: bool = False


class ServerState:
    """The directory of one server."""

    def __init__(self, state: Path, name: str) -> None:
        self.name = name
        self.directory = state / name
        self.data = self.directory / "data"
        self.log = self.directory / "server.log"
        self.record = self.directory / "process"
        self.holders = self.directory / "holders"
        self.lock = state / f"{name}.lock"
        self._facts = self.directory / "facts.json"

    @property
    def mark(self) -> str:
        """What every process of this server carries in its environment."""
        return str(self.directory)

    def facts(self) -> Facts | None:
        """How it was started; None if it was not."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Facts(**json.loads(self._facts.read_text(encoding="utf-8")))
        return None

    def write_facts(self, facts: Facts) -> None:
        """Remember how it was started."""
        self.directory.mkdir(parents=True, exist_ok=True)
        partial = self._facts.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(facts), indent=1), encoding="utf-8")
        partial.replace(self._facts)

    def process(self) -> Identity | None:
        """The server's process, if that very one is alive."""
        with contextlib.suppress(OSError, ValueError):
            identity = Identity.parse(self.record.read_text(encoding="utf-8"))
            if identity.alive():
                return identity
        return None

    def processes(self) -> list[Identity]:
        """Every process of this server, its keeper included, whatever the pid file says."""
        found = {process.pid: process for process in marked(self.mark)}
        recorded = self.process()
        if recorded is not None:
            found[recorded.pid] = recorded
        return list(found.values())

    def hold(self, holder: Identity | None) -> None:
        """Note that the server runs on behalf of a process, or (None) that it is to stay."""
        self.holders.mkdir(parents=True, exist_ok=True)
        name = PERMANENT if holder is None else str(holder.pid)
        (self.holders / name).write_text("" if holder is None else str(holder), encoding="utf-8")

    def release(self, holder: Identity | None) -> None:
        """Take that note away."""
        with contextlib.suppress(OSError):
            (self.holders / (PERMANENT if holder is None else str(holder.pid))).unlink()

    def other_holders(self, than: Identity | None = None) -> list[str]:
        """Who else wants the server, dead processes left out."""
        names: list[str] = []
        for file in sorted(self.holders.glob("*")):
            text = ""
            with contextlib.suppress(OSError):
                text = file.read_text(encoding="utf-8").strip()
            if not text:
                names.append(PERMANENT)
            elif text != str(than) and Identity.parse(text).alive():
                names.append(text)
        return names

    def forget(self) -> None:
        """Remove what describes a running server; logs and data stay to be looked at."""
        for path in (self._facts, self.record):
            with contextlib.suppress(OSError):
                path.unlink()
        shutil.rmtree(self.holders, ignore_errors=True)

    def fresh(self) -> None:
        """Make ready for a new start: empty data, the last log kept beside the new one."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir(parents=True)
        with contextlib.suppress(OSError):
            self.log.replace(self.log.with_suffix(".log.1"))
        with contextlib.suppress(OSError):
            self.record.unlink()
