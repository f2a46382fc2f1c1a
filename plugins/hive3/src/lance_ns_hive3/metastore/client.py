"""The metastore's calls, as many as namespaces and tables need.

None of them can delete data: where the interface asks whether to, the answer is no.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from lance_ns.perprocess import PerProcess
from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.call import Call
from lance_ns_hive3.metastore.codec import BOOL, I16, STRING, VOID, listing, struct
from lance_ns_hive3.metastore.errors import (
    AlreadyExists,
    ConfigValueSecret,
    InvalidObject,
    InvalidOperation,
    MetaFailure,
    NoSuchLock,
    NoSuchObject,
    NoSuchTransaction,
    ServerFailure,
    TransactionAborted,
    TransactionOpen,
    UnknownDatabase,
)
from lance_ns_hive3.metastore.names import qualified
from lance_ns_hive3.metastore.pool import Pool
from lance_ns_hive3.metastore.settings import Settings

T = TypeVar("T")

_NAMES = listing(STRING)
_DATABASE = struct(s.Database)
_TABLE = struct(s.Table)

GET_VERSION = Call("getVersion", (), STRING, repeatable=True)
GET_CONFIG_VALUE = Call("get_config_value", (STRING, STRING), STRING, ConfigValueSecret, repeatable=True)

GET_CATALOGS = Call("get_catalogs", (), struct(s.GetCatalogsResponse), MetaFailure, repeatable=True)
GET_CATALOG = Call(
    "get_catalog",
    (struct(s.GetCatalogRequest),),
    struct(s.GetCatalogResponse),
    NoSuchObject,
    MetaFailure,
    repeatable=True,
)
CREATE_CATALOG = Call(
    "create_catalog", (struct(s.CreateCatalogRequest),), VOID, AlreadyExists, InvalidObject, MetaFailure
)
ALTER_CATALOG = Call(
    "alter_catalog", (struct(s.AlterCatalogRequest),), VOID, NoSuchObject, InvalidOperation, MetaFailure
)
DROP_CATALOG = Call("drop_catalog", (struct(s.DropCatalogRequest),), VOID, NoSuchObject, InvalidOperation, MetaFailure)

GET_DATABASES = Call("get_databases", (STRING,), _NAMES, MetaFailure, repeatable=True)
GET_DATABASE = Call("get_database", (STRING,), _DATABASE, NoSuchObject, MetaFailure, repeatable=True)
CREATE_DATABASE = Call("create_database", (_DATABASE,), VOID, AlreadyExists, InvalidObject, MetaFailure)
ALTER_DATABASE = Call("alter_database", (STRING, _DATABASE), VOID, MetaFailure, NoSuchObject)
DROP_DATABASE = Call("drop_database", (STRING, BOOL, BOOL), VOID, NoSuchObject, InvalidOperation, MetaFailure)

GET_ALL_TABLES = Call("get_all_tables", (STRING,), _NAMES, MetaFailure, repeatable=True)
GET_TABLES_BY_TYPE = Call("get_tables_by_type", (STRING, STRING, STRING), _NAMES, MetaFailure, repeatable=True)
GET_TABLE_NAMES_BY_FILTER = Call(
    "get_table_names_by_filter",
    (STRING, STRING, I16),
    _NAMES,
    MetaFailure,
    InvalidOperation,
    UnknownDatabase,
    repeatable=True,
)
GET_TABLE = Call(
    "get_table_req", (struct(s.GetTableRequest),), struct(s.GetTableResult), MetaFailure, NoSuchObject, repeatable=True
)
GET_TABLES = Call(
    "get_table_objects_by_name_req",
    (struct(s.GetTablesRequest),),
    struct(s.GetTablesResult),
    MetaFailure,
    InvalidOperation,
    UnknownDatabase,
    repeatable=True,
)
CREATE_TABLE = Call(
    "create_table_with_environment_context",
    (_TABLE, s.ENVIRONMENT),
    VOID,
    AlreadyExists,
    InvalidObject,
    MetaFailure,
    NoSuchObject,
)
ALTER_TABLE = Call(
    "alter_table_with_environment_context",
    (STRING, STRING, _TABLE, s.ENVIRONMENT),
    VOID,
    InvalidOperation,
    MetaFailure,
)
DROP_TABLE = Call(
    "drop_table_with_environment_context",
    (STRING, STRING, BOOL, s.ENVIRONMENT),
    VOID,
    NoSuchObject,
    MetaFailure,
)

LOCK = Call("lock", (struct(s.LockRequest),), struct(s.LockResponse), NoSuchTransaction, TransactionAborted)
CHECK_LOCK = Call(
    "check_lock",
    (struct(s.CheckLockRequest),),
    struct(s.LockResponse),
    NoSuchTransaction,
    TransactionAborted,
    NoSuchLock,
    repeatable=True,
)
HEARTBEAT = Call(
    "heartbeat", (struct(s.HeartbeatRequest),), VOID, NoSuchLock, NoSuchTransaction, TransactionAborted, repeatable=True
)
UNLOCK = Call("unlock", (struct(s.UnlockRequest),), VOID, NoSuchLock, TransactionOpen, repeatable=True)
SHOW_LOCKS = Call("show_locks", (struct(s.ShowLocksRequest),), struct(s.ShowLocksResponse), repeatable=True)

_CAPABILITIES = s.ClientCapabilities(values=[int(s.ClientCapability.INSERT_ONLY_TABLES)])
_NO, _ALL = False, -1


class Metastore:
    """A metastore. Threads share it; a forked child opens connections of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._pool: PerProcess[Pool] = PerProcess(lambda: Pool(settings), Pool.close)

    def close(self) -> None:
        """Close the connections. A later call opens new ones."""
        self._pool.close()

    def ask(self, call: Call[T], *arguments: Any) -> T:
        """Make a call. `Pool.ask` says what is raised, and what is made a second time."""
        return self._pool().ask(call, *arguments)

    # --- the server -----------------------------------------------------------------------------------------------

    def get_version(self) -> str:
        """What the server calls its version: Hive 2 and 3 say 3.0."""
        return self.ask(GET_VERSION)

    def get_config_value(self, name: str, default: str) -> str:
        """A setting of the server."""
        return self.ask(GET_CONFIG_VALUE, name, default)

    # --- catalogs -------------------------------------------------------------------------------------------------

    def get_catalogs(self) -> list[str]:
        """The names of all catalogs.

        Raises:
            UnknownMethod: the server is a Hive 2, which has no catalogs.
        """
        return _there(self.ask(GET_CATALOGS).names, GET_CATALOGS)

    def get_catalog(self, name: str) -> s.Catalog:
        """A catalog, or NoSuchObject."""
        return _there(self.ask(GET_CATALOG, s.GetCatalogRequest(name=name)).catalog, GET_CATALOG)

    def create_catalog(self, catalog: s.Catalog) -> None:
        """Make a catalog, its directory and a database `default`, or raise AlreadyExists or InvalidObject."""
        self.ask(CREATE_CATALOG, s.CreateCatalogRequest(catalog=catalog))

    def alter_catalog(self, name: str, catalog: s.Catalog) -> None:
        """Put a catalog in the place of the one of that name, or raise NoSuchObject."""
        self.ask(ALTER_CATALOG, s.AlterCatalogRequest(name=name, new_cat=catalog))

    def drop_catalog(self, name: str) -> None:
        """Drop a catalog that holds no database but an empty `default`.

        Raises:
            NoSuchObject: there is none of that name.
            InvalidOperation: it holds other databases.
        """
        self.ask(DROP_CATALOG, s.DropCatalogRequest(name=name, if_exists=_NO))

    # --- databases ------------------------------------------------------------------------------------------------

    def get_databases(self, catalog: str) -> list[str]:
        """The names of the databases of a catalog; none if there is no such catalog."""
        return self.ask(GET_DATABASES, qualified(catalog))

    def get_database(self, catalog: str, database: str) -> s.Database:
        """A database, or NoSuchObject."""
        return self.ask(GET_DATABASE, qualified(catalog, database))

    def create_database(self, database: s.Database) -> None:
        """Make a database in the catalog it names, or raise AlreadyExists or InvalidObject."""
        self.ask(CREATE_DATABASE, database)

    def alter_database(self, catalog: str, database: str, new: s.Database) -> None:
        """Put a database in the place of the one of that name, or raise NoSuchObject."""
        self.ask(ALTER_DATABASE, qualified(catalog, database), new)

    def drop_database(self, catalog: str, database: str) -> None:
        """Drop an empty database, and leave its directory.

        Raises:
            NoSuchObject: there is none of that name; Hive 3 may raise MetaFailure instead.
            InvalidOperation: it holds tables.
        """
        self.ask(DROP_DATABASE, qualified(catalog, database), _NO, _NO)

    # --- tables ---------------------------------------------------------------------------------------------------

    def get_all_tables(self, catalog: str, database: str) -> list[str]:
        """The names of all tables; none if there is no such database."""
        return self.ask(GET_ALL_TABLES, qualified(catalog, database))

    def get_tables_by_type(self, catalog: str, database: str, table_type: str) -> list[str]:
        """The names of the tables of one type, such as `EXTERNAL_TABLE`; none if there is no such database."""
        return self.ask(GET_TABLES_BY_TYPE, qualified(catalog, database), "*", table_type)

    def get_table_names_by_filter(self, catalog: str, database: str, condition: str) -> list[str]:
        """The names of the tables that fulfil a condition in the metastore's own language."""
        return self.ask(GET_TABLE_NAMES_BY_FILTER, qualified(catalog, database), condition, _ALL)

    def get_table(self, catalog: str, database: str, name: str) -> s.Table:
        """A table, or NoSuchObject."""
        request = s.GetTableRequest(cat_name=catalog, db_name=database, tbl_name=name, capabilities=_CAPABILITIES)
        return _there(self.ask(GET_TABLE, request).table, GET_TABLE)

    def get_tables(self, catalog: str, database: str, names: Sequence[str]) -> list[s.Table]:
        """Those tables of the given names that exist, or UnknownDatabase."""
        request = s.GetTablesRequest(
            cat_name=catalog, db_name=database, tbl_names=list(names), capabilities=_CAPABILITIES
        )
        return _there(self.ask(GET_TABLES, request).tables, GET_TABLES)

    def create_table(self, table: s.Table, context: Mapping[str, str] | None = None) -> None:
        """Make a table in the catalog and database it names, or raise AlreadyExists or InvalidObject."""
        self.ask(CREATE_TABLE, table, _environment(context))

    def alter_table(
        self, catalog: str, database: str, name: str, new: s.Table, context: Mapping[str, str] | None = None
    ) -> None:
        """Put a table in the place of the one of that name, or raise InvalidOperation."""
        self.ask(ALTER_TABLE, qualified(catalog, database), name, new, _environment(context))

    def drop_table(self, catalog: str, database: str, name: str, context: Mapping[str, str] | None = None) -> None:
        """Drop a table and leave its data, or raise NoSuchObject."""
        self.ask(DROP_TABLE, qualified(catalog, database), name, _NO, _environment(context))

    # --- locks ----------------------------------------------------------------------------------------------------

    def lock(self, request: s.LockRequest) -> s.LockResponse:
        """Ask for a lock; `locks.table_lock` does all of it."""
        return self.ask(LOCK, request)

    def check_lock(self, lock_id: int) -> s.LockResponse:
        """What became of a lock, or NoSuchLock. It also keeps it alive."""
        return self.ask(CHECK_LOCK, s.CheckLockRequest(lock_id=lock_id))

    def heartbeat(self, lock_id: int) -> None:
        """Keep a lock alive, or raise NoSuchLock."""
        self.ask(HEARTBEAT, s.HeartbeatRequest(lock_id=lock_id))

    def unlock(self, lock_id: int) -> None:
        """Give up a lock; one that is gone is fine."""
        self.ask(UNLOCK, s.UnlockRequest(lock_id=lock_id))

    def show_locks(self, database: str, table: str) -> list[s.HeldLock]:
        """The locks on a table, by the names that locks have."""
        request = s.ShowLocksRequest(db_name=database, table_name=table)
        return self.ask(SHOW_LOCKS, request).locks or []


def _environment(context: Mapping[str, str] | None) -> s.EnvironmentContext:
    return s.EnvironmentContext(properties=dict(context or {}))


def _there(value: T | None, call: Call[Any]) -> T:
    if value is None:
        raise ServerFailure(f"the metastore answered {call.name} with nothing")
    return value
