"""What the metastore stores and is asked: every field of Hive 3.1 to 4.2.

What is missing here would be lost when an object is read, changed and written back. Names are the metastore's in our
spelling (`tableName` is `table_name`); on the wire only the numbers count. Enumerations are integers there.
"""

from enum import IntEnum

from lance_ns_hive3.metastore.codec import (
    BINARY,
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    STRING,
    Later,
    Struct,
    Type,
    field,
    key_list,
    listing,
    mapping,
    setting,
    struct,
)

TEXTS = mapping(STRING, STRING)
NAMES = listing(STRING)


class PrincipalType(IntEnum):
    """What an owner or a grantor is."""

    USER = 1
    ROLE = 2
    GROUP = 3


class ClientCapability(IntEnum):
    """What a client understands; without the second one, an insert-only table fails every read that it is part of."""

    TEST_CAPABILITY = 1
    INSERT_ONLY_TABLES = 2


class LockType(IntEnum):
    """How a lock excludes others."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3


class LockLevel(IntEnum):
    """What a lock is on."""

    DB = 1
    TABLE = 2
    PARTITION = 3


class LockState(IntEnum):
    """What became of a lock."""

    ACQUIRED = 1
    WAITING = 2
    ABORT = 3
    NOT_ACQUIRED = 4


class DataOperation(IntEnum):
    """What a lock is for."""

    UNSET = 5
    NO_TXN = 6


# --- privileges ---------------------------------------------------------------------------------------------------


class PrivilegeGrantInfo(Struct):
    """One privilege."""

    privilege: str | None = field(1, STRING)
    create_time: int | None = field(2, I32)
    grantor: str | None = field(3, STRING)
    grantor_type: int | None = field(4, I32)
    grant_option: bool | None = field(5, BOOL)


_PRIVILEGES = mapping(STRING, listing(struct(PrivilegeGrantInfo)))


class PrincipalPrivilegeSet(Struct):
    """The privileges on an object, by who has them."""

    user_privileges: dict[str, list[PrivilegeGrantInfo]] | None = field(1, _PRIVILEGES)
    group_privileges: dict[str, list[PrivilegeGrantInfo]] | None = field(2, _PRIVILEGES)
    role_privileges: dict[str, list[PrivilegeGrantInfo]] | None = field(3, _PRIVILEGES)


# --- catalogs and databases -----------------------------------------------------------------------------------------


class Catalog(Struct):
    """A catalog; `parameters` since 4.2."""

    name: str | None = field(1, STRING)
    description: str | None = field(2, STRING)
    location_uri: str | None = field(3, STRING)
    create_time: int | None = field(4, I32)
    parameters: dict[str, str] | None = field(5, TEXTS)


class Database(Struct):
    """A database."""

    name: str | None = field(1, STRING)
    description: str | None = field(2, STRING)
    location_uri: str | None = field(3, STRING)
    parameters: dict[str, str] | None = field(4, TEXTS)
    privileges: PrincipalPrivilegeSet | None = field(5, struct(PrincipalPrivilegeSet))
    owner_name: str | None = field(6, STRING)
    owner_type: int | None = field(7, I32)
    catalog_name: str | None = field(8, STRING)
    create_time: int | None = field(9, I32)
    managed_location_uri: str | None = field(10, STRING)
    type: int | None = field(11, I32)
    connector_name: str | None = field(12, STRING)
    remote_db_name: str | None = field(13, STRING)


# --- column statistics, which a table may bring along since 4.0 -------------------------------------------------------


class BooleanStats(Struct):
    """Statistics of a column of truth values."""

    num_trues: int | None = field(1, I64)
    num_falses: int | None = field(2, I64)
    num_nulls: int | None = field(3, I64)
    bit_vectors: bytes | None = field(4, BINARY)


class LongStats(Struct):
    """Statistics of a column of whole numbers."""

    low_value: int | None = field(1, I64)
    high_value: int | None = field(2, I64)
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)
    histogram: bytes | None = field(6, BINARY)


class DoubleStats(Struct):
    """Statistics of a column of numbers."""

    low_value: float | None = field(1, DOUBLE)
    high_value: float | None = field(2, DOUBLE)
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)
    histogram: bytes | None = field(6, BINARY)


class StringStats(Struct):
    """Statistics of a column of texts."""

    max_col_len: int | None = field(1, I64)
    avg_col_len: float | None = field(2, DOUBLE)
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)


class BinaryStats(Struct):
    """Statistics of a column of bytes."""

    max_col_len: int | None = field(1, I64)
    avg_col_len: float | None = field(2, DOUBLE)
    num_nulls: int | None = field(3, I64)
    bit_vectors: bytes | None = field(4, BINARY)


class Decimal(Struct):
    """A decimal number. Field 2 does not exist."""

    unscaled: bytes | None = field(1, BINARY)
    scale: int | None = field(3, I16)


class DecimalStats(Struct):
    """Statistics of a column of decimal numbers."""

    low_value: Decimal | None = field(1, struct(Decimal))
    high_value: Decimal | None = field(2, struct(Decimal))
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)
    histogram: bytes | None = field(6, BINARY)


class Date(Struct):
    """A day."""

    days_since_epoch: int | None = field(1, I64)


class DateStats(Struct):
    """Statistics of a column of days."""

    low_value: Date | None = field(1, struct(Date))
    high_value: Date | None = field(2, struct(Date))
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)
    histogram: bytes | None = field(6, BINARY)


class Timestamp(Struct):
    """A second."""

    seconds_since_epoch: int | None = field(1, I64)


class TimestampStats(Struct):
    """Statistics of a column of times."""

    low_value: Timestamp | None = field(1, struct(Timestamp))
    high_value: Timestamp | None = field(2, struct(Timestamp))
    num_nulls: int | None = field(3, I64)
    num_dvs: int | None = field(4, I64)
    bit_vectors: bytes | None = field(5, BINARY)
    histogram: bytes | None = field(6, BINARY)


class ColumnStatisticsData(Struct):
    """The statistics of one column: exactly one of these."""

    boolean_stats: BooleanStats | None = field(1, struct(BooleanStats))
    long_stats: LongStats | None = field(2, struct(LongStats))
    double_stats: DoubleStats | None = field(3, struct(DoubleStats))
    string_stats: StringStats | None = field(4, struct(StringStats))
    binary_stats: BinaryStats | None = field(5, struct(BinaryStats))
    decimal_stats: DecimalStats | None = field(6, struct(DecimalStats))
    date_stats: DateStats | None = field(7, struct(DateStats))
    timestamp_stats: TimestampStats | None = field(8, struct(TimestampStats))


class ColumnStatisticsObj(Struct):
    """A column and its statistics."""

    col_name: str | None = field(1, STRING)
    col_type: str | None = field(2, STRING)
    stats_data: ColumnStatisticsData | None = field(3, struct(ColumnStatisticsData))


class ColumnStatisticsDesc(Struct):
    """What statistics are of."""

    is_tbl_level: bool | None = field(1, BOOL)
    db_name: str | None = field(2, STRING)
    table_name: str | None = field(3, STRING)
    part_name: str | None = field(4, STRING)
    last_analyzed: int | None = field(5, I64)
    cat_name: str | None = field(6, STRING)


class ColumnStatistics(Struct):
    """The statistics of some columns."""

    stats_desc: ColumnStatisticsDesc | None = field(1, struct(ColumnStatisticsDesc))
    stats_obj: list[ColumnStatisticsObj] | None = field(2, listing(struct(ColumnStatisticsObj)))
    is_stats_compliant: bool | None = field(3, BOOL)
    engine: str | None = field(4, STRING)


# --- tables -----------------------------------------------------------------------------------------------------------


class FieldSchema(Struct):
    """A column."""

    name: str | None = field(1, STRING)
    type: str | None = field(2, STRING)
    comment: str | None = field(3, STRING)


class SerDeInfo(Struct):
    """How rows are read and written."""

    name: str | None = field(1, STRING)
    serialization_lib: str | None = field(2, STRING)
    parameters: dict[str, str] | None = field(3, TEXTS)
    description: str | None = field(4, STRING)
    serializer_class: str | None = field(5, STRING)
    deserializer_class: str | None = field(6, STRING)
    serde_type: int | None = field(7, I32)


class Order(Struct):
    """A column by which rows are sorted."""

    col: str | None = field(1, STRING)
    order: int | None = field(2, I32)


class SkewedInfo(Struct):
    """Values that are much more frequent than others."""

    skewed_col_names: list[str] | None = field(1, NAMES)
    skewed_col_values: list[list[str]] | None = field(2, listing(NAMES))
    skewed_col_value_location_maps: dict[tuple[str, ...], str] | None = field(3, mapping(key_list(STRING), STRING))


class StorageDescriptor(Struct):
    """Where a table is, and how it is stored there."""

    cols: list[FieldSchema] | None = field(1, listing(struct(FieldSchema)))
    location: str | None = field(2, STRING)
    input_format: str | None = field(3, STRING)
    output_format: str | None = field(4, STRING)
    compressed: bool | None = field(5, BOOL)
    num_buckets: int | None = field(6, I32)
    serde_info: SerDeInfo | None = field(7, struct(SerDeInfo))
    bucket_cols: list[str] | None = field(8, NAMES)
    sort_cols: list[Order] | None = field(9, listing(struct(Order)))
    parameters: dict[str, str] | None = field(10, TEXTS)
    skewed_info: SkewedInfo | None = field(11, struct(SkewedInfo))
    stored_as_sub_directories: bool | None = field(12, BOOL)


_TABLE = Later()


class SourceTable(Struct):
    """A table that a materialized view is made of."""

    table: "Table | None" = field(1, _TABLE)
    inserted_count: int | None = field(2, I64)
    updated_count: int | None = field(3, I64)
    deleted_count: int | None = field(4, I64)


class CreationMetadata(Struct):
    """What a materialized view was made of."""

    cat_name: str | None = field(1, STRING)
    db_name: str | None = field(2, STRING)
    tbl_name: str | None = field(3, STRING)
    tables_used: set[str] | None = field(4, setting(STRING))
    valid_txn_list: str | None = field(5, STRING)
    materialization_time: int | None = field(6, I64)
    source_tables: list[SourceTable] | None = field(7, listing(struct(SourceTable)))


class FileMetadata(Struct):
    """The metadata of a table's files."""

    type: int | None = field(1, BYTE)
    version: int | None = field(2, BYTE)
    data: list[bytes] | None = field(3, listing(BINARY))


class ObjectDictionary(Struct):
    """Values that objects refer to."""

    values: dict[str, list[bytes]] | None = field(1, mapping(STRING, listing(BINARY)))


class Table(Struct):
    """A table."""

    table_name: str | None = field(1, STRING)
    db_name: str | None = field(2, STRING)
    owner: str | None = field(3, STRING)
    create_time: int | None = field(4, I32)
    last_access_time: int | None = field(5, I32)
    retention: int | None = field(6, I32)
    sd: StorageDescriptor | None = field(7, struct(StorageDescriptor))
    partition_keys: list[FieldSchema] | None = field(8, listing(struct(FieldSchema)))
    parameters: dict[str, str] | None = field(9, TEXTS)
    view_original_text: str | None = field(10, STRING)
    view_expanded_text: str | None = field(11, STRING)
    table_type: str | None = field(12, STRING)
    privileges: PrincipalPrivilegeSet | None = field(13, struct(PrincipalPrivilegeSet))
    temporary: bool | None = field(14, BOOL)
    rewrite_enabled: bool | None = field(15, BOOL)
    creation_metadata: CreationMetadata | None = field(16, struct(CreationMetadata))
    cat_name: str | None = field(17, STRING)
    owner_type: int | None = field(18, I32)
    write_id: int | None = field(19, I64)
    is_stats_compliant: bool | None = field(20, BOOL)
    col_stats: ColumnStatistics | None = field(21, struct(ColumnStatistics))
    access_type: int | None = field(22, BYTE)
    required_read_capabilities: list[str] | None = field(23, NAMES)
    required_write_capabilities: list[str] | None = field(24, NAMES)
    id: int | None = field(25, I64)
    file_metadata: FileMetadata | None = field(26, struct(FileMetadata))
    dictionary: ObjectDictionary | None = field(27, struct(ObjectDictionary))
    txn_id: int | None = field(28, I64)


_TABLE.is_(Table)


# --- requests and responses -------------------------------------------------------------------------------------------


class CreateCatalogRequest(Struct):
    """Asks to create a catalog."""

    catalog: Catalog | None = field(1, struct(Catalog))


class AlterCatalogRequest(Struct):
    """Asks to change a catalog."""

    name: str | None = field(1, STRING)
    new_cat: Catalog | None = field(2, struct(Catalog))


class GetCatalogRequest(Struct):
    """Asks for a catalog."""

    name: str | None = field(1, STRING)


class GetCatalogResponse(Struct):
    """A catalog."""

    catalog: Catalog | None = field(1, struct(Catalog))


class GetCatalogsResponse(Struct):
    """The names of all catalogs."""

    names: list[str] | None = field(1, NAMES)


class DropCatalogRequest(Struct):
    """Asks to drop a catalog; from 4.1 on a missing one counts as dropped unless `if_exists` is false."""

    name: str | None = field(1, STRING)
    if_exists: bool | None = field(2, BOOL)


class ClientCapabilities(Struct):
    """What we understand."""

    values: list[int] | None = field(1, listing(I32))


class GetTableRequest(Struct):
    """Asks for a table."""

    db_name: str | None = field(1, STRING)
    tbl_name: str | None = field(2, STRING)
    capabilities: ClientCapabilities | None = field(3, struct(ClientCapabilities))
    cat_name: str | None = field(4, STRING)
    valid_write_id_list: str | None = field(6, STRING)
    get_column_stats: bool | None = field(7, BOOL)
    processor_capabilities: list[str] | None = field(8, NAMES)
    processor_identifier: str | None = field(9, STRING)
    engine: str | None = field(10, STRING)
    id: int | None = field(11, I64)


class GetTableResult(Struct):
    """A table."""

    table: Table | None = field(1, struct(Table))
    is_stats_compliant: bool | None = field(2, BOOL)


class GetProjectionsSpec(Struct):
    """Which parts of tables are wanted, since 4.0."""

    field_list: list[str] | None = field(1, NAMES)
    include_param_key_pattern: str | None = field(2, STRING)
    exclude_param_key_pattern: str | None = field(3, STRING)


class GetTablesRequest(Struct):
    """Asks for several tables of one database."""

    db_name: str | None = field(1, STRING)
    tbl_names: list[str] | None = field(2, NAMES)
    capabilities: ClientCapabilities | None = field(3, struct(ClientCapabilities))
    cat_name: str | None = field(4, STRING)
    processor_capabilities: list[str] | None = field(5, NAMES)
    processor_identifier: str | None = field(6, STRING)
    projection_spec: GetProjectionsSpec | None = field(7, struct(GetProjectionsSpec))
    tables_pattern: str | None = field(8, STRING)


class GetTablesResult(Struct):
    """Several tables."""

    tables: list[Table] | None = field(1, listing(struct(Table)))


class EnvironmentContext(Struct):
    """Settings that go with a call."""

    properties: dict[str, str] | None = field(1, TEXTS)


# --- locks ------------------------------------------------------------------------------------------------------------


class LockComponent(Struct):
    """One thing to lock. It names no catalog before Hive 5."""

    type: int | None = field(1, I32)
    level: int | None = field(2, I32)
    db_name: str | None = field(3, STRING)
    table_name: str | None = field(4, STRING)
    partition_name: str | None = field(5, STRING)
    operation_type: int | None = field(6, I32)
    is_transactional: bool | None = field(7, BOOL)
    is_dynamic_partition_write: bool | None = field(8, BOOL)


class LockRequest(Struct):
    """Asks for locks."""

    component: list[LockComponent] | None = field(1, listing(struct(LockComponent)))
    txn_id: int | None = field(2, I64)
    user: str | None = field(3, STRING)
    hostname: str | None = field(4, STRING)
    agent_info: str | None = field(5, STRING)
    zero_wait_read_enabled: bool | None = field(6, BOOL)
    exclusive_ctas: bool | None = field(7, BOOL)
    lockless_reads_enabled: bool | None = field(8, BOOL)


class LockResponse(Struct):
    """What became of a lock."""

    lock_id: int | None = field(1, I64)
    state: int | None = field(2, I32)
    error_message: str | None = field(3, STRING)


class CheckLockRequest(Struct):
    """Asks what became of a lock, and keeps it alive."""

    lock_id: int | None = field(1, I64)
    txn_id: int | None = field(2, I64)
    elapsed_ms: int | None = field(3, I64)


class UnlockRequest(Struct):
    """Asks to give up a lock."""

    lock_id: int | None = field(1, I64)


class HeartbeatRequest(Struct):
    """Keeps a lock alive."""

    lock_id: int | None = field(1, I64)
    txn_id: int | None = field(2, I64)


class ShowLocksRequest(Struct):
    """Asks for the locks on something."""

    db_name: str | None = field(1, STRING)
    table_name: str | None = field(2, STRING)
    part_name: str | None = field(3, STRING)
    is_extended: bool | None = field(4, BOOL)
    txn_id: int | None = field(5, I64)


class HeldLock(Struct):
    """A lock that somebody holds or waits for; times are milliseconds on the metastore's clock."""

    lock_id: int | None = field(1, I64)
    db_name: str | None = field(2, STRING)
    table_name: str | None = field(3, STRING)
    part_name: str | None = field(4, STRING)
    state: int | None = field(5, I32)
    type: int | None = field(6, I32)
    txn_id: int | None = field(7, I64)
    last_heartbeat: int | None = field(8, I64)
    acquired_at: int | None = field(9, I64)
    user: str | None = field(10, STRING)
    hostname: str | None = field(11, STRING)
    heartbeat_count: int | None = field(12, I32)
    agent_info: str | None = field(13, STRING)
    blocked_by_ext_id: int | None = field(14, I64)
    blocked_by_int_id: int | None = field(15, I64)
    lock_id_internal: int | None = field(16, I64)


class ShowLocksResponse(Struct):
    """The locks on something."""

    locks: list[HeldLock] | None = field(1, listing(struct(HeldLock)))


class Raised(Struct):
    """What every exception of the metastore is on the wire."""

    message: str | None = field(1, STRING)


ENVIRONMENT: Type[EnvironmentContext] = struct(EnvironmentContext)
