"""A small catalog in memory, connected without an installed distribution, and what several test files share."""

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import lance_ns
from lance_ns import models as m
from lance_ns import registry
from lance_ns.capabilities import BASIC
from lance_ns.config import Properties, Secret, StorageProperties, prefixed, prop, properties, read
from lance_ns.errors import (
    InvalidInput,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from lance_ns.hookspecs import Backend, Operations, hookimpl
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.namespace import Namespace
from lance_ns.paging import page_of_names

settings.register_profile("core", deadline=None, print_blob=True)
settings.load_profile("core")

CORE = Path(__file__).parents[1]
MAX_DEPTH = 3


@properties
class MemoryConfig(StorageProperties):
    """A property of every kind."""

    endpoint: str = prop("memory://here", "Where it would be if it were anywhere")
    root: str = prop("/lake", "Where tables lie", location=True)
    token: Secret | None = prop(None, "A secret")
    password: Secret | None = prop(None, "Another secret")
    retries: int = prop(3, "How often to try again", unit="attempts", at_least=0)
    rate: float = prop(1.5, "How fast", unit="calls per second", at_least=0)
    strict: bool = prop(False, "Whether to be strict")
    servers: tuple[str, ...] = prop((), "Several of them")
    style: str = prop("plain", "How it looks", choices=("plain", "fancy"))
    pool_size: int = prop(4, "How many connections", name="client.pool-size", at_least=1)
    headers: Mapping[str, str] = prefixed("header.", "Headers of every request")


def _scripted(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A hook that writes down its request, and answers as the test says if it says anything."""

    @wraps(method)
    def hook(self: "MemoryNamespace", request: m.Request[Any]) -> Any:
        self.requests.append(request)
        answer = self.answers.get(request.operation)
        return method(self, request) if answer is None else answer(request)

    return hookimpl(hook)


class MemoryNamespace(Operations):
    """Namespaces and tables in two dictionaries, at most three levels deep."""

    def __init__(self, config: MemoryConfig, answers: Mapping[str, Callable[[Any], Any]] | None = None) -> None:
        self.config = config
        self.answers = answers or {}
        self.requests: list[m.Request[Any]] = []
        self.closed = 0
        self.namespaces: dict[Levels, dict[str, str]] = {(): {}}
        self.tables: dict[Levels, str] = {}

    def close(self) -> None:
        self.closed += 1

    @_scripted
    def create_namespace(self, request: m.CreateNamespaceRequest) -> m.CreateNamespaceResponse:
        self._need(request.id[:-1])
        if request.id in self.namespaces and request.mode is m.CreateMode.CREATE:
            raise NamespaceAlreadyExists(f"namespace {display(request.id)} already exists")
        kept = self.namespaces.setdefault(request.id, dict(request.properties or {}))
        return m.CreateNamespaceResponse(properties=kept)

    @_scripted
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        self._need(request.id)
        names, token = page_of_names("memory", request, self._below(request.id, self.namespaces))
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    @_scripted
    def describe_namespace(self, request: m.DescribeNamespaceRequest) -> m.DescribeNamespaceResponse:
        self._need(request.id)
        return m.DescribeNamespaceResponse(properties=self.namespaces[request.id])

    @_scripted
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        if request.id not in self.namespaces and request.mode is m.DropMode.SKIP:
            return m.DropNamespaceResponse()
        self._need(request.id)
        if self._below(request.id, {**self.namespaces, **self.tables}):
            raise NamespaceNotEmpty(f"namespace {display(request.id)} is not empty")
        return m.DropNamespaceResponse(properties=self.namespaces.pop(request.id))

    @_scripted
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        self._need(request.id[:-1])
        if request.id in self.tables:
            raise TableAlreadyExists(f"table {display(request.id)} already exists")
        location = self.tables[request.id] = request.location or default_location(self.config.root, request.id)
        return m.DeclareTableResponse(location=location, storage_options=self.config.storage)

    @_scripted
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        self._need(request.id)
        names, token = page_of_names("memory", request, self._below(request.id, self.tables))
        return m.ListTablesResponse(tables=names, page_token=token)

    @_scripted
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        return m.DescribeTableResponse(location=self._table(request.id), storage_options=self.config.storage)

    @_scripted
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        self._table(request.id)
        return m.DeregisterTableResponse(id=request.id, location=self.tables.pop(request.id))

    def _need(self, id: Levels) -> None:
        if len(id) > MAX_DEPTH:
            raise InvalidInput(f"namespaces are at most {MAX_DEPTH} levels deep")
        if id not in self.namespaces:
            raise NamespaceNotFound(f"namespace {display(id)} not found")

    def _table(self, id: Levels) -> str:
        if not 0 < len(id) <= MAX_DEPTH + 1:
            raise InvalidInput(f"there is no table at depth {len(id)}")
        if id not in self.tables:
            raise TableNotFound(f"table {display(id)} not found")
        return self.tables[id]

    @staticmethod
    def _below(id: Levels, all: Iterable[Levels]) -> list[str]:
        return [each[-1] for each in all if each and each[:-1] == id]


class MemoryKit:
    """The catalog's parts, and connections to it."""

    Config = MemoryConfig
    Namespace = MemoryNamespace

    def backend(self, **changes: Any) -> Backend:
        """What its plugin would register, with changes."""
        parts: dict[str, Any] = {
            "name": "memory",
            "summary": "A catalog in memory",
            "hookspec": 1,
            "config": MemoryConfig,
            "factory": MemoryNamespace,
            "capabilities": BASIC,
        }
        return Backend(**{**parts, **changes})

    def config(self, **given: Any) -> MemoryConfig:
        """Its properties, read as `connect` reads them."""
        return read(MemoryConfig, Properties(given), backend="memory")

    def connect(
        self,
        *,
        factory: Callable[[Any], Any] | None = None,
        answers: Mapping[str, Callable[[Any], Any]] | None = None,
        capabilities: Iterable[str] = BASIC,
        plugins: Iterable[Any] = (),
        delimiter: str = "$",
        display_delimiter: str = "$",
        **given: Any,
    ) -> Namespace:
        """A connection, whose hooks answer as `answers` say where they say anything."""
        backend = self.backend(
            factory=factory or (lambda config: MemoryNamespace(config, answers)),
            capabilities=capabilities,
            display_delimiter=display_delimiter,
        )
        return Namespace(backend, self.config(**given), plugins=plugins, delimiter=delimiter)

    @staticmethod
    def requests(ns: Namespace) -> list[m.Request[Any]]:
        """What reached the backend of a connection."""
        return ns._implementation.requests

    @staticmethod
    def extended(*operations: str, answers: Mapping[str, Callable[[Any], Any]]) -> Callable[[Any], MemoryNamespace]:
        """A factory of catalogs that implement further operations, by scripts alone."""

        def unscripted(_: Any, request: m.Request[Any]) -> Any:
            raise AssertionError(f"no script for {request.operation}")

        kind = type("Extended", (MemoryNamespace,), {name: _scripted(unscripted) for name in operations})
        return lambda config: kind(config, answers)


@pytest.fixture(scope="session")
def memory() -> MemoryKit:
    """The catalog in memory."""
    return MemoryKit()


@pytest.fixture
def installed(memory: MemoryKit, monkeypatch: pytest.MonkeyPatch) -> MemoryKit:
    """The catalog in memory, such that `lance_ns.connect("memory")` finds it."""
    monkeypatch.setitem(registry._loaded, "memory", memory.backend())
    return memory


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No profile, configuration file or log level of whoever runs the tests has a say in them."""
    for name in os.environ:
        if name.startswith("LANCE_NS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-configuration-here"))


@pytest.fixture
def run_python() -> Callable[..., str]:
    """Runs a script in a new interpreter and gives back what it printed. The time-out only stops what hangs."""

    def run(script: str, *arguments: str) -> str:
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "PYTEST"))}
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=CORE,
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


class Watch:
    """Collects whatever a user, a log or a crash reporter could see of an error or an object."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self._caplog = caplog

    def shown(self, *things: object) -> str:
        """The texts of objects, and every log record so far."""
        logged = [f"{record.getMessage()} {record.__dict__}" for record in self._caplog.records]
        return "\n".join([*(f"{thing!r} {thing!s}" for thing in things), *logged])

    def trace(self, error: BaseException) -> str:
        """A traceback with the locals of every frame, those of the tests' own code excepted."""
        seen: set[int] = set()
        parts, pending = [], [error]
        while pending:
            each = pending.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            made = traceback.TracebackException.from_exception(each, capture_locals=True)
            made.stack = traceback.StackSummary.from_list(
                [frame for frame in made.stack if not Path(frame.filename).is_relative_to(CORE / "tests")]
            )
            made.__cause__ = made.__context__ = None
            parts += [*made.format(), repr(each), repr(getattr(each, "native", "")), repr(getattr(each, "hint", ""))]
            pending += [each.__cause__] if each.__cause__ is not None else []
            if each.__context__ is not None and not each.__suppress_context__:
                pending.append(each.__context__)
            pending += getattr(each, "exceptions", ())
        return "\n".join(parts)


@pytest.fixture
def watch(caplog: pytest.LogCaptureFixture) -> Watch:
    """Everything that could show a secret, with every logger at DEBUG."""
    caplog.set_level(logging.DEBUG)
    return Watch(caplog)


@pytest.fixture(scope="session")
def error_classes() -> list[type[lance_ns.LanceNsError]]:
    """The exception class of every code."""
    from lance_ns.errors import ErrorCode, error_class

    return [error_class(code) for code in ErrorCode]
