"""Requests and responses of the namespace operations, field for field the public contract.

A request checks itself when it is made: identifiers, modes, limits and properties are right or the constructor raises
InvalidInput, so a backend never meets a bad one. Modes accept any spelling of the contract (`ExistOk`, `exist_ok`), and
None stands for the contract's default.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Generic, Self, TypeVar

import attrs

from lance_ns.errors import InvalidInput
from lance_ns.identifiers import Levels, levels

R = TypeVar("R", bound="Response")

# --- enumerations --------------------------------------------------------------------------------------------------


class Choice(StrEnum):
    """A word of the contract, read in any case and with or without underscores."""

    @classmethod
    def read(cls, value: "Self | str | None") -> Self:
        """The member that `value` names; None is the first one, the contract's default."""
        if isinstance(value, cls):
            return value
        if value is None:
            return next(iter(cls))
        if isinstance(value, str):
            wanted = value.replace("_", "").replace("-", "").lower()
            for member in cls:
                if member.value.lower() == wanted:
                    return member
        choices = ", ".join(member.value for member in cls)
        raise InvalidInput(f"{value!r} is not a {cls.__name__}", hint=f"choose one of {choices}")


class CreateMode(Choice):
    """What creating a namespace does when it exists."""

    CREATE = "Create"
    EXIST_OK = "ExistOk"
    OVERWRITE = "Overwrite"


class DropMode(Choice):
    """What dropping a namespace does when it is missing."""

    FAIL = "Fail"
    SKIP = "Skip"


class DropBehavior(Choice):
    """What dropping a namespace does when it is not empty."""

    RESTRICT = "Restrict"
    CASCADE = "Cascade"


class RegisterMode(Choice):
    """What registering a table does when it exists."""

    CREATE = "Create"
    OVERWRITE = "Overwrite"


# --- checks --------------------------------------------------------------------------------------------------------


def _flag(default: bool) -> Any:
    """A true-or-false field for which None means the contract's default."""

    def read(value: bool | None) -> bool:
        if value is None:
            return default
        if isinstance(value, bool):
            return value
        raise InvalidInput(f"{value!r} is neither true nor false")

    return attrs.field(default=default, converter=read)


def _string_map(value: Mapping[str, str] | None) -> dict[str, str] | None:
    if value is None:
        return None
    items: Mapping[Any, Any] = value
    if not isinstance(items, Mapping):
        raise InvalidInput(f"properties are a mapping of strings, not {type(items).__name__}")
    for key, text in items.items():
        if not isinstance(key, str) or not isinstance(text, str):
            raise InvalidInput(
                f"property {key!r} is not a string, or its value is not (it is {type(text).__name__})",
                hint="catalogs keep properties as strings: convert the value first",
            )
        if _has_surrogate(key) or _has_surrogate(text):
            raise InvalidInput(f"property {key!r} is not valid Unicode")
    return dict(items)


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _at_least(least: int) -> Any:
    """A check for whole numbers that are at least `least`, or None."""

    def check(_: Any, attribute: Any, value: Any) -> None:
        if value is None:
            return
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidInput(f"{attribute.name} is a whole number, not {value!r}")
        if value < least:
            raise InvalidInput(f"{attribute.name} is at least {least}, not {value}")

    return check


def _text(_: Any, attribute: Any, value: str | None) -> None:
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"{attribute.name} is a string, not {type(value).__name__}")


def _required_text(_: Any, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{attribute.name} is required and a string that is not empty, not {value!r}")


def _maybe_flag(_: Any, attribute: Any, value: Any) -> None:
    if value is not None and not isinstance(value, bool):
        raise InvalidInput(f"{attribute.name} is true, false or None, not {value!r}")


def _identity(_: Any, __: Any, value: Any) -> None:
    if value is not None and not isinstance(value, Identity):
        raise InvalidInput(f"identity is an Identity, not {type(value).__name__}")


def _names(value: Sequence[str]) -> tuple[str, ...]:
    given: Any = value
    if isinstance(given, str) or not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        raise InvalidInput("names are a sequence of strings")
    return tuple(given)


_limit = _at_least(1)
_version = _at_least(0)


def _create_mode(value: CreateMode | str | None) -> CreateMode:
    return CreateMode.read(value)


def _register_mode(value: RegisterMode | str | None) -> RegisterMode:
    return RegisterMode.read(value)


def _drop_mode(value: DropMode | str | None) -> DropMode:
    return DropMode.read(value)


def _drop_behavior(value: DropBehavior | str | None) -> DropBehavior:
    return DropBehavior.read(value)


# --- bases ---------------------------------------------------------------------------------------------------------


class _Model:
    """What all models share. Comparing and showing by reflection, not by generated code, keeps the import short."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            getattr(self, field.name) == getattr(other, field.name) for field in _fields(self)
        )

    __hash__ = None  # type: ignore[assignment]  # they hold dictionaries

    def __repr__(self) -> str:
        shown = (
            f"{field.name}={getattr(self, field.name)!r}"
            for field in _fields(self)
            if field.repr and getattr(self, field.name) is not None
        )
        return f"{type(self).__name__}({', '.join(shown)})"


def _fields(model: Any) -> tuple[Any, ...]:
    fields: tuple[Any, ...] = attrs.fields(type(model))
    return fields


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Response(_Model):
    """What every response carries."""

    context: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Identity(_Model):
    """Who asks, for this one call. Neither field is ever shown."""

    api_key: str | None = attrs.field(default=None, repr=False, validator=_text)
    auth_token: str | None = attrs.field(default=None, repr=False, validator=_text)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Request(_Model, Generic[R]):
    """What every request carries. `operation` names its hook, `response` is the class of its answer."""

    operation: ClassVar[str]
    response: ClassVar[type[Response]]

    identity: Identity | None = attrs.field(default=None, repr=False, validator=_identity)
    context: Mapping[str, str] | None = attrs.field(default=None, repr=False, converter=_string_map)
    id: Levels = attrs.field(default=None, converter=levels)


# --- namespaces ----------------------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListNamespacesResponse(Response):
    """One page of the names of the child namespaces, relative to the parent."""

    namespaces: Sequence[str]
    page_token: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class ListNamespacesRequest(Request[ListNamespacesResponse]):
    """List the child namespaces of `id`."""

    operation = "list_namespaces"
    response = ListNamespacesResponse

    page_token: str | None = attrs.field(default=None, validator=_text)
    limit: int | None = attrs.field(default=None, validator=_limit)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeNamespaceResponse(Response):
    """The properties of a namespace: None where the backend keeps none, empty where none are set."""

    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DescribeNamespaceRequest(Request[DescribeNamespaceResponse]):
    """Describe the namespace `id`."""

    operation = "describe_namespace"
    response = DescribeNamespaceResponse


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CreateNamespaceResponse(Response):
    """The properties that the namespace has now."""

    transaction_id: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class CreateNamespaceRequest(Request[CreateNamespaceResponse]):
    """Create the namespace `id`."""

    operation = "create_namespace"
    response = CreateNamespaceResponse

    mode: CreateMode = attrs.field(default=None, converter=_create_mode)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=_string_map)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropNamespaceResponse(Response):
    """The properties that the namespace had."""

    properties: Mapping[str, str] | None = None
    transaction_id: Sequence[str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropNamespaceRequest(Request[DropNamespaceResponse]):
    """Drop the namespace `id`. Table data is never deleted."""

    operation = "drop_namespace"
    response = DropNamespaceResponse

    mode: DropMode = attrs.field(default=None, converter=_drop_mode)
    behavior: DropBehavior = attrs.field(default=None, converter=_drop_behavior)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NamespaceExistsResponse(Response):
    """The namespace exists; its absence is NamespaceNotFound."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NamespaceExistsRequest(Request[NamespaceExistsResponse]):
    """Ask whether the namespace `id` exists."""

    operation = "namespace_exists"
    response = NamespaceExistsResponse


# --- tables --------------------------------------------------------------------------------------------------------


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

    page_token: str | None = attrs.field(default=None, validator=_text)
    limit: int | None = attrs.field(default=None, validator=_limit)
    include_declared: bool = _flag(default=True)


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

    location: str | None = attrs.field(default=None, validator=_text)
    vend_credentials: bool | None = attrs.field(default=None, validator=_maybe_flag)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=_string_map)
    schema: Any = attrs.field(default=None, metadata={"extension": True})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class TableBasicStats(_Model):
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

    version: int | None = attrs.field(default=None, validator=_version)
    tag: str | None = attrs.field(default=None, validator=_text)
    branch: str | None = attrs.field(default=None, validator=_text)
    with_table_uri: bool = _flag(default=False)
    load_detailed_metadata: bool = _flag(default=False)
    check_declared: bool = _flag(default=False)
    vend_credentials: bool | None = attrs.field(default=None, validator=_maybe_flag)
    with_columns: bool = attrs.field(default=False, validator=_maybe_flag, metadata={"extension": True})

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

    version: int | None = attrs.field(default=None, validator=_version)


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RegisterTableResponse(Response):
    """The location under which the table is registered."""

    transaction_id: str | None = None
    location: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RegisterTableRequest(Request[RegisterTableResponse]):
    """Enter a table that exists at `location` in the catalog.

    `schema` is an extension that never goes on the wire: the data's Arrow schema, for catalogs that keep columns.
    """

    operation = "register_table"
    response = RegisterTableResponse

    location: str = attrs.field(validator=_required_text)
    mode: RegisterMode = attrs.field(default=None, converter=_register_mode)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=_string_map)
    schema: Any = attrs.field(default=None, metadata={"extension": True})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RenameTableResponse(Response):
    """The table has its new name."""

    transaction_id: str | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class RenameTableRequest(Request[RenameTableResponse]):
    """Give the table `id` a new name, in another namespace if one is given."""

    operation = "rename_table"
    response = RenameTableResponse

    new_table_name: str = attrs.field(validator=_required_text)
    new_namespace_id: Levels | None = attrs.field(default=None, converter=attrs.converters.optional(levels))

    def __attrs_post_init__(self) -> None:
        levels([self.new_table_name])


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropTableResponse(Response):
    """Where the dropped table's data was, or still is."""

    transaction_id: str | None = None
    id: Sequence[str] | None = None
    location: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class DropTableRequest(Request[DropTableResponse]):
    """Take the table `id` out of the catalog.

    `delete_data` is an extension that never goes on the wire: only with it the data is deleted too.
    """

    operation = "drop_table"
    response = DropTableResponse

    delete_data: bool = attrs.field(default=False, validator=_maybe_flag, metadata={"extension": True})


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AlterTablePropertiesResponse(Response):
    """The properties that the table has now."""

    transaction_id: str | None = None
    properties: Mapping[str, str] | None = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class AlterTablePropertiesRequest(Request[AlterTablePropertiesResponse]):
    """Set and remove properties of the table `id` in one step: all of it happens or nothing.

    This operation is an extension: the contract has none for it.
    """

    operation = "alter_table_properties"
    response = AlterTablePropertiesResponse

    updates: Mapping[str, str] | None = attrs.field(default=None, converter=_string_map)
    removals: Sequence[str] = attrs.field(default=(), converter=_names)


REQUESTS: dict[str, type[Request[Any]]] = {
    request.operation: request
    for request in (
        CreateNamespaceRequest,
        ListNamespacesRequest,
        DescribeNamespaceRequest,
        DropNamespaceRequest,
        DeclareTableRequest,
        ListTablesRequest,
        DescribeTableRequest,
        DeregisterTableRequest,
        NamespaceExistsRequest,
        TableExistsRequest,
        ListAllTablesRequest,
        RegisterTableRequest,
        RenameTableRequest,
        AlterTablePropertiesRequest,
        DropTableRequest,
    )
}
"""The request class of every operation."""
