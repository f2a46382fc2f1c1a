"""Operations on tables that every catalog has."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from lance_ns.errors import InvalidInput
from lance_ns.models.base import Model, Request, Response
from lance_ns.models.checks import flag, limit, maybe_flag, string_map, text, version


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListTablesResponse(Response):
    """One page of table names, relative to the parent."""

    tables: Sequence[str]
    page_token: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListTablesRequest(Request[ListTablesResponse]):
    """List the Lance tables of the namespace `id`."""

    operation = "list_tables"
    response = ListTablesResponse

    page_token: str | None = attrs.field(default=None, validator=text)
    limit: int | None = attrs.field(default=None, validator=limit)
    include_declared: bool = flag(default=True)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListAllTablesRequest(ListTablesRequest):
    """List the Lance tables of the namespace `id` and of every namespace below it, as delimited identifiers."""

    operation = "list_all_tables"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DeclareTableResponse(Response):
    """Where the declared table is to be written, and with which storage options."""

    transaction_id: str | None = None
    location: str | None = None
    storage_options: Mapping[str, str] | None = attrs.field(default=None, repr=False)
    properties: Mapping[str, str] | None = None
    managed_versioning: bool | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DeclareTableRequest(Request[DeclareTableResponse]):
    """Enter the table `id` in the catalog without writing data.

    `schema` is an extension that never goes on the wire: the Arrow schema of the data to come, for catalogs that keep
    columns.
    """

    operation = "declare_table"
    response = DeclareTableResponse

    location: str | None = attrs.field(default=None, validator=text)
    vend_credentials: bool | None = attrs.field(default=None, validator=maybe_flag)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=string_map)
    schema: Any = attrs.field(default=None, metadata={"extension": True})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TableBasicStats(Model):
    """Figures that a table's manifest holds."""

    num_deleted_rows: int
    num_fragments: int


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeTableResponse(Response):
    """What the catalog knows of a table; version, table_uri, schema and stats come from the data and only when asked
    for.

    `schema` is the contract's JSON form of an Arrow schema.
    """

    table: str | None = None
    namespace: Sequence[str] | None = None
    version: int | None = None
    location: str | None = None
    table_uri: str | None = None
    schema: Mapping[str, Any] | None = None
    storage_options: Mapping[str, str] | None = attrs.field(default=None, repr=False)
    stats: TableBasicStats | None = None
    metadata: Mapping[str, str] | None = None
    properties: Mapping[str, str] | None = None
    managed_versioning: bool | None = None
    is_only_declared: bool | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeTableRequest(Request[DescribeTableResponse]):
    """Describe the table `id`. A `tag` goes with neither `version` nor `branch`.

    `with_columns` is an extension that never goes on the wire: a catalog that keeps columns answers the schema that
    they make. The facade asks so for tables whose details are wanted.
    """

    operation = "describe_table"
    response = DescribeTableResponse

    version: int | None = attrs.field(default=None, validator=version)
    tag: str | None = attrs.field(default=None, validator=text)
    branch: str | None = attrs.field(default=None, validator=text)
    with_table_uri: bool = flag(default=False)
    load_detailed_metadata: bool = flag(default=False)
    check_declared: bool = flag(default=False)
    vend_credentials: bool | None = attrs.field(default=None, validator=maybe_flag)
    with_columns: bool = attrs.field(default=False, validator=maybe_flag, metadata={"extension": True})

    def __attrs_post_init__(self) -> None:
        if self.tag is not None and (self.version is not None or self.branch is not None):
            raise InvalidInput("a tag goes with neither version nor branch", hint="give one of them")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DeregisterTableResponse(Response):
    """Where the data of the deregistered table still is."""

    transaction_id: str | None = None
    id: Sequence[str] | None = None
    location: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DeregisterTableRequest(Request[DeregisterTableResponse]):
    """Take the table `id` out of the catalog and leave its data where it is."""

    operation = "deregister_table"
    response = DeregisterTableResponse


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TableExistsResponse(Response):
    """The table exists; its absence is TableNotFound."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TableExistsRequest(Request[TableExistsResponse]):
    """Ask whether the table `id` exists, at `version` if one is given."""

    operation = "table_exists"
    response = TableExistsResponse

    version: int | None = attrs.field(default=None, validator=version)
