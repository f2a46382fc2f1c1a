"""The Hive Metastore by thrift alone: its binary protocol, decoded in C, and the structs of Hive 3.1 as tables."""

import threading
from typing import Any
from urllib.parse import urlsplit

BOOL, I16, I32, STRING, STRUCT, MAP, LIST = 2, 6, 8, 11, 12, 13, 15
TEXT = (STRING, "UTF8")
TEXTS = (MAP, (STRING, "UTF8", STRING, "UTF8", False))
NAMES = (LIST, (STRING, "UTF8", False))


def struct(name: str, /, **fields: tuple[int, Any]) -> Any:
    """A class with a table of its fields, which are numbered in their order from 1."""
    spec: list[Any] = [None]
    spec += [
        (number, *fields[field][:1], field, fields[field][1], None) for number, field in enumerate(fields, start=1)
    ]

    def __init__(self: Any, **given: Any) -> None:  # noqa: N807
        self.__dict__.update(given)

    return type(name, (), {"thrift_spec": tuple(spec), "__init__": __init__, **dict.fromkeys(fields)})


def one(kind: Any) -> tuple[int, Any]:
    """A field that is a struct."""
    return (STRUCT, [kind, kind.thrift_spec])


def many(kind: Any) -> tuple[int, Any]:
    """A field that is a list of structs."""
    return (LIST, (STRUCT, [kind, kind.thrift_spec], False))


FieldSchema = struct("FieldSchema", name=TEXT, type=TEXT, comment=TEXT)
SerDeInfo = struct("SerDeInfo", name=TEXT, serializationLib=TEXT, parameters=TEXTS)
Order = struct("Order", col=TEXT, order=(I32, None))
StorageDescriptor = struct(
    "StorageDescriptor",
    cols=many(FieldSchema),
    location=TEXT,
    inputFormat=TEXT,
    outputFormat=TEXT,
    compressed=(BOOL, None),
    numBuckets=(I32, None),
    serdeInfo=one(SerDeInfo),
    bucketCols=NAMES,
    sortCols=many(Order),
    parameters=TEXTS,
)
Nothing = struct("Nothing")
Table = struct(
    "Table",
    tableName=TEXT,
    dbName=TEXT,
    owner=TEXT,
    createTime=(I32, None),
    lastAccessTime=(I32, None),
    retention=(I32, None),
    sd=one(StorageDescriptor),
    partitionKeys=many(FieldSchema),
    parameters=TEXTS,
    viewOriginalText=TEXT,
    viewExpandedText=TEXT,
    tableType=TEXT,
    privileges=one(Nothing),
    temporary=(BOOL, None),
    rewriteEnabled=(BOOL, None),
    creationMetadata=one(Nothing),
    catName=TEXT,
    ownerType=(I32, None),
)
Database = struct(
    "Database",
    name=TEXT,
    description=TEXT,
    locationUri=TEXT,
    parameters=TEXTS,
    privileges=one(Nothing),
    ownerName=TEXT,
    ownerType=(I32, None),
    catalogName=TEXT,
)
EnvironmentContext = struct("EnvironmentContext", properties=TEXTS)
Capabilities = struct("Capabilities", values=(LIST, (I32, None, False)))
GetTableRequest = struct("GetTableRequest", dbName=TEXT, tblName=TEXT, capabilities=one(Capabilities), catName=TEXT)
GetTableResult = struct("GetTableResult", table=one(Table))
Problem = struct("Problem", message=TEXT)


class Call:
    """A call: its name, its arguments, and what it returns."""

    def __init__(self, name: str, returns: tuple[int, Any] | None, /, **takes: tuple[int, Any]) -> None:
        self.name = name
        self.arguments = struct(f"{name}_args", **takes)
        problems = struct(f"{name}_result", o1=one(Problem), o2=one(Problem), o3=one(Problem), o4=one(Problem))
        if returns:
            problems.thrift_spec = ((0, returns[0], "success", returns[1], None), *problems.thrift_spec[1:])
        problems.success = None
        self.result = problems


GET_TABLE = Call("get_table_req", one(GetTableResult), req=one(GetTableRequest))
GET_ALL_TABLES = Call("get_all_tables", NAMES, db_name=TEXT)
GET_NAMES_BY_FILTER = Call("get_table_names_by_filter", NAMES, dbname=TEXT, filter=TEXT, max_tables=(I16, None))
GET_DATABASE = Call("get_database", one(Database), name=TEXT)
GET_DATABASES = Call("get_databases", NAMES, pattern=TEXT)
CREATE_DATABASE = Call("create_database", None, database=one(Database))
CREATE_TABLE = Call("create_table_with_environment_context", None, tbl=one(Table), context=one(EnvironmentContext))
DROP_TABLE = Call(
    "drop_table_with_environment_context",
    None,
    dbname=TEXT,
    name=TEXT,
    deleteData=(BOOL, None),
    context=one(EnvironmentContext),
)


class Client:
    """The calls themselves, with nothing between; every thread has a connection."""

    LANCE_ONLY, MAKES_AT_ONCE = False, 8

    def __init__(self, settings: dict[str, Any]) -> None:
        given = settings["properties"]
        self._address = urlsplit(given["uri"])
        self._root = given["root"]
        self._catalog = settings["base"][0]
        self._own = threading.local()
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def _protocol(self) -> Any:
        if not hasattr(self._own, "protocol"):
            from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
            from thrift.transport.TSocket import TSocket
            from thrift.transport.TTransport import TBufferedTransport

            transport = TBufferedTransport(TSocket(self._address.hostname, self._address.port))
            transport.open()
            self._own.protocol = TBinaryProtocolAccelerated(transport)
        return self._own.protocol

    def _call(self, call: Call, **arguments: Any) -> Any:
        protocol = self._protocol()
        protocol.writeMessageBegin(call.name, 1, 0)
        kind = call.arguments
        protocol.trans.write(protocol._fast_encode(kind(**arguments), [kind, kind.thrift_spec]))  # noqa: SLF001
        protocol.trans.flush()
        _, outcome, _ = protocol.readMessageBegin()
        result = call.result()
        protocol._fast_decode(result, protocol, [call.result, call.result.thrift_spec])  # noqa: SLF001
        problem = result.o1 or result.o2 or result.o3 or result.o4
        if outcome != 2 or problem:
            raise RuntimeError(f"{call.name}: {problem.message if problem else outcome}")
        return result.success

    def _database(self, namespace: str) -> str:
        return f"@{self._catalog}#{namespace}"

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._load(namespace, table).sd.location

    def _load(self, namespace: str, table: str) -> Any:
        request = GetTableRequest(
            dbName=namespace, tblName=table, catName=self._catalog, capabilities=Capabilities(values=[2])
        )
        return self._call(GET_TABLE, req=request).table

    def names(self, namespace: str) -> int:
        """The names of all tables, in one answer."""
        return len(self._call(GET_ALL_TABLES, db_name=self._database(namespace)))

    def count_filtered(self, namespace: str) -> int:
        """The names of the Lance tables, as the server's own filter finds them."""
        condition = 'hive_filter_field_params__table_type LIKE "lance"'
        return len(self._call(GET_NAMES_BY_FILTER, dbname=self._database(namespace), filter=condition, max_tables=-1))

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0:
            self.make_table(self._mixed, f"w{worker}", True)
        elif kind == 19:
            self._load(self._mixed, f"w{worker}")  # only a Lance table may be dropped
            context = EnvironmentContext(properties={})
            database = self._database(self._mixed)
            self._call(DROP_TABLE, dbname=database, name=f"w{worker}", deleteData=False, context=context)
        elif kind % 5 == 1:
            self._call(GET_DATABASE, name=self._database(self._mixed))
        elif kind == 8:
            self._call(GET_DATABASES, pattern=f"@{self._catalog}#")
        else:
            self._load(*self._table)

    def make_namespace(self, namespace: str) -> None:
        """Make a database."""
        database = Database(name=namespace, locationUri=f"{self._root}/{namespace}", catalogName=self._catalog)
        self._call(CREATE_DATABASE, database=database)

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:
        """Make a table; all lie at one place, so that the server makes no directories."""
        storage = StorageDescriptor(
            cols=[],
            location=f"{self._root}/{namespace}",
            numBuckets=0,
            serdeInfo=SerDeInfo(name=table, parameters={}),
            bucketCols=[],
            sortCols=[],
            parameters={},
        )
        marks = {"EXTERNAL": "TRUE", "DO_NOT_UPDATE_STATS": "true", **({"table_type": "lance"} if is_lance else {})}
        entry = Table(
            tableName=table,
            dbName=namespace,
            catName=self._catalog,
            sd=storage,
            partitionKeys=[],
            parameters=marks,
            tableType="EXTERNAL_TABLE",
        )
        self._call(CREATE_TABLE, tbl=entry, context=EnvironmentContext(properties={}))
