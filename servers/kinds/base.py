"""What a server must be able to say about itself."""

import contextlib
import json
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from servers import jdk
from servers.cache import Cache
from servers.locks import file_lock
from servers.ports import HOST, PortBook
from servers.report import say
from servers.state import Facts, ServerState
from servers.versions import RELEASES, Release

REGION = "us-east-1"
BUCKET = "lakehouse"

Property = str | int | bool
Profile = dict[str, Property]


@dataclass(slots=True)
class Machine:
    """The directories and books that the servers of one state directory share."""

    cache: Cache
    state: Path
    ports: PortBook
    say: Callable[[str], None] = say

    @classmethod
    def at(cls, cache: Path, state: Path) -> "Machine":
        """A machine with these two directories."""
        return cls(Cache(cache), state, PortBook(state))

    def server_state(self, name: str) -> ServerState:
        """The directory of one server."""
        return ServerState(self.state, name)

    def secret(self, name: str, value: str | None = None) -> str:
        """A secret of this state directory: `value` where one is given, else the one kept, else a new random one."""
        file = self.state / "secrets.json"
        with file_lock(self.state / "secrets.lock"):
            known: dict[str, str] = {}
            with contextlib.suppress(OSError, ValueError):
                known = json.loads(file.read_text(encoding="utf-8"))
            if value is not None or name not in known:
                known[name] = secrets.token_hex(20) if value is None else value
                partial = file.with_suffix(".partial")
                partial.touch(mode=0o600)
                partial.write_text(json.dumps(known), encoding="utf-8")
                partial.replace(file)
            return known[name]

    @property
    def s3_endpoint(self) -> str:
        """Where the object store is, or will be when it is started: its port is remembered."""
        return f"http://{HOST}:{self.ports.reserve('s3')}"

    @property
    def s3_access_key(self) -> str:
        """The access key of the object store."""
        return "LANCENS" + self.secret("s3-access-key")[:13].upper()

    @property
    def s3_secret_key(self) -> str:
        """The secret key of the object store."""
        return self.secret("s3-secret-key")

    def storage_on_s3(self) -> Profile:
        """The `storage.*` properties with which pylance reaches the object store."""
        return {
            "storage.aws_endpoint": self.s3_endpoint,
            "storage.aws_access_key_id": self.s3_access_key,
            "storage.aws_secret_access_key": self.s3_secret_key,
            "storage.aws_region": REGION,
            "storage.allow_http": "true",
        }


@dataclass(slots=True)
class Launch:
    """How to start a server."""

    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    directory: Path | None = None


class Server(ABC):
    """One kind of server: where it comes from, how it starts, when it is ready, how clients reach it."""

    needs: tuple[str, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.release: Release = RELEASES[name]

    def version(self, machine: Machine) -> str:
        """What runs, or would run, on this machine."""
        del machine
        return self.release.version

    def external(self) -> str | None:
        """The endpoint of a server that somebody else runs and the user has named."""
        return None

    @abstractmethod
    def prepare(self, machine: Machine) -> None:
        """Fetch and make what a start needs; raises `Missing` or `FetchFailed`."""

    @abstractmethod
    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        """The command that starts it."""

    @abstractmethod
    def check(self, machine: Machine, facts: Facts) -> None:
        """Make a real call; raises `NotReady`."""

    def settle(self, machine: Machine, facts: Facts) -> None:
        """Make what every user of the server expects to find (a bucket, a catalog); called once it is ready."""
        del machine, facts

    def endpoint(self, port: int) -> str:
        """How clients address it."""
        return f"http://{HOST}:{port}"

    @abstractmethod
    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        """Connection properties by profile name."""

    def java(self) -> jdk.Java:
        """The Java for this server."""
        assert self.release.java is not None
        return jdk.find_java(self.name, self.release.java)

    def java_command(self, *arguments: str) -> list[str]:
        """A small JVM: one collector thread, a heap from the table."""
        return [
            str(self.java().binary),
            f"-Xmx{self.release.heap_mib}m",
            "-XX:+UseSerialGC",
            "-Djava.net.preferIPv4Stack=true",
            *arguments,
        ]


def home_from(variable: str) -> Path | None:
    """A directory that the user has named."""
    named = os.environ.get(variable)
    return Path(named).expanduser().absolute() if named else None


def fresh_directory(path: Path) -> Path:
    """The directory, made where it is not there."""
    path.mkdir(parents=True, exist_ok=True)
    return path
