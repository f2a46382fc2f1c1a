"""The backend `unity`: the operations as calls of Unity Catalog's API."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from lance_ns import models as m
from lance_ns.config import StorageOptions
from lance_ns.errors import (
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    ServiceUnavailable,
    TableAlreadyExists,
    TableNotFound,
)
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.paging import page_of_names, page_of_pages
from lance_ns.perprocess import PerProcess
from lance_ns.rest.backend import RestNamespace, client_of, operation
from lance_ns.rest.client import segment
from lance_ns_unity import mapping, types
from lance_ns_unity.config import UnityConfig
from lance_ns_unity.dialect import DIALECT, NAMESPACE, NEW_NAMESPACE, NEW_TABLE, OLD_NAMESPACE, PLACE_TAKEN, TABLE

PAGE = 100
"""How many entries a server gives at most, however many are asked for."""
_WITHOUT_COLUMNS = {"omit_columns": "true"}
_BARE = {**_WITHOUT_COLUMNS, "omit_properties": "true"}
_changing: PerProcess[list[threading.Lock]] = PerProcess(lambda: [threading.Lock() for _ in range(64)])


class UnityNamespace(RestNamespace):
    """The schemas of one catalog, and the tables in them."""

    def __init__(self, config: UnityConfig) -> None:
        self.client = client_of(
            config, DIALECT, connect_seconds=config.connect_timeout, read_seconds=config.read_timeout
        )
        self._catalog = config.catalog
        self._root = config.root
        self._patience = config.operation_timeout
        self._storage = StorageOptions(config.storage)
        path = config.api_path.strip("/")
        self._api = f"/{path}" if path else ""

    # --- namespaces -----------------------------------------------------------------------------------------------

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Create a schema."""
        if not id:
            raise NamespaceAlreadyExists("the root namespace always exists")
        self._create_schema(self._schema(id, InvalidInput), {"properties": dict(properties)})

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a schema; the root has none."""
        if not id:
            return {}
        found = self._find_schema(self._schema(id, NamespaceNotFound))
        return None if found is None else mapping.properties_of(found)

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Replace the properties of an empty schema.

        The server ignores it when all properties are to go: then the schema is made anew, and its comment stays.
        """
        id = self._schema(id, NamespaceNotFound)
        if properties:
            self.client.call(
                "PATCH",
                self._path("schemas", id),
                json_body={"properties": dict(properties)},
                meaning=NAMESPACE,
                settle=lambda: self._replaced(id, properties),
            )
            return
        existing = self._find_schema(id)
        if existing is None:
            raise NamespaceNotFound(f"namespace {display(id)} not found")
        if mapping.properties_of(existing):
            self._delete_schema(id, {})
            kept = {key: existing[key] for key in ("comment", "storage_root") if existing.get(key)}
            self._create_schema(id, kept)

    def is_empty(self, id: Levels) -> bool:
        """Whether the server lists no table in a schema."""
        entries, _ = self._page("tables", _BARE, id, None, 1)
        return not entries

    @operation
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """Delete a schema. The server refuses one that is not empty unless it is forced, which takes all entries."""
        if not request.id:
            raise InvalidInput("the root namespace cannot be dropped")
        try:
            id = self._schema(request.id, NamespaceNotFound)
            if request.behavior is m.DropBehavior.CASCADE:
                self._require_no_managed_tables(id)
                self._delete_schema(id, {"force": "true"})
            else:
                if not self.is_empty(id):  # some servers would delete it all the same
                    raise NamespaceNotEmpty(
                        f"namespace {display(id)} is not empty", hint="behavior='cascade' drops what it holds"
                    )
                self._delete_schema(id, {})
        except NamespaceNotFound:
            if request.mode is not m.DropMode.SKIP:
                raise
        return m.DropNamespaceResponse()

    @operation
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """The catalog for the root, and its schemas for the catalog, page by page."""
        if not request.id:
            names, token = page_of_names("unity", request, [self._catalog])
        elif len(request.id) > 1:
            raise InvalidInput(f"namespace {display(request.id)} holds no namespaces", hint="it holds tables alone")
        else:
            self._require_own(request.id, NamespaceNotFound)
            names, token = page_of_pages("unity", request, PAGE, self._pages("schemas", {}, request.id, lambda _: True))
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @operation
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Create an external table where the Lance table is to lie."""
        table = self._create_table(request, request.location or default_location(self._root, request.id))
        return m.DeclareTableResponse(
            location=table["storage_location"],
            storage_options=self._storage.copy(),
            properties=mapping.properties_of(table),
        )

    @operation
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Create an external table where the data is."""
        table = self._create_table(request, request.location)
        return m.RegisterTableResponse(location=table["storage_location"], properties=mapping.properties_of(table))

    @operation
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """The Lance tables of a schema, page by page: the listing itself tells which they are."""
        id = self._schema(request.id, NamespaceNotFound)
        names, token = page_of_pages(
            "unity", request, PAGE, self._pages("tables", _WITHOUT_COLUMNS, id, mapping.is_lance)
        )
        return m.ListTablesResponse(tables=names, page_token=token)

    @operation
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the catalog says of a table."""
        table = self._load(request.id)
        return m.DescribeTableResponse(
            table=request.id[-1],
            namespace=request.id[:-1],
            location=table["storage_location"],
            schema=types.schema_of(table.get("columns")) if request.with_columns else None,
            storage_options=self._storage.copy(),
            properties=mapping.properties_of(table),
        )

    @operation
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Delete the external table; its data is not the server's to delete."""
        with self._alone(request.id):
            table = self._load(request.id)
            self.client.call("DELETE", self._path("tables", request.id), meaning=TABLE, answers=False)
        return m.DeregisterTableResponse(
            id=request.id, location=table["storage_location"], properties=mapping.properties_of(table)
        )

    # --- inside ---------------------------------------------------------------------------------------------------

    def _schema(self, id: Levels, elsewhere: type[LanceNsError]) -> Levels:
        """The identifier of a schema, checked; `elsewhere` is raised for those of other catalogs."""
        if len(id) != 2:
            raise InvalidInput(f"{display(id)} is not a namespace here", hint="a namespace is a catalog and a schema")
        return self._require_own(id, elsewhere)

    def _table(self, id: Levels, elsewhere: type[LanceNsError]) -> Levels:
        if len(id) != 3:
            raise InvalidInput(f"{display(id)} is not a table here", hint="a table is a catalog, a schema and a name")
        return self._require_own(id, elsewhere)

    def _require_own(self, id: Levels, elsewhere: type[LanceNsError]) -> Levels:
        if id[0] != self._catalog:
            raise elsewhere(
                f"{display(id)} is not in the catalog {self._catalog}", hint="a connection serves the one in 'catalog'"
            )
        for level in id[1:]:
            if "." in level:  # servers would read another identifier
                raise InvalidInput(f"a name cannot hold a dot here: {level!r}", hint="Unity separates levels by dots")
        return id

    @contextmanager
    def _alone(self, id: Levels) -> Generator[None]:
        """Within this process, change one name at a time.

        Official servers let creations at the same instant all through, and cannot read what is there twice.
        """
        locks = _changing()
        lock = locks[hash((self.client.endpoint, id)) % len(locks)]
        if not lock.acquire(timeout=self._patience):
            raise ServiceUnavailable(f"other changes of {display(id)} did not end", hint="try again later")
        try:
            yield
        finally:
            lock.release()

    def _path(self, collection: str, id: Levels) -> str:
        return f"{self._api}/{collection}/{'.'.join(map(segment, id))}"

    def _find_schema(self, id: Levels) -> dict[str, Any] | None:
        try:
            return mapping.named(self.client.call("GET", self._path("schemas", id), meaning=NAMESPACE).body)
        except NamespaceNotFound:
            return None

    def _create_schema(self, id: Levels, content: dict[str, Any]) -> None:
        with self._alone(id):
            self.client.call(
                "POST",
                f"{self._api}/schemas",
                json_body={"name": id[1], "catalog_name": id[0], **content},
                meaning=NEW_NAMESPACE,
                settle=lambda: self._made(id, content.get("properties", {})),
            )

    def _delete_schema(self, id: Levels, query: dict[str, str]) -> None:
        with self._alone(id):
            self.client.call("DELETE", self._path("schemas", id), query=query, meaning=OLD_NAMESPACE, answers=False)

    def _create_table(self, request: m.DeclareTableRequest | m.RegisterTableRequest, location: str) -> dict[str, Any]:
        id = self._table(request.id, NamespaceNotFound)
        asked = mapping.creation(id, mapping.located(location), request.properties or {}, types.columns(request.schema))
        with self._alone(id):
            try:
                answer = self.client.call(
                    "POST",
                    f"{self._api}/tables",
                    json_body=asked,
                    meaning=NEW_TABLE,
                    settle=lambda: self._created(id, asked),
                )
            except InvalidInput as error:
                if error.native == PLACE_TAKEN and self._holds(id):
                    raise TableAlreadyExists(f"table {display(id)} already exists", native=error.native) from error
                raise
        return mapping.lance_table(answer.body, id)

    def _holds(self, id: Levels) -> bool:
        try:
            self.client.call("GET", self._path("tables", id), meaning=TABLE)
        except TableNotFound:
            return False
        return True

    def _load(self, id: Levels) -> dict[str, Any]:
        path = self._path("tables", self._table(id, TableNotFound))
        try:
            answer = self.client.call("GET", path, meaning=TABLE)
        except TableNotFound as error:
            raise TableNotFound(f"table {display(id)} not found", native=error.native) from error
        return mapping.lance_table(answer.body, id)

    def _pages(
        self, collection: str, query: Mapping[str, str], id: Levels, belongs: Callable[[Mapping[str, Any]], bool]
    ) -> Callable[[str | None, int], tuple[list[tuple[str, bool]], str | None]]:
        """What fetches a page of a listing for `page_of_pages`."""

        def page(token: str | None, wanted: int) -> tuple[list[tuple[str, bool]], str | None]:
            entries, following = self._page(collection, query, id, token, wanted)
            return [(entry["name"], belongs(entry)) for entry in entries], following

        return page

    def _page(
        self, collection: str, query: Mapping[str, str], parent: Levels, token: str | None, wanted: int
    ) -> tuple[list[dict[str, Any]], str | None]:
        """One page of a server's listing, and the token of the next."""
        query = {
            **dict(zip(("catalog_name", "schema_name"), parent, strict=False)),
            "max_results": str(wanted),
            **query,
            **({"page_token": token} if token else {}),
        }
        body = self.client.call("GET", f"{self._api}/{collection}", query=query, meaning=NAMESPACE).body
        entries = mapping.listed(body, collection)
        if entries is None:
            self._require(parent)  # some servers say the same of what does not exist
            return [], None
        return entries, body.get("next_page_token") or None

    def _require(self, id: Levels) -> None:
        """Raise NamespaceNotFound unless there is such a catalog or schema."""
        collection = "catalogs" if len(id) == 1 else "schemas"
        mapping.named(self.client.call("GET", self._path(collection, id), meaning=NAMESPACE).body)

    def _require_no_managed_tables(self, id: Levels) -> None:
        """Refuse to force what would delete data: that of managed tables goes with their entries."""
        token: str | None = None
        while True:
            entries, token = self._page("tables", _BARE, id, token, PAGE)
            managed = next((entry["name"] for entry in entries if mapping.is_managed(entry)), None)
            if managed is not None:
                raise NamespaceNotEmpty(
                    f"namespace {display(id)} holds the managed table {managed}, whose data would be deleted with it",
                    hint="drop managed tables first, by a client of theirs",
                )
            if token is None:
                return

    # What a call did whose answer never came: the catalog is asked.

    def _made(self, id: Levels, properties: Mapping[str, str]) -> Any:
        existing = self._find_schema(id)
        if existing is None:
            return None
        if not properties.items() <= mapping.properties_of(existing).items():
            raise NamespaceAlreadyExists(f"namespace {display(id)} already exists, with other properties")
        return existing

    def _replaced(self, id: Levels, properties: Mapping[str, str]) -> Any:
        existing = self._find_schema(id)
        return existing if existing and mapping.properties_of(existing) == properties else None

    def _created(self, id: Levels, asked: Mapping[str, Any]) -> Any:
        try:
            table = self._load(id)
        except TableNotFound:
            return None
        except InvalidInput:
            table = {}
        if not mapping.is_as_asked(table, asked):
            raise TableAlreadyExists(f"table {display(id)} already exists, and is another one")
        return table
