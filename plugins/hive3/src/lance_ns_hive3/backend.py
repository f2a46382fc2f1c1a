"""The backend `hive3`: the operations as calls of the metastore."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from lance_ns import models as m
from lance_ns.config import StorageOptions
from lance_ns.errors import (
    InvalidInput,
    LanceNsError,
    NamespaceAlreadyExists,
    NamespaceNotEmpty,
    NamespaceNotFound,
    TableAlreadyExists,
    TableNotFound,
)
from lance_ns.identifiers import Levels, default_location, display, same_place
from lance_ns.paging import page_of_names
from lance_ns.perprocess import PerProcess
from lance_ns.rules import NamespaceRules, operation
from lance_ns_hive3 import directories, mapping
from lance_ns_hive3.config import HiveConfig
from lance_ns_hive3.metastore import deadline
from lance_ns_hive3.metastore.client import Metastore
from lance_ns_hive3.metastore.errors import (
    AlreadyExists,
    InvalidObject,
    InvalidOperation,
    MetaFailure,
    MetastoreError,
    NoSuchObject,
    OutcomeUnknown,
    UnknownDatabase,
)
from lance_ns_hive3.metastore.structs import Table

if TYPE_CHECKING:
    from lance_ns_hive3.metastore.locks import Lock

LANCE_FILTER = (
    'hive_filter_field_params__table_type like "(?i)lance" and hive_filter_field_params__EXTERNAL like "(?i)true"'
)
"""Lance tables in the metastore's own language: it finds them without reading them."""
_BATCH = 300
"""How many tables are read at once where it cannot."""
DEFAULT = "default"
"""The database that every catalog is born with."""

DatabaseId = tuple[str, str]
TableId = tuple[str, str, str]
Meanings = Mapping[type[MetastoreError], type[LanceNsError]]


class HiveNamespace(NamespaceRules):
    """The catalogs of a metastore, the databases in them, and the tables in those."""

    def __init__(self, config: HiveConfig) -> None:
        self._config = config
        self._metastore = Metastore(config.settings())
        self._storage = StorageOptions(config.storage)
        # A Hive 2 knows no catalogs, and would read every name as another one.
        self._known_to_have_catalogs = PerProcess(self._metastore.get_catalogs)

    def close(self) -> None:
        """Close the connections."""
        self._metastore.close()

    def within(self, request: m.Request[Any]) -> AbstractContextManager[None]:
        """One deadline for all calls of an operation."""
        return self._operation(request)

    @contextmanager
    def _operation(self, _: m.Request[Any]) -> Iterator[None]:
        with deadline.within(self._config.operation_timeout):
            self._known_to_have_catalogs()
            yield

    # --- namespaces -----------------------------------------------------------------------------------------------

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Create a catalog or a database."""
        if not id:
            raise NamespaceAlreadyExists("the root namespace always exists")
        id = _namespace(id)
        try:
            with _meaning({AlreadyExists: NamespaceAlreadyExists}, f"namespace {display(id)} already exists"):
                if len(id) == 1:
                    self._metastore.create_catalog(mapping.catalog(id[0], properties, self._below_root(id)))
                else:
                    self._metastore.create_database(mapping.database(id, properties))
        except InvalidObject as error:
            if len(id) == 2:
                self.require_entry(id[:1])
            raise InvalidInput(f"the metastore refuses the name {id[-1]!r}", native=error.native) from error
        except (OutcomeUnknown, MetaFailure) as error:
            # Hive 4 lets some losers of a race fail in its database: what is there now decides.
            existing = self.find_entry(id)
            if existing is None:
                raise
            if isinstance(error, MetaFailure) or not properties.items() <= existing.items():
                raise NamespaceAlreadyExists(f"namespace {display(id)} already exists") from None

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        """The properties of a catalog or a database; the root has none."""
        if not id:
            return {}
        id = _namespace(id)
        try:
            if len(id) == 1:
                return mapping.catalog_properties(self._metastore.get_catalog(*id))
            return mapping.database_properties(self._metastore.get_database(*id))
        except NoSuchObject:
            return None

    def replace_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        """Put a catalog or a database with other properties in the place of the one there is; it stays where it is."""
        catalog, *database = _namespace(id)
        with _meaning({NoSuchObject: NamespaceNotFound}, f"namespace {display(id)} not found"):
            if not database:
                old = self._metastore.get_catalog(catalog)
                new = mapping.catalog(catalog, properties, old.location_uri or self._below_root(id))
                self._metastore.alter_catalog(catalog, new)
            else:
                there = self._metastore.get_database(catalog, database[0])
                kept = {mapping.LOCATION: there.location_uri} if there.location_uri else {}
                self._metastore.alter_database(catalog, database[0], mapping.replaced(there, {**kept, **properties}))

    def remove_entry(self, id: Levels) -> None:
        """Drop an empty catalog or database, and leave directories with something in them."""
        id = _namespace(id)
        meanings = {NoSuchObject: NamespaceNotFound, InvalidOperation: NamespaceNotEmpty}
        try:
            with _meaning(meanings, f"namespace {display(id)} was not found, or is not empty"):
                if len(id) == 1:
                    self._metastore.drop_catalog(*id)
                else:
                    self._metastore.drop_database(*id)
        except (OutcomeUnknown, MetaFailure) as error:
            if self.find_entry(id) is None:
                return
            if isinstance(error, MetaFailure):
                raise InvalidInput(f"namespace {display(id)} cannot be dropped", native=error.native) from error
            raise

    def is_empty(self, id: Levels) -> bool:
        """Whether a database holds no tables, and a catalog no databases but an empty `default`."""
        id = _namespace(id)
        if len(id) == 2:
            return not self._metastore.get_all_tables(*id)
        others = set(self._metastore.get_databases(*id)) - {DEFAULT}
        return not others and not self._metastore.get_all_tables(id[0], DEFAULT)

    def clear(self, id: Levels) -> None:
        """Drop what a catalog or a database holds, one by one: the metastore's own way loses its bearings."""
        id = _namespace(id)
        if len(id) == 2:
            for name in self._metastore.get_all_tables(*id):
                try:
                    self._metastore.drop_table(*_database(id), name)
                except NoSuchObject:
                    continue  # somebody else was faster, which is what was wanted
            return
        for name in self._metastore.get_databases(*id):
            self.clear((*id, name))
            if name != DEFAULT:
                self.remove_entry((*id, name))

    @operation
    def list_namespaces(self, request: m.ListNamespacesRequest) -> m.ListNamespacesResponse:
        """The catalogs, or the databases of one."""
        if len(request.id) > 1:
            raise InvalidInput(f"namespace {display(request.id)} holds no namespaces", hint="it holds tables alone")
        if request.id:
            found = self._metastore.get_databases(*_namespace(request.id))
            if not found:
                self.require_entry(request.id)  # the metastore lists nothing in what does not exist
        else:
            found = self._metastore.get_catalogs()
        names, token = page_of_names("hive3", request, found)
        return m.ListNamespacesResponse(namespaces=names, page_token=token)

    # --- tables ---------------------------------------------------------------------------------------------------

    @operation
    def declare_table(self, request: m.DeclareTableRequest) -> m.DeclareTableResponse:
        """Create an external table where the Lance table is to lie."""
        table = self._create(request.id, request.location, request.properties or {})
        return m.DeclareTableResponse(
            location=mapping.location_of(table), storage_options=self._storage, properties=mapping.properties_of(table)
        )

    @operation
    def register_table(self, request: m.RegisterTableRequest) -> m.RegisterTableResponse:
        """Create an external table where the data is, or move the one there is."""
        properties = request.properties or {}
        try:
            table = self._create(request.id, request.location, properties)
        except TableAlreadyExists:
            if request.mode is not m.RegisterMode.OVERWRITE:
                raise
            with self._changing(request.id) as (id, old):
                table = mapping.moved(mapping.with_properties(old, properties), request.location)
                self._alter(id, table)
        return m.RegisterTableResponse(location=mapping.location_of(table), properties=mapping.properties_of(table))

    @operation
    def list_tables(self, request: m.ListTablesRequest) -> m.ListTablesResponse:
        """The names that the metastore's own filter finds; where it fails, all tables are read."""
        id = _database(request.id)
        try:
            found: Sequence[str] = self._metastore.get_table_names_by_filter(*id, LANCE_FILTER)
        except (MetaFailure, InvalidOperation):
            found = list(self._read_all(id))
        except UnknownDatabase:
            found = []
        if not found:
            self.require_entry(request.id)  # the metastore lists nothing in what does not exist
        names, token = page_of_names("hive3", request, found)
        return m.ListTablesResponse(tables=names, page_token=token)

    @operation
    def describe_table(self, request: m.DescribeTableRequest) -> m.DescribeTableResponse:
        """What the metastore says of a table."""
        id = _table(request.id)
        table = self._load(id)
        return m.DescribeTableResponse(
            table=id[-1],
            namespace=id[:-1],
            location=mapping.location_of(table),
            storage_options=self._storage,
            properties=mapping.properties_of(table),
        )

    @operation
    def deregister_table(self, request: m.DeregisterTableRequest) -> m.DeregisterTableResponse:
        """Drop the table, and never its data."""
        from lance_ns_hive3.metastore.locks import process_turn

        id = _table(request.id)
        # The metastore tells several that drop a table at the same moment that it was they.
        with process_turn(self._metastore, *id, seconds=self._config.operation_timeout):
            table = self._load(id)
            try:
                self._metastore.drop_table(*id)
            except NoSuchObject as error:
                raise _no_table(id, error) from error
            except OutcomeUnknown:
                if self._find(id) is not None:
                    raise
        return m.DeregisterTableResponse(
            id=id, location=mapping.location_of(table), properties=mapping.properties_of(table)
        )

    @operation
    def rename_table(self, request: m.RenameTableRequest) -> m.RenameTableResponse:
        """Give a table another name, or another database of its catalog; its data stays where it is."""
        parent = request.id[:-1] if request.new_namespace_id is None else request.new_namespace_id
        target = _table((*parent, request.new_table_name))
        if target[0] != _table(request.id)[0]:
            raise InvalidInput(f"a table cannot leave its catalog {request.id[0]}", hint="register it in the other one")
        with self._changing(request.id) as (id, old):
            if target[:-1] != id[:-1]:
                self.require_entry(target[:-1])
            if target != id and self._find(target) is not None:
                raise _table_exists(target)
            try:
                self._alter(id, mapping.changed(old, db_name=target[1], table_name=target[2]))
            except OutcomeUnknown:
                if self._find(target) is None or self._find(id) is not None:
                    raise
        return m.RenameTableResponse()

    @operation
    def alter_table_properties(self, request: m.AlterTablePropertiesRequest) -> m.AlterTablePropertiesResponse:
        """Read, change and write back, under the metastore's lock."""
        updates, removals = dict(request.updates or {}), set(request.removals or ())
        if mapping.TYPE in updates or mapping.TYPE in removals:
            raise InvalidInput(f"{mapping.TYPE} says that this is a Lance table", hint="deregister it instead")
        with self._changing(request.id) as (id, old):
            kept = {key: value for key, value in mapping.properties_of(old).items() if key not in removals}
            table = mapping.with_properties(old, {**kept, **updates})
            try:
                self._alter(id, table)
            except OutcomeUnknown:
                if mapping.properties_of(self._load(id)) != mapping.properties_of(table):
                    raise
        return m.AlterTablePropertiesResponse(properties=mapping.properties_of(table))

    # --- inside ---------------------------------------------------------------------------------------------------

    def _below_root(self, id: Levels) -> str:
        return default_location(self._config.root or os.getcwd(), id)  # noqa: PTH109  # pathlib would be imported for it

    def _default_location(self, id: Levels) -> str:
        """Below the root if there is one, else below the database, else below the working directory."""
        if self._config.root is None:
            above = self.require_entry(id[:-1]).get(mapping.LOCATION)
            if above:
                return default_location(above, id[-1:])
        return self._below_root(id)

    def _create(self, given: Levels, location: str | None, properties: Mapping[str, str]) -> Table:
        id = _table(given)
        asked = mapping.table(id, location or self._default_location(id), properties, self._config.user)
        # Of two creates at once, the metastore lets the one that comes second delete the directory again if it made
        # it, with all that the first has written there meanwhile. Where we make it, it does not; elsewhere who comes
        # after the other finds the table.
        new = directories.made(mapping.location_of(asked))
        with self._locked(id) if new is None else nullcontext():
            try:
                self._metastore.create_table(asked)
            except AlreadyExists as error:
                raise _table_exists(id, error) from error
            except (InvalidObject, NoSuchObject) as error:
                directories.removed(new or ())
                self.require_entry(id[:-1])
                raise InvalidInput(
                    f"the metastore refuses table {display(id)}",
                    native=error.native,
                    hint="check its name and location",
                ) from error
            except (OutcomeUnknown, MetaFailure) as error:
                # Hive 4 lets some losers of a race fail in its database: what is there now decides.
                found = self._find(id)
                if found is None:
                    raise
                if isinstance(error, MetaFailure) or not _is_as_asked(found, asked):
                    raise _table_exists(id, error) from error
                return found
        return self._load(id)

    def _find(self, id: TableId) -> Table | None:
        try:
            return self._metastore.get_table(*id)
        except NoSuchObject:
            return None

    def _load(self, id: TableId) -> Table:
        try:
            return mapping.require_lance(self._metastore.get_table(*id), id)
        except NoSuchObject as error:
            raise _no_table(id, error) from error

    def _read_all(self, id: DatabaseId) -> Iterator[str]:
        names = self._metastore.get_all_tables(*id)
        for begin in range(0, len(names), _BATCH):
            for table in self._metastore.get_tables(*id, names[begin : begin + _BATCH]):
                if mapping.is_lance(table) and table.table_name:
                    yield table.table_name

    def _locked(self, id: TableId) -> AbstractContextManager[Lock]:
        """Keep out all others of ours, in whatever process, who take the lock on this table."""
        from lance_ns_hive3.metastore.locks import table_lock

        return table_lock(self._metastore, *id, seconds=self._config.operation_timeout)

    @contextmanager
    def _changing(self, given: Levels) -> Iterator[tuple[TableId, Table]]:
        """A Lance table that nobody else of ours changes meanwhile."""
        id = _table(given)
        self._load(id)  # a lock is not asked for what is not there
        with self._locked(id) as lock:
            table = self._load(id)
            lock.confirm()
            yield id, table

    def _alter(self, id: TableId, table: Table) -> None:
        try:
            self._metastore.alter_table(*id, table, mapping.NO_STATISTICS)
        except InvalidOperation as error:
            if self._find(id) is None:
                raise _no_table(id, error) from error
            raise InvalidInput(f"the metastore refuses the change of {display(id)}", native=error.native) from error


def _namespace(id: Levels) -> Levels:
    if len(id) > 2:
        raise InvalidInput(
            f"{display(id)} is not a namespace here", hint="a namespace is a catalog, or one and a database"
        )
    return mapping.folded(id)


def _database(id: Levels) -> DatabaseId:
    if len(id) != 2:
        raise InvalidInput(f"{display(id)} holds no tables", hint="tables lie in a catalog's database")
    catalog, database = mapping.folded(id)
    return catalog, database


def _table(id: Levels) -> TableId:
    if len(id) != 3:
        raise InvalidInput(f"{display(id)} is not a table here", hint="a table is a catalog, a database and a name")
    catalog, database, name = mapping.folded(id)
    return catalog, database, name


def _is_as_asked(found: Table, asked: Table) -> bool:
    return (
        mapping.is_lance(found)
        and mapping.properties_of(asked).items() <= mapping.properties_of(found).items()
        and same_place(mapping.location_of(found), mapping.location_of(asked))
    )


def _table_exists(id: Levels, error: LanceNsError | None = None) -> TableAlreadyExists:
    return TableAlreadyExists(f"table {display(id)} already exists", native=error.native if error else None)


def _no_table(id: Levels, error: LanceNsError) -> TableNotFound:
    return TableNotFound(f"table {display(id)} not found", native=error.native)


@contextmanager
def _meaning(meanings: Meanings, message: str) -> Iterator[None]:
    """What an exception of the metastore means in one place."""
    try:
        yield
    except MetastoreError as error:
        kind = meanings.get(type(error))
        if kind is None:
            raise
        raise kind(message, native=error.native) from error
