"""Operations on tables that some catalogs have."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from lance_ns.identifiers import Levels, levels
from lance_ns.models.base import Request, Response
from lance_ns.models.checks import maybe_flag, names, required_text, string_map
from lance_ns.models.choices import RegisterMode, register_mode


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

    location: str = attrs.field(validator=required_text)
    mode: RegisterMode = attrs.field(default=None, converter=register_mode)
    properties: Mapping[str, str] | None = attrs.field(default=None, converter=string_map)
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

    new_table_name: str = attrs.field(validator=required_text)
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

    delete_data: bool = attrs.field(default=False, validator=maybe_flag, metadata={"extension": True})


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

    updates: Mapping[str, str] | None = attrs.field(default=None, converter=string_map)
    removals: Sequence[str] = attrs.field(default=(), converter=names)
