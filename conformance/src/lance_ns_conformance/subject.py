"""What is certified: a backend, how to reach it, and the few ways in which its catalog is known to differ."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import attrs

from lance_ns import registry
from lance_ns.connection import connect
from lance_ns.errors import InvalidInput
from lance_ns.namespace import Namespace
from lance_ns_conformance.native import NativeClient

GROUP = "lance_ns.conformance"
"""Entry points of plugins that bring their own: modules with PROPERTIES, EXPECTATIONS, SERVERS and more."""

Mode = Literal["live", "record", "replay"]
"""How scenarios meet the catalog: for real, for real while it is recorded, or by what was recorded."""


@attrs.frozen(kw_only=True)
class Expectations:
    """The one table of differences: a common scenario may differ between backends by these alone.

    Attributes:
        base: the levels above the namespaces that scenarios make, such as the catalog.
        max_depth: how many levels of namespaces there may be below the base; None for any number.
        tables_at_base: whether tables may lie directly below the base.
        shared_names: whether a table and a namespace of one parent cannot have the same name.
        drop_of_missing_succeeds: whether dropping a missing namespace in mode Fail succeeds.
        folds_case: whether names come back in lower case.
        namespace_properties: whether namespaces keep properties.
        table_properties: whether tables keep properties.
        property_values: whether a property may be empty, and in any script.
    """

    base: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    max_depth: int | None = None
    tables_at_base: bool = False
    shared_names: bool = False
    drop_of_missing_succeeds: bool = False
    folds_case: bool = False
    namespace_properties: bool = True
    table_properties: bool = True
    property_values: bool = True


@attrs.frozen(kw_only=True)
class Server:
    """A server that a backend is certified on.

    Attributes:
        name: the name of its directory of cassettes, such as `reference-1.11.0`.
        starts: what starts it, a name that the workspace's own tools know.
        scope: *full* for every scenario, *dialect* for those alone in which servers of one catalog can differ.
        properties: what replay connects with, where that differs from the backend's own.
        expectations: in what its catalog differs from the backend's other servers.
        deviations: scenarios that it cannot satisfy, by id, each with the reason.
    """

    name: str
    starts: str | None = None
    scope: Literal["full", "dialect"] = attrs.field(default="full", validator=attrs.validators.in_(("full", "dialect")))
    properties: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    expectations: Mapping[str, Any] = attrs.field(factory=dict)
    deviations: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(kw_only=True)
class Description:
    """What a plugin's conformance module says.

    Attributes:
        backend: the name of the backend.
        records: what its traffic is recorded as; None when there is none, as with an embedded backend.
        endpoint: the property that holds the server's address; None when there is no server.
        hasty: properties with which a connection gives up soon, for trouble on the way to the server.
        properties: what replay connects with.
        expectations: the backend's row in the table of differences.
        servers: the servers it is certified on, the main one first.
        native: makes a client of the catalog that is not the backend's own, from the connection's properties.
        transports: the seam for Thrift, see `lance_ns_conformance.cassettes.thrift`.
        cassettes: the directory of its recordings; None when it is not known, as for an installed wheel.
    """

    backend: str
    records: Literal["http", "thrift"] | None = None
    endpoint: str | None = None
    hasty: Mapping[str, Any] = attrs.field(factory=dict)
    properties: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    expectations: Mapping[str, Any] = attrs.field(factory=dict)
    servers: Mapping[str, Server] = attrs.field(factory=dict)
    native: Callable[[Mapping[str, Any]], NativeClient] | None = None
    transports: Callable[[Callable[[Any], Any]], AbstractContextManager[Any]] | None = None
    cassettes: Path | None = None

    def server(self, name: str | None) -> Server | None:
        """The server of a name, or the main one; None when there are none.

        Raises:
            InvalidInput: there is no server of that name.
        """
        if name is None:
            return next(iter(self.servers.values()), None)
        if name not in self.servers:
            known = ", ".join(self.servers) or "none"
            raise InvalidInput(f"{self.backend} has no server {name!r}", backend=self.backend, hint=f"known: {known}")
        return self.servers[name]


@attrs.frozen(kw_only=True)
class Subject:
    """A backend with its properties, in which `{scratch}` stands for a directory of the scenario's own.

    Attributes:
        backend: the name under which it is installed.
        properties: how to connect; `{unique}` stands for a word of the scenario's own.
        expectations: in what its catalog differs.
        mode: how scenarios meet the catalog.
        server: the server, where the plugin describes several or one is recorded.
        description: what the plugin's conformance module says.
        replayed: what replay connects with: recorded values become these again.
        cassettes: the directory of the server's recordings.
        ground: the root of the live server, in which every scenario gets a directory of its own; None for any.
        places: further directories of the live server, which recordings do not name.
    """

    backend: str
    properties: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    expectations: Expectations = attrs.field(factory=Expectations)
    mode: Mode = "live"
    server: Server | None = None
    description: Description | None = None
    replayed: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    cassettes: Path | None = None
    ground: str | None = None
    places: tuple[str, ...] = ()

    @property
    def records(self) -> Literal["http", "thrift"] | None:
        """What its traffic is recorded as, if there is any."""
        return self.description.records if self.description else None

    def connect(self, scratch: Path) -> Namespace:
        """A new connection."""
        return connect(self.backend, filled(self.properties, scratch))

    def native(self, scratch: Path) -> NativeClient | None:
        """A client of the catalog that is not the backend's own, where the plugin has one."""
        if self.description is None or self.description.native is None:
            return None
        return self.description.native(filled(self.properties, scratch))

    def deviation(self, scenario: str) -> str | None:
        """Why the server cannot satisfy a scenario, or None when it must."""
        return self.server.deviations.get(scenario) if self.server else None

    def cassette(self, scenario: str) -> Path | None:
        """The file of a scenario's recording."""
        return self.cassettes / f"{scenario}.yaml" if self.cassettes else None

    def as_replayed(self) -> "Subject":
        """The same subject in mode replay."""
        return attrs.evolve(self, mode="replay", properties=self.replayed, ground=None)

    @contextmanager
    def room(self, scratch: Path) -> Iterator[Path]:
        """The directory of one scenario: where the live server reaches it, else the one that is given."""
        if self.ground is None or _is_remote(self.ground):
            yield scratch
            return
        Path(self.ground).mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="scenario-", dir=self.ground, ignore_cleanup_errors=True) as own:
            yield Path(own)


def filled(properties: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Properties with the directory and the word of one scenario in their places."""
    unique = sha256(str(scratch).encode()).hexdigest()[:12]
    return {
        name: value.replace("{scratch}", str(scratch)).replace("{unique}", unique) if isinstance(value, str) else value
        for name, value in properties.items()
    }


def description_of(backend: str) -> Description:
    """What the conformance module of a backend's plugin says; an empty description when it has none.

    Raises:
        InvalidInput: the module says something that the kit does not know.
    """
    if backend not in registry.names(GROUP):
        return Description(backend=backend)
    return read_description(backend, registry.named_object(GROUP, backend))


def read_description(backend: str, module: Any) -> Description:
    """A conformance module as a typed description, checked.

    Raises:
        InvalidInput: it says something that the kit does not know.
    """
    records = getattr(module, "RECORDS", None)
    if records not in (None, "http", "thrift"):
        raise InvalidInput(f"RECORDS of {backend} is {records!r}", hint="it is 'http', 'thrift', or left out")
    expectations = dict(getattr(module, "EXPECTATIONS", {}))
    _refuse_unknown(f"expectations of {backend}", expectations, Expectations)
    servers = {name: _server(backend, name, said) for name, said in getattr(module, "SERVERS", {}).items()}
    return Description(
        backend=backend,
        records=records,
        endpoint=getattr(module, "ENDPOINT", None),
        hasty=dict(getattr(module, "HASTY", {})),
        properties=dict(getattr(module, "PROPERTIES", {})),
        expectations=expectations,
        servers=servers,
        native=getattr(module, "native", None),
        transports=getattr(module, "transports", None),
        cassettes=_beside(module),
    )


def subject_of(
    backend: str,
    properties: Mapping[str, Any],
    *,
    mode: Mode = "live",
    server: str | None = None,
    cassettes: Path | None = None,
) -> Subject:
    """The subject of an installed backend: what its plugin says of itself, overridden by what is given.

    Args:
        backend: the name under which it is installed.
        properties: properties that override the plugin's own.
        mode: how scenarios meet the catalog.
        server: the name of one of the plugin's servers; the main one if left out.
        cassettes: the directory of all its recordings; `tests/cassettes` beside the plugin's `src` if left out.

    Raises:
        InvalidInput: the plugin's module says something that the kit does not know, or there is no such server, or
            there is nothing to record or replay.
    """
    description = description_of(backend)
    chosen = description.server(server)
    replayed = {**description.properties, **(chosen.properties if chosen else {})}
    own_root, ground = ({}, None) if mode == "replay" else _own_root(description, replayed, properties)
    directory = cassettes or description.cassettes
    if mode != "live" and (description.records is None or chosen is None or directory is None):
        raise InvalidInput(
            f"nothing of {backend} can be recorded or replayed",
            backend=backend,
            hint="its conformance module says RECORDS and SERVERS, and --cassettes says where recordings are",
        )
    return Subject(
        backend=backend,
        properties={**replayed, **properties, **own_root},
        expectations=Expectations(**{**description.expectations, **(chosen.expectations if chosen else {})}),
        mode=mode,
        server=chosen,
        description=description,
        replayed=replayed,
        cassettes=directory / chosen.name if directory and chosen else None,
        ground=ground,
    )


def _own_root(
    description: Description, replayed: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], str | None]:
    """Every scenario gets a root of its own below the one that is given: what others left there is not in its way."""
    root, usual = given.get("root"), replayed.get("root")
    if description.records is None or not isinstance(root, str) or "{scratch}" not in str(usual) or "{" in root:
        return {}, None
    ground = root.removeprefix("file://").rstrip("/")
    return {"root": f"{ground}/{{unique}}" if _is_remote(ground) else usual}, ground


def _is_remote(location: str) -> bool:
    return "://" in location


def _server(backend: str, name: str, said: Mapping[str, Any]) -> Server:
    where = f"server {name!r} of {backend}"
    _refuse_unknown(where, said, Server, "name")
    _refuse_unknown(f"expectations of {where}", said.get("expectations", {}), Expectations)
    try:
        server = Server(name=name, **said)
    except ValueError as error:
        raise InvalidInput(f"{where}: {error.args[0]}", backend=backend) from None
    if server.deviations:
        from lance_ns_conformance.scenario import every_scenario

        unknown = set(server.deviations) - {each.id for each in every_scenario()}
        if unknown:
            raise InvalidInput(f"{where} deviates in unknown scenarios: {', '.join(sorted(unknown))}", backend=backend)
    return server


def _refuse_unknown(where: str, said: Mapping[str, Any], known: type[Any], *others: str) -> None:
    allowed = {field.name for field in attrs.fields(known)} - set(others)
    unknown = set(said) - allowed
    if unknown:
        hint = f"known: {', '.join(sorted(allowed))}"
        raise InvalidInput(f"unknown {where}: {', '.join(sorted(unknown))}", hint=hint)


def _beside(module: Any) -> Path | None:
    """`tests/cassettes` beside the `src` that a module lies in."""
    source = next((each for each in Path(getattr(module, "__file__", "")).parents if each.name == "src"), None)
    return source.parent / "tests" / "cassettes" if source else None
