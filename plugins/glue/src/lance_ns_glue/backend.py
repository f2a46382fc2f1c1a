"""The backend `glue`: the operations as calls of Glue."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from lance_ns import models as m
from lance_ns.config import StorageOptions, holds_credentials
from lance_ns.errors import (
    ConcurrentModification,
    Internal,
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from lance_ns.hookspecs import hookimpl
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.paging import page_of_pages
from lance_ns.perprocess import PerProcess
from lance_ns.rest.retrying import Deadline, pause
from lance_ns.rules import NamespaceRules
from lance_ns_glue import mapping
from lance_ns_glue.client import GlueClient
from lance_ns_glue.config import GlueConfig, refuse_contradictions
from lance_ns_glue.errors import EXISTS, MISSING, Kinds, outcome_unknown, refusal

_DATABASE: Kinds = {MISSING: NamespaceNotFound, EXISTS: NamespaceAlreadyExists}
_NEW_TABLE: Kinds = {MISSING: NamespaceNotFound, EXISTS: TableAlreadyExists}
_TABLE: Kinds = {MISSING: TableNotFound}
_LARGEST = 100  # both the most that Glue gives at once and the most that it deletes at once
_ATTEMPTS = 6
_PATIENCE = 30.0
_TURNS = 16


class GlueNamespace(NamespaceRules):
    """Databases and tables of one data catalog."""

    def __init__(self, config: GlueConfig) -> None:
        refuse_contradictions(config)
        self._config = config
        self._glue = GlueClient(config)
        # Threads that change one table would only get into each other's way.
        self._turns = PerProcess(lambda: [threading.Lock() for _ in range(_TURNS)])

    def close(self) -> None:
        """Close the connections."""
        self._glue.close()

    # --- namespaces -----------------------------------------------------------------------------------------------

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Create a database."""
        if not id:
            raise NamespaceAlreadyExists("the root namespace always exists")
        wanted = mapping.database_input(mapping.database(id), properties)
        self._change(
            lambda: self._glue.call("create_database", DatabaseInput=wanted, meaning=_DATABASE),
            lambda: self.find_entry(id) == properties,
        )

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a database; the root has none."""
        if not id:
            return {}
        try:
            return mapping.namespace_properties(self._database(id))
        except NamespaceNotFound:
            return None

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Put properties in the place of those that a database has."""
        name = mapping.database(id)
        wanted = mapping.database_input(name, properties, self._database(id))
        self._glue.call("update_database", Name=name, DatabaseInput=wanted, meaning=_DATABASE)

    def remove_entry(self, id: Levels) -> None:
        """Delete a database, whose entries Glue would delete with it: it must be empty."""
        self._change(
            lambda: self._glue.call("delete_database", Name=mapping.database(id), meaning=_DATABASE),
            lambda: self.find_entry(id) is None,
        )

    def is_empty(self, id: Levels) -> bool:
        """Whether a database holds no table of any format."""
        return next(self._tables(id, 1), None) is None

    def clear(self, id: Levels) -> None:
        """Delete the entries of all tables of a database, as many at once as Glue takes, until none is left."""
        before: list[str] = []
        while names := [each["Name"] for each in islice(self._tables(id), _LARGEST)]:
            if names == before:
                raise Internal(f"tables of {display(id)} are listed that cannot be deleted: {', '.join(names[:5])}")
            before = names
            answer = self._glue.call(
                "batch_delete_table", DatabaseName=mapping.database(id), TablesToDelete=names, meaning=_DATABASE
            )
            for each in answer.get("Errors") or ():
                if each["ErrorDetail"].get("ErrorCode") != MISSING:
                    raise refusal(each["ErrorDetail"])

    @hookimpl
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """One page of the databases."""
        if request.id:
            raise InvalidInput(f"{display(request.id)} holds no namespaces", hint="databases do not nest")

        def ask(native: str | None, size: int) -> tuple[list[tuple[str, bool]], str | None]:
            found, following = self._page("get_databases", "DatabaseList", native, size)
            return [(each["Name"], True) for each in found], following

        names, token = page_of_pages("glue", request, _LARGEST, ask)
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @hookimpl
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """One call, which makes an external table; without location and root also one for the database's location."""
        options = self._storage()
        location = request.location or self._default_location(request.id)
        properties = self._create(request.id, location, request.properties or {})
        return m.DeclareTableResponse(location=location, storage_options=options, properties=properties)

    @hookimpl
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Make an external table where the data is, or move the one there is."""
        properties = request.properties or {}
        try:
            found = self._create(request.id, request.location, properties)
        except TableAlreadyExists:
            if request.mode is not m.RegisterMode.OVERWRITE:
                raise
            found = self._update(request.id, lambda table: mapping.moved(table, request.location, properties))
        return m.RegisterTableResponse(location=request.location, properties=found)

    @hookimpl
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """One page of the Lance tables, from as many of Glue's pages as it takes to fill it."""
        database = mapping.database(request.id)

        def ask(native: str | None, size: int) -> tuple[list[tuple[str, bool]], str | None]:
            found, following = self._page("get_tables", "TableList", native, size, DatabaseName=database)
            return [(each["Name"], mapping.is_lance(each)) for each in found], following

        names, token = page_of_pages("glue", request, _LARGEST, ask)
        return m.ListTablesResponse(tables=names, page_token=token)

    @hookimpl
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the entry says, in one call."""
        database, name = mapping.table(request.id)
        found = self._lance(request.id)
        return m.DescribeTableResponse(
            table=name,
            namespace=(database,),
            location=mapping.location_of(found),
            storage_options=self._storage(),
            properties=mapping.properties_of(found),
        )

    @hookimpl
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Delete the entry of a Lance table; Glue never touches data."""
        database, name = mapping.table(request.id)
        found = self._lance(request.id)
        self._change(
            lambda: self._glue.call("delete_table", DatabaseName=database, Name=name, meaning=_TABLE),
            lambda: self._find(request.id) is None,
        )
        return m.DeregisterTableResponse(
            id=(database, name), location=mapping.location_of(found), properties=mapping.properties_of(found)
        )

    @hookimpl
    def alter_table_properties(self, request: m.AlterTablePropertiesRequest) -> m.AlterTablePropertiesResponse:
        """Set and remove properties, on the version that was read and on no other."""
        updates, removals = request.updates or {}, request.removals or ()
        if mapping.TYPE in updates or mapping.TYPE in removals:
            raise InvalidInput(f"{mapping.TYPE} says that this is a Lance table", hint="deregister it instead")
        properties = self._update(request.id, lambda table: mapping.altered(table, updates, removals))
        return m.AlterTablePropertiesResponse(properties=properties)

    # --- inside ---------------------------------------------------------------------------------------------------

    def _database(self, id: Levels) -> dict[str, Any]:
        found: dict[str, Any] = self._glue.call(
            "get_database", Name=mapping.database(id), holds="Database", meaning=_DATABASE
        )["Database"]
        return found

    def _find(self, id: Levels) -> dict[str, Any] | None:
        database, name = mapping.table(id)
        try:
            found: dict[str, Any] = self._glue.call(
                "get_table", DatabaseName=database, Name=name, holds="Table", meaning=_TABLE
            )["Table"]
        except TableNotFound:
            return None
        return found

    def _lance(self, id: Levels) -> Mapping[str, Any]:
        found = self._find(id)
        if found is None:
            raise TableNotFound(f"table {display(id)} not found", native=MISSING)
        return mapping.require_lance(found, id)

    def _page(
        self, operation: str, holds: str, native: str | None, size: int, **about: str
    ) -> tuple[list[dict[str, Any]], str | None]:
        """One of Glue's pages, and the token of the next: an empty page that has one is not the last."""
        asked = {} if native is None else {"NextToken": native}
        answer = self._glue.call(operation, **about, **asked, MaxResults=size, holds=holds, meaning=_DATABASE)
        return answer[holds], answer.get("NextToken") or None

    def _tables(self, id: Levels, size: int = _LARGEST) -> Iterator[dict[str, Any]]:
        """The entries of all tables of any format, page after page."""
        native: str | None = None
        while True:
            found, native = self._page("get_tables", "TableList", native, size, DatabaseName=mapping.database(id))
            yield from found
            if native is None:
                return

    def _default_location(self, id: Levels) -> str:
        levels = mapping.table(id)
        if self._config.root is not None:
            return default_location(self._config.root, levels)
        above = self._database(id[:1]).get("LocationUri")
        return default_location(above, levels[1:]) if above else default_location(str(Path.cwd()), levels)

    def _storage(self) -> StorageOptions:
        options = StorageOptions(self._config.storage)
        if self._config.storage_credentials and not holds_credentials(options):
            return options | self._glue.credentials()
        return options

    def _create(self, id: Levels, location: str, properties: Mapping[str, str]) -> dict[str, str]:
        """Make an entry; one whose answer was lost is known by its mark."""
        from secrets import token_hex

        database, name = mapping.table(id)
        mark = self._config.creation_mark or token_hex(16)
        wanted = mapping.creation(name, location, properties, mark)
        self._change(
            lambda: self._glue.call("create_table", DatabaseName=database, TableInput=wanted, meaning=_NEW_TABLE),
            lambda: mapping.mark_of(self._find(id) or {}) == mark,
        )
        return mapping.properties_of(wanted)

    def _update(self, id: Levels, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> dict[str, str]:
        """Change an entry on the version that was read; a lost race is run again, a few times, on what is there then.

        That also settles a change whose answer was lost: it is there, or it is made.
        """
        database, name = mapping.table(id)
        with self._turns()[hash((database, name)) % _TURNS]:
            attempt, deadline = 0, Deadline.after(_PATIENCE)
            while True:
                found = self._lance(id)
                wanted = change(found)
                if wanted == mapping.current(found):
                    return mapping.properties_of(found)
                try:
                    self._replace(database, wanted, found.get("VersionId"))
                except LanceNsError as error:
                    again = isinstance(error, ConcurrentModification) or outcome_unknown(error)
                    if not again or attempt + 1 == _ATTEMPTS or not pause(attempt, None, deadline):
                        raise
                    attempt += 1
                else:
                    return mapping.properties_of(wanted)

    def _replace(self, database: str, wanted: dict[str, Any], version: str | None) -> None:
        if not version:
            raise Internal("the service keeps no versions of tables: an update of somebody else could be lost")
        self._glue.call(
            "update_table",
            DatabaseName=database,
            TableInput=wanted,
            VersionId=version,
            SkipArchive=True,
            meaning=_TABLE,
        )

    def _change(self, send: Callable[[], Any], done: Callable[[], bool]) -> None:
        """Send a change; where nobody knows whether it was done, the catalog is asked before that is an error."""
        try:
            send()
        except LanceNsError as error:
            if not outcome_unknown(error) or not _certain(done):
                raise


def _certain(done: Callable[[], bool]) -> bool:
    """Whether a change is there; False also when that cannot be found out."""
    try:
        return done()
    except LanceNsError:
        return False
