"""What catalogs with the namespaces of the Iceberg REST API share: their configuration, their paths, and those calls.

The first level of an identifier names what the API calls a warehouse; the levels below it are the namespace's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, unquote

from lance_ns import models as m
from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    TableNotFound,
)
from lance_ns.identifiers import Levels, display
from lance_ns.perprocess import PerProcess
from lance_ns.rest.backend import RestNamespace, operation
from lance_ns.rest.client import RestClient, segment
from lance_ns.rest.dialect import Kinds
from lance_ns.rest.retrying import fresh_key

ERRORS: Kinds = {
    "NoSuchNamespaceException": NamespaceNotFound,
    "NoSuchWarehouseException": NamespaceNotFound,
    "NoSuchTableException": TableNotFound,
    "NamespaceNotEmptyException": NamespaceNotEmpty,
    "CommitFailedException": ConcurrentModification,
}
"""What the names of errors mean on every server."""
NAMESPACE: Kinds = {404: NamespaceNotFound}
"""What a status means for a call on one namespace."""
_NEW_NAMESPACE: Kinds = {404: NamespaceNotFound, 409: NamespaceAlreadyExists}
_UNIT_SEPARATOR = "%1F"
_ENCODED = r"(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+"
_CHECK_ENDPOINT = "check that 'endpoint' names the catalog"


# --- where things are ----------------------------------------------------------------------------------------------


class Warehouse(NamedTuple):
    """What a server says of one warehouse.

    Attributes:
        api: what stands before `/v1` in its paths.
        prefix: the segments that follow `/v1`, as they stand in a URL; empty where there are none.
        separator: what stands between the levels of a namespace in a path, encoded.
        keys_honoured: whether the server remembers idempotency keys.
    """

    api: str = ""
    prefix: str = ""
    separator: str = _UNIT_SEPARATOR
    keys_honoured: bool = False

    def new_key(self) -> str | None:
        """The key of a call that may then be sent twice, None where the server would not know it."""
        return fresh_key() if self.keys_honoured else None

    @property
    def base(self) -> str:
        """The beginning of its paths."""
        return f"{self.api}/v1/{self.prefix}".rstrip("/")

    def namespaces(self) -> str:
        """The path of all namespaces."""
        return f"{self.base}/namespaces"

    def namespace(self, levels: Levels) -> str:
        """The path of a namespace."""
        return f"{self.namespaces()}/{self.joined(levels)}"

    def joined(self, levels: Levels) -> str:
        """A namespace as one segment of a path."""
        return self.separator.join(map(segment, levels))

    def parent(self, levels: Levels) -> str:
        """A namespace as the value of a query parameter."""
        return unquote(self.separator).join(levels)

    def tables(self, levels: Levels) -> str:
        """The path of a namespace's tables."""
        return f"{self.namespace(levels)}/tables"

    def table(self, levels: Levels) -> str:
        """The path of a table, whose name is the last level."""
        return f"{self.tables(levels[:-1])}/{segment(levels[-1])}"


class Warehouses:
    """The warehouses of a connection: each is asked for once, by one thread; a failure is not remembered."""

    def __init__(self, client: RestClient, prefix: str | None = None, api: str = "") -> None:
        self.client = client
        self._prefix = prefix
        self._api = api
        self._known: dict[str, PerProcess[Warehouse]] = {}

    def __getitem__(self, name: str) -> Warehouse:
        found = self._known.get(name) or self._known.setdefault(name, PerProcess(lambda: self.asked(name)))
        return found()

    def asked(self, name: str) -> Warehouse:
        """Ask the server for a warehouse.

        Raises:
            NamespaceNotFound: it knows none of that name.
        """
        answer = self.client.call(
            "GET", f"{self._api}/v1/config", query={"warehouse": name}, meaning={404: NamespaceNotFound}
        ).body
        said = _merged(answer)
        separator = said.get("namespace-separator") or _UNIT_SEPARATOR
        prefix = self._prefix if self._prefix is not None else said.get("prefix")
        if prefix is None and self._routed(segment(name)):
            prefix = segment(name)
        return Warehouse(
            api=self._api,
            prefix=prefix.strip("/") if prefix else "",
            separator=separator if re.fullmatch(_ENCODED, separator) else quote(separator, safe=""),
            keys_honoured=bool(said.get("idempotency-key-lifetime")),
        )

    def _routed(self, prefix: str) -> bool:
        """Whether the server has routes with this prefix: some have none at all."""
        try:
            self.client.call(
                "GET",
                f"{self._api}/v1/{prefix}/namespaces",
                query={"pageToken": "", "pageSize": "1"},
                meaning={400: InvalidInput, 404: NamespaceNotFound},
            )
        except (InvalidInput, NamespaceNotFound):
            return False
        return True


def _merged(answer: object) -> dict[str, str]:
    """The server's settings: its overrides win over its defaults."""
    if not isinstance(answer, dict):
        raise Internal("the server's configuration is not an object", hint=_CHECK_ENDPOINT)
    parts = [answer.get(name) or {} for name in ("defaults", "overrides")]
    return {
        key: value
        for part in parts
        if isinstance(part, dict)
        for key, value in part.items()
        if isinstance(value, str) and value
    }


# --- what answers hold ---------------------------------------------------------------------------------------------


def list_in(body: Any, field: str) -> list[Any]:
    """The entries of a listing.

    Raises:
        Internal: there are none where there should be some: a listing that lacks them is no empty one.
    """
    found = body.get(field) if isinstance(body, dict) else None
    if not isinstance(found, list):
        raise Internal(f"the server's answer holds no {field}", hint=_CHECK_ENDPOINT)
    return found


def properties_of(entry: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a table or namespace."""
    found = entry.get("properties") or {}
    return {str(key): str(value) for key, value in found.items()}


def odd(id: Levels) -> Kinds:
    """A server that cannot read a path says 400; with ordinary names it means something else."""
    plain = all(level.isascii() and level.replace("_", "").replace("-", "").isalnum() for level in id)
    return {} if plain else {400: InvalidInput}


# --- namespaces ----------------------------------------------------------------------------------------------------


class IcebergNamespaces(RestNamespace):
    """Namespaces of any depth below the warehouses of one server.

    Attributes:
        warehouses: those that were asked for.
        top: what the catalog's users call a warehouse.
        refusals: what the server says of names and properties that it does not take.
    """

    warehouses: Warehouses
    top: ClassVar[str] = "warehouse"
    refusals: ClassVar[Kinds] = {}

    def namespace(self, id: Levels) -> tuple[Warehouse, Levels]:
        """The warehouse and the levels below it of a namespace.

        Raises:
            InvalidInput: there is no level below the warehouse, or one holds what separates levels on this server.
            NamespaceNotFound: there is no such warehouse.
        """
        if len(id) < 2:
            raise InvalidInput(
                f"{display(id, '.')} is not a namespace here",
                hint=f"a namespace is a {self.top} and at least one level",
            )
        warehouse, levels = self.warehouses[id[0]], id[1:]
        separator = unquote(warehouse.separator)
        if any(separator in level for level in levels):
            raise InvalidInput(
                f"a level of a namespace cannot hold {separator!r} here: {display(id, '.')}",
                hint="this server would read it as two levels",
            )
        return warehouse, levels

    def table(self, id: Levels) -> tuple[Warehouse, Levels]:
        """The warehouse and the levels below it of a table, its name the last.

        Raises:
            InvalidInput: there is no namespace between.
            NamespaceNotFound: there is no such warehouse.
        """
        if len(id) < 3:
            raise InvalidInput(
                f"{display(id, '.')} is not a table here",
                hint=f"a table is a {self.top}, at least one level, and a name",
            )
        warehouse, levels = self.namespace(id[:-1])
        return warehouse, (*levels, id[-1])

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Create a namespace."""
        if not id:
            raise NamespaceAlreadyExists("the root namespace always exists")
        warehouse, levels = self.namespace(id)
        try:
            self.client.call(
                "POST",
                warehouse.namespaces(),
                json_body={"namespace": [*levels], "properties": dict(properties)},
                meaning={**_NEW_NAMESPACE, **self.refusals},
                settle=lambda: self._made(id, properties),
                idempotency_key=warehouse.new_key(),
            )
        except Internal as error:
            # Some servers let all but the first of several that come at once fail in their database.
            if self._is_there_now(id):
                raise NamespaceAlreadyExists(
                    f"namespace {display(id, '.')} already exists", native=error.native
                ) from error
            raise

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a namespace; the root has none."""
        if not id:
            return {}
        try:
            warehouse, levels = self.namespace(id)
            answer = self.client.call("GET", warehouse.namespace(levels), meaning={**NAMESPACE, **odd(id)})
        except NamespaceNotFound:
            return None
        return properties_of(answer.body)

    def require_entry(self, id: Levels) -> Mapping[str, str]:
        """The properties of a namespace that must exist, shown as users of these catalogs write it."""
        properties = self.find_entry(id)
        if properties is None:
            raise NamespaceNotFound(f"namespace {display(id, '.')} not found")
        return properties

    def change_properties(self, id: Levels, updates: Mapping[str, str], removals: list[str]) -> None:
        """Set some properties of a namespace and remove others, in one call."""
        warehouse, levels = self.namespace(id)
        self.client.call(
            "POST",
            f"{warehouse.namespace(levels)}/properties",
            json_body={"removals": removals, "updates": dict(updates)},
            meaning={**NAMESPACE, **self.refusals},
            settle=lambda: self._changed(id, updates, removals),
            idempotency_key=warehouse.new_key(),
        )

    def remove_entry(self, id: Levels) -> None:
        """Drop a namespace: the server refuses one that is not empty."""
        warehouse, levels = self.namespace(id)
        self.client.call(
            "DELETE",
            warehouse.namespace(levels),
            meaning={**NAMESPACE, **odd(id), 409: NamespaceNotEmpty},
            answers=False,
        )

    @operation
    def namespace_exists(self, request: m.NamespaceExistsRequest) -> m.NamespaceExistsResponse:
        """One call without a body."""
        if request.id:
            self.require_namespace(request.id)
        return m.NamespaceExistsResponse()

    def require_namespace(self, id: Levels) -> None:
        """Ask whether a namespace exists, without its properties.

        Raises:
            NamespaceNotFound: it does not.
        """
        warehouse, levels = self.namespace(id)
        try:
            self.client.call("HEAD", warehouse.namespace(levels), meaning={**NAMESPACE, **odd(id)})
        except NamespaceNotFound as error:
            raise NamespaceNotFound(f"namespace {display(id, '.')} not found", native=error.native) from error

    def children(self, warehouse: Warehouse, levels: Levels = ()) -> Iterator[str]:
        """The names of the namespaces directly in a namespace, or at the top of a warehouse."""
        query = {"parent": warehouse.parent(levels)} if levels else {}
        for each in self.listed(warehouse.namespaces(), "namespaces", {**NAMESPACE, **odd(levels)}, query):
            yield each[-1]

    def table_names(self, warehouse: Warehouse, levels: Levels) -> Iterator[str]:
        """The names of the Iceberg tables in a namespace."""
        for each in self.listed(warehouse.tables(levels), "identifiers", {**NAMESPACE, **odd(levels)}):
            yield each["name"]

    def listed(self, path: str, field: str, meaning: Kinds, query: Mapping[str, str] | None = None) -> Iterator[Any]:
        """All entries of a listing, which some servers give in pages though nobody asked for them."""
        query = query or {}
        while True:
            body = self.client.call("GET", path, query=query, meaning=meaning).body
            yield from list_in(body, field)
            token = body.get("next-page-token")
            if not token:
                return
            if token == query.get("pageToken"):
                raise Internal("the server's listing does not advance: a page names itself as the next one")
            query = {**query, "pageToken": token}

    # What a call did whose answer never came: the catalog is asked.

    def _is_there_now(self, id: Levels) -> bool:
        try:
            return self.find_entry(id) is not None
        except LanceNsError:
            return False  # what failed first is what matters

    def _made(self, id: Levels, properties: Mapping[str, str]) -> Any:
        existing = self.find_entry(id)
        if existing is None:
            return None
        added = existing.keys() - properties.keys() - {"location"}  # which servers add themselves
        if added or not properties.items() <= existing.items():
            raise NamespaceAlreadyExists(f"namespace {display(id, '.')} already exists, with other properties")
        return existing

    def _changed(self, id: Levels, updates: Mapping[str, str], removals: list[str]) -> Any:
        existing = self.require_entry(id)
        done = updates.items() <= existing.items() and not set(removals) & existing.keys()
        return existing if done else None
