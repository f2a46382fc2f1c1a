"""The backend `polaris`: the operations as calls of the Iceberg REST API and of Polaris' generic tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lance_ns import models as m
from lance_ns.config import StorageOptions
from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    NamespaceNotFound,
    PermissionDenied,
    TableAlreadyExists,
    TableNotFound,
    Unauthenticated,
)
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.paging import page_of_matching, page_of_names
from lance_ns.rest.backend import client_of, operation
from lance_ns.rest.client import segment
from lance_ns.rest.dialect import Dialect, Kinds, iceberg_error
from lance_ns.rest.iceberg import ERRORS, IcebergNamespaces, Warehouse, Warehouses, odd
from lance_ns_polaris import mapping
from lance_ns_polaris.config import PolarisConfig
from lance_ns_polaris.mapping import GenericTable

API = "/api/catalog"

DIALECT = Dialect(
    read=iceberg_error,
    kinds={
        **ERRORS,
        "CommitConflictException": ConcurrentModification,
        "MissingOrInvalidRealm": Unauthenticated,  # with status 404, and it says nothing of what was asked for
    },
)
_REFUSED: Kinds = {"IllegalArgumentException": InvalidInput, "ValidationException": InvalidInput}
_TABLE: Kinds = {"NoSuchNamespaceException": TableNotFound}
_NEW_TABLE: Kinds = {**_REFUSED, "AlreadyExistsException": TableAlreadyExists}


class Catalogs(Warehouses):
    """The catalogs of a server, each asked for once."""

    def asked(self, name: str) -> Warehouse:
        """Ask for a catalog; where there is none, make sure that it was Polaris who said so.

        Raises:
            NamespaceNotFound: the server has no such catalog.
            Internal: it answers like this to everything, so the endpoint is wrong.
        """
        try:
            return super().asked(name)
        except NamespaceNotFound as missing:
            try:
                self.client.call("GET", f"{API}/v1/config", meaning={400: InvalidInput, 404: NamespaceNotFound})
            except InvalidInput:
                pass  # it wants to be told a catalog
            except NamespaceNotFound as error:
                raise Internal(
                    f"there is no Polaris at {self.client.endpoint}",
                    native=error.native,
                    hint=f"'endpoint' names the server, without {API}",
                ) from None
            raise NamespaceNotFound(f"catalog {name} not found", native=missing.native) from missing


class PolarisNamespace(IcebergNamespaces):
    """Namespaces and generic tables of the catalogs of one server."""

    top = "catalog"
    refusals = _REFUSED

    def __init__(self, config: PolarisConfig) -> None:
        self.client = client_of(
            config,
            DIALECT,
            connect_seconds=config.connect_timeout / 1000,
            read_seconds=config.read_timeout / 1000,
            headers={} if config.realm is None else {"Polaris-Realm": config.realm},
            token_path=f"{API}/v1/oauth/tokens",
        )
        self._config = config
        self._storage = StorageOptions(config.storage)
        self.warehouses = Catalogs(self.client, api=API)

    # --- namespaces -----------------------------------------------------------------------------------------------

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Set what is new, then remove what is left over: in one call the server does half and answers a conflict."""
        existing = self.require_entry(id)
        updates = {key: value for key, value in properties.items() if existing.get(key) != value}
        removals = [key for key in existing if key not in properties and key != "location"]
        if updates:
            self.change_properties(id, updates, [])
        if removals:
            self.change_properties(id, {}, removals)

    def is_empty(self, id: Levels) -> bool:
        """Whether the server lists nothing in a namespace: no namespace, no generic table, no Iceberg table."""
        catalog, levels = self.namespace(id)
        listings = (self.children, self._generic_names, self.table_names)
        return not any(name for listing in listings for name in listing(catalog, levels))

    @operation
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """One call: the server refuses to drop what is not empty."""
        if not request.id:
            raise InvalidInput("the root namespace cannot be dropped")
        try:
            self.remove_entry(request.id)
        except NamespaceNotFound:
            if request.mode is not m.DropMode.SKIP:
                raise
        return m.DropNamespaceResponse()

    @operation
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """The children of a namespace or of a catalog."""
        if not request.id:
            raise InvalidInput("the catalogs of a server cannot be listed", hint="name a catalog")
        children = self.children(self.warehouses[request.id[0]], request.id[1:])
        names, token = page_of_names("polaris", request, children)
        if self._config.qualified_names:
            names = [".".join((*request.id, name)) for name in names]
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @operation
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Create the generic table where the Lance table is to lie."""
        given = request.location
        location = self._default_location(request.id) if given is None else mapping.checked_location(given)
        table = self._create(request.id, location, request.properties or {})
        return m.DeclareTableResponse(
            location=table.location,
            storage_options=table.storage_options(self._storage),
            properties=table.properties,
        )

    @operation
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Create the generic table where the data is."""
        table = self._create(request.id, mapping.checked_location(request.location), request.properties or {})
        return m.RegisterTableResponse(location=table.location, properties=table.properties)

    @operation
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """One call for the names; then the tables are loaded, some at a time, until the page is full."""
        catalog, levels = self.namespace(request.id)
        names = self._generic_names(catalog, levels)
        found, token = page_of_matching("polaris", request, names, lambda name: self._is_lance((*request.id, name)))
        return m.ListTablesResponse(tables=found, page_token=token)

    @operation
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the generic table says."""
        table = self._find(request.id)
        return m.DescribeTableResponse(
            table=request.id[-1],
            namespace=request.id[:-1],
            location=table.location,
            storage_options=table.storage_options(self._storage),
            properties=table.properties,
        )

    @operation
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Drop the generic table; the server never touches what lies at its location."""
        table = self._find(request.id)
        self.client.call("DELETE", self._path(request.id), meaning=_TABLE, answers=False)
        return m.DeregisterTableResponse(id=request.id, location=table.location, properties=table.properties)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _path(self, id: Levels) -> str:
        catalog, levels = self.table(id)
        return f"{_generic_tables(catalog, levels[:-1])}/{segment(levels[-1])}"

    def _generic_names(self, catalog: Warehouse, levels: Levels) -> Iterator[str]:
        for each in self.listed(_generic_tables(catalog, levels), "identifiers", odd(levels)):
            yield each["name"]

    def _default_location(self, id: Levels) -> str:
        self.table(id)  # a wrong depth is said before anything is asked
        if self._config.root is not None:
            return default_location(self._config.root, id)
        parent = self.require_entry(id[:-1]).get("location")
        return mapping.location_below(parent, id) if parent else default_location(str(Path.cwd()), id)

    def _load(self, id: Levels) -> Any:
        try:
            return self.client.call("GET", self._path(id), meaning={**_TABLE, **odd(id)}).body
        except (NamespaceNotFound, TableNotFound) as error:
            raise TableNotFound(f"table {display(id, '.')} not found", native=error.native) from error

    def _find(self, id: Levels) -> GenericTable:
        """A Lance table; Iceberg tables share its names, and the server hides them from generic calls."""
        try:
            return mapping.require_lance(mapping.read(self._load(id)), id)
        except TableNotFound:
            if self._is_iceberg(id):
                raise mapping.not_lance(id, "it is an Iceberg table") from None
            raise

    def _is_iceberg(self, id: Levels) -> bool:
        if segment(id[-1]) != id[-1]:
            return False  # the server decodes these names twice there: it would look for another table
        try:
            catalog, levels = self.table(id)
            self.client.call("HEAD", catalog.table(levels), meaning={404: TableNotFound})
        except (NamespaceNotFound, TableNotFound, PermissionDenied):
            return False
        return True

    def _is_lance(self, id: Levels) -> bool:
        try:
            return mapping.read(self._load(id)).is_lance
        except TableNotFound:
            return False  # somebody dropped it since its name was listed

    def _create(self, id: Levels, location: str, properties: Mapping[str, str]) -> GenericTable:
        catalog, levels = self.table(id)
        body = mapping.creation(levels[-1], location, properties)
        answer = self.client.call(
            "POST",
            _generic_tables(catalog, levels[:-1]),
            json_body=body,
            meaning=_NEW_TABLE,
            settle=lambda: self._created(id, body),
        )
        return mapping.read(answer.body)

    def _created(self, id: Levels, body: Mapping[str, Any]) -> Any:
        """What a creation did whose answer never came: the catalog is asked."""
        try:
            loaded = self._load(id)
        except TableNotFound:
            return None
        if mapping.read(loaded) != mapping.read({"table": body}):
            raise TableAlreadyExists(f"table {display(id, '.')} already exists, and is another one")
        return loaded


def _generic_tables(catalog: Warehouse, levels: Levels) -> str:
    """The path of a namespace's generic tables."""
    return f"{API}/polaris/v1/{catalog.prefix}/namespaces/{catalog.joined(levels)}/generic-tables"
