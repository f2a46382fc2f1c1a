"""The backend `iceberg`: the operations as calls of the Iceberg REST API."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from lance_ns import models as m
from lance_ns.config import StorageOptions
from lance_ns.errors import (
    ConcurrentModification,
    InvalidInput,
    NamespaceNotEmpty,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
    Unsupported,
)
from lance_ns.identifiers import Levels, default_location, display, same_place
from lance_ns.paging import page_of_matching, page_of_names
from lance_ns.rest.backend import client_of, operation
from lance_ns.rest.client import Answer
from lance_ns.rest.dialect import Dialect, Kinds, iceberg_error
from lance_ns.rest.iceberg import ERRORS, IcebergNamespaces, Warehouse, Warehouses, odd, properties_of
from lance_ns_iceberg import mapping
from lance_ns_iceberg.config import IcebergConfig

DIALECT = Dialect(read=iceberg_error, kinds=ERRORS)
_TABLE: Kinds = {"NoSuchNamespaceException": TableNotFound, 404: TableNotFound}
_NEW_TABLE: Kinds = {404: NamespaceNotFound, 409: TableAlreadyExists}
_COMMIT: Kinds = {**_TABLE, 409: ConcurrentModification}
_RENAME: Kinds = {404: TableNotFound, 409: TableAlreadyExists}
_DELEGATION = {"X-Iceberg-Access-Delegation": "vended-credentials"}
_COMMIT_ATTEMPTS = 5


class IcebergNamespace(IcebergNamespaces):
    """Namespaces and tables of the warehouses behind one endpoint."""

    def __init__(self, config: IcebergConfig) -> None:
        self.client = client_of(
            config,
            DIALECT,
            connect_seconds=config.connect_timeout / 1000,
            read_seconds=config.read_timeout / 1000,
            token_path="/v1/oauth/tokens",  # noqa: S106  # a path
            scope="catalog",
        )
        self._config = config
        self._storage = StorageOptions(config.storage)
        self.warehouses = Warehouses(self.client, config.prefix)

    # --- namespaces -----------------------------------------------------------------------------------------------

    def namespace(self, id: Levels) -> tuple[Warehouse, Levels]:
        """Refuse a dot within a level: catalogs store `["a.b"]` and `["a", "b"]` as the same namespace."""
        for level in id[1:]:
            if "." in level:
                raise InvalidInput(
                    f"a level of a namespace cannot hold a dot here: {level!r}",
                    hint="Iceberg catalogs would read it as two levels",
                )
        return super().namespace(id)

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Create a namespace whose parent exists and that can be addressed afterwards."""
        if id:
            warehouse, levels = self.namespace(id)
            if len(levels) > 1:
                self.require_namespace(id[:-1])  # some servers would make the parent up
            self._require_addressable(id, warehouse.namespace(levels))
        super().create_entry(id, properties)

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Set the new properties, and remove the others that anybody may remove."""
        existing = self.require_entry(id)
        self.change_properties(id, properties, [key for key in existing if key not in properties and key != "location"])

    def is_empty(self, id: Levels) -> bool:
        """Whether the server lists nothing in a namespace."""
        warehouse, levels = self.namespace(id)
        return not any(self.children(warehouse, levels)) and not any(self.table_names(warehouse, levels))

    @operation
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """The server refuses to drop what holds tables, and a missing namespace is what was wanted."""
        if not request.id:
            raise InvalidInput("the root namespace cannot be dropped")
        with suppress(NamespaceNotFound):
            warehouse, levels = self.namespace(request.id)
            if any(self.children(warehouse, levels)):  # some servers would drop it, and leave the children behind
                raise NamespaceNotEmpty(f"namespace {display(request.id, '.')} holds namespaces")
            self.remove_entry(request.id)
        return m.DropNamespaceResponse()

    @operation
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """The warehouse for the root, else the children of a namespace or of a warehouse."""
        if not request.id:
            if self._config.warehouse is None:
                raise InvalidInput(
                    "the warehouses of a server cannot be listed", hint="set the property 'warehouse', or name one"
                )
            children: list[str] = [self._config.warehouse]
        elif len(request.id) == 1:
            children = list(self.children(self.warehouses[request.id[0]]))
        else:
            warehouse, levels = self.namespace(request.id)
            children = list(self.children(warehouse, levels))
            if not children:
                self.require_namespace(request.id)  # some servers list nothing in what does not exist
        names, token = page_of_names("iceberg", request, children)
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @operation
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Create an Iceberg table with the dummy schema where the Lance table is to lie."""
        location = request.location or default_location(self._config.root, request.id)
        metadata = self._create(request.id, location, request.properties or {})
        return m.DeclareTableResponse(
            location=metadata["location"],
            storage_options=mapping.storage_options(metadata, self._storage),
            properties=properties_of(metadata),
        )

    @operation
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Create an Iceberg table at the location of the data, or move the one there is."""
        try:
            metadata = self._create(request.id, request.location, request.properties or {})
            if not same_place(metadata["location"], request.location):
                self._drop(request.id)
                raise Unsupported(
                    "this server chooses the locations of tables itself", hint="declare the table, and copy its data"
                )
        except TableAlreadyExists:
            if request.mode is not m.RegisterMode.OVERWRITE:
                raise
            existing = mapping.require_lance(mapping.metadata_of(self._load(request.id).body), request.id)
            metadata = self._commit(request.id, existing, mapping.replacement(existing, request))
        return m.RegisterTableResponse(location=metadata["location"], properties=properties_of(metadata))

    @operation
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """One call for the names; then the tables are loaded, some at a time, until the page is full."""
        warehouse, levels = self.namespace(request.id)
        names = sorted(self.table_names(warehouse, levels))
        if not names:
            self.require_namespace(request.id)  # some servers list nothing in what does not exist
        found, token = page_of_matching("iceberg", request, names, lambda name: self._is_lance((*request.id, name)))
        return m.ListTablesResponse(tables=found, page_token=token)

    @operation
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the Iceberg table says."""
        answer = self._load(request.id, headers=_DELEGATION if request.vend_credentials else None)
        metadata = mapping.require_lance(mapping.metadata_of(answer.body), request.id)
        options = mapping.storage_options(metadata, self._storage)
        if request.vend_credentials:
            credentials = mapping.vended(answer.body)
            if credentials is None:
                raise Unsupported("the server vends no credentials for this table", hint="give storage.* properties")
            options = options | credentials
        return m.DescribeTableResponse(
            table=request.id[-1],
            namespace=request.id[:-1],
            location=metadata["location"],
            storage_options=options,
            properties=properties_of(metadata),
        )

    @operation
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Drop the Iceberg table, and never ask the server to purge."""
        metadata = mapping.require_lance(mapping.metadata_of(self._load(request.id).body), request.id)
        self._drop(request.id)
        return m.DeregisterTableResponse(
            id=request.id, location=metadata["location"], properties=properties_of(metadata)
        )

    @operation
    def rename_table(self, request: m.RenameTableRequest) -> m.RenameTableResponse:
        """One call of the server's, after a look whether it is a Lance table and where it goes exists."""
        parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
        target = (*parent, request.new_table_name)
        if target[0] != request.id[0]:
            raise InvalidInput(f"a table cannot leave its warehouse {request.id[0]}", hint="copy it instead")
        mapping.require_lance(mapping.metadata_of(self._load(request.id).body), request.id)
        warehouse, levels = self.table(request.id)
        _, to_levels = self.table(target)
        if parent != request.id[:-1]:
            self.require_namespace(parent)  # some servers would make it up
        self._require_addressable(target, warehouse.table(to_levels))
        self.client.call(
            "POST",
            f"{warehouse.base}/tables/rename",
            json_body={"source": _identifier(levels), "destination": _identifier(to_levels)},
            meaning=_RENAME,
            answers=False,
            settle=lambda: self._moved(request.id, target),
            idempotency_key=warehouse.new_key(),
        )
        return m.RenameTableResponse()

    @operation
    def alter_table_properties(self, request: m.AlterTablePropertiesRequest) -> m.AlterTablePropertiesResponse:
        """One commit that names the properties to set and to remove, so that others' changes stay."""
        updates, removals = dict(request.updates or {}), [*(request.removals or ())]
        if mapping.TYPE in updates or mapping.TYPE in removals:
            raise InvalidInput(f"{mapping.TYPE} says that this is a Lance table", hint="deregister it instead")
        metadata = mapping.require_lance(mapping.metadata_of(self._load(request.id).body), request.id)
        if updates or removals:
            metadata = self._commit(request.id, metadata, mapping.alteration(updates, removals))
        return m.AlterTablePropertiesResponse(properties=properties_of(metadata))

    # --- inside ---------------------------------------------------------------------------------------------------

    def _require_addressable(self, id: Levels, path: str) -> None:
        """Refuse a name that the server would take and then never find: ask for it before it is made."""
        if odd(id):
            try:
                self.client.call("HEAD", path, meaning={**odd(id), 404: NamespaceNotFound})
            except NamespaceNotFound:
                return
            except InvalidInput as error:
                raise InvalidInput(
                    f"this server cannot address {display(id, '.')}",
                    native=error.native,
                    hint="use letters, digits, _ and -",
                ) from error

    def _load(self, id: Levels, headers: Mapping[str, str] | None = None) -> Answer:
        try:
            warehouse, levels = self.table(id)
            return self.client.call(
                "GET",
                warehouse.table(levels),
                query={"snapshots": "refs"},
                meaning={**_TABLE, **odd(id)},
                headers=headers,
            )
        except (NamespaceNotFound, TableNotFound) as error:
            raise TableNotFound(f"table {display(id, '.')} not found", native=error.native) from error

    def _drop(self, id: Levels) -> None:
        warehouse, levels = self.table(id)
        self.client.call(
            "DELETE", warehouse.table(levels), query={"purgeRequested": "false"}, meaning=_TABLE, answers=False
        )

    def _is_lance(self, id: Levels) -> bool:
        try:
            return mapping.is_lance(mapping.metadata_of(self._load(id).body))
        except TableNotFound:
            return False  # somebody dropped it since its name was listed
        except InvalidInput:
            return False  # the server lists a name that it cannot address: nobody can open that table

    def _create(self, id: Levels, location: str, properties: Mapping[str, str]) -> dict[str, Any]:
        warehouse, levels = self.table(id)
        self.require_namespace(id[:-1])  # some servers would make it up
        self._require_addressable(id, warehouse.table(levels))
        answer = self.client.call(
            "POST",
            warehouse.tables(levels[:-1]),
            json_body=mapping.creation(levels[-1], location, properties),
            meaning=_NEW_TABLE,
            settle=lambda: self._created(id, location, properties),
            idempotency_key=warehouse.new_key(),
        )
        return mapping.metadata_of(answer.body)

    def _commit(self, id: Levels, metadata: Mapping[str, Any], updates: list[dict[str, Any]]) -> dict[str, Any]:
        """Change a table, provided that it is still the same one; a lost race is run again, the changes are apart."""
        warehouse, levels = self.table(id)
        body = mapping.commit(metadata, updates)
        for attempt in range(_COMMIT_ATTEMPTS):
            try:
                answer = self.client.call(
                    "POST",
                    warehouse.table(levels),
                    json_body=body,
                    meaning=_COMMIT,
                    settle=lambda: self._committed(id, metadata, updates),
                    idempotency_key=warehouse.new_key(),
                )
                return mapping.metadata_of(answer.body)
            except ConcurrentModification:
                now = mapping.metadata_of(self._load(id).body)
                if attempt + 1 == _COMMIT_ATTEMPTS or now.get("table-uuid") != metadata.get("table-uuid"):
                    raise
        raise AssertionError  # the loop returns or raises

    # What a call did whose answer never came: the catalog is asked.

    def _created(self, id: Levels, location: str, properties: Mapping[str, str]) -> Any:
        try:
            loaded = self._load(id).body
        except TableNotFound:
            return None
        metadata = mapping.metadata_of(loaded)
        if not mapping.is_as_asked(metadata, location, properties):
            raise TableAlreadyExists(f"table {display(id, '.')} already exists, and is another one")
        return loaded

    def _committed(self, id: Levels, before: Mapping[str, Any], updates: list[dict[str, Any]]) -> Any:
        loaded = self._load(id).body
        return loaded if mapping.is_committed(mapping.metadata_of(loaded), before, updates) else None

    def _moved(self, id: Levels, target: Levels) -> Any:
        if self._is_lance(target) and not self._is_lance(id):
            return {}
        return None


def _identifier(levels: Levels) -> dict[str, Any]:
    return {"namespace": [*levels[:-1]], "name": levels[-1]}
