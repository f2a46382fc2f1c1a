"""A Lance table as a generic table of Polaris, and back."""

from collections.abc import Mapping
from pathlib import Path
from re import compile as pattern
from typing import Any

import attrs

from lance_ns.config import StorageOptions
from lance_ns.errors import Internal, InvalidInput
from lance_ns.identifiers import Levels, default_location, display
from lance_ns.rest.iceberg import properties_of

TYPE, LANCE, DOC = "table_type", "lance", "doc"
_URI = pattern(r"[A-Za-z][A-Za-z0-9+.-]+:/.+")
_MISLEADING = frozenset("/?#%")


@attrs.frozen(kw_only=True)
class GenericTable:
    """What the server says of a generic table.

    Attributes:
        format: what it is.
        location: its `base-location`; whoever made it may have left it out.
        doc: its description.
        stored: the properties that the server holds.
    """

    format: str
    location: str | None
    doc: str | None
    stored: Mapping[str, str] = attrs.field(repr=False)

    @property
    def is_lance(self) -> bool:
        """Whether it is a Lance table, however that is spelled."""
        return self.format.lower() == LANCE

    @property
    def properties(self) -> dict[str, str]:
        """Its properties as the contract knows them: the description is one of them."""
        return {**self.stored, **({} if self.doc is None else {DOC: self.doc})}

    def storage_options(self, own: Mapping[str, str]) -> StorageOptions:
        """The properties that the server holds, and on top what the connection was given."""
        return StorageOptions({**self.stored, **own})


def creation(name: str, location: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """The request that makes the generic table of a Lance table: a property `doc` is its description."""
    stored = {key: value for key, value in properties.items() if key != DOC}
    doc = {DOC: properties[DOC]} if DOC in properties else {}
    return {
        "name": name,
        "format": LANCE,
        "base-location": location,
        **doc,
        "properties": {**stored, TYPE: LANCE},
    }


def read(body: Any) -> GenericTable:
    """The table in a server's answer.

    Raises:
        Internal: there is none.
    """
    table = body.get("table") if isinstance(body, dict) else None
    if not isinstance(table, dict) or not isinstance(table.get("format"), str):
        raise Internal("the server's answer holds no generic table", hint="check that 'endpoint' names the server")
    return GenericTable(
        format=table["format"],
        location=table.get("base-location"),
        doc=table.get(DOC),
        stored=properties_of(table),
    )


def require_lance(table: GenericTable, id: Levels) -> GenericTable:
    """The table, if it is a Lance table.

    Raises:
        InvalidInput: it is one of another format.
    """
    if not table.is_lance:
        raise not_lance(id, f"its format is {table.format}")
    return table


def not_lance(id: Levels, why: str) -> InvalidInput:
    """The error of a table that is there and is none of ours."""
    return InvalidInput(f"table {display(id, '.')} is not a Lance table", hint=why)


def checked_location(location: str) -> str:
    """A location that was given, if it means the same everywhere: the server would take anything.

    Raises:
        InvalidInput: it is neither a URI nor an absolute path.
    """
    if not (_URI.fullmatch(location) or Path(location).is_absolute()):
        raise InvalidInput(
            f"{location!r} is no location of a table", hint="give an absolute path, or a URI such as s3://bucket/table"
        )
    return location


def location_below(namespace_location: str, id: Levels) -> str:
    """The location of a table below that of its namespace.

    Raises:
        InvalidInput: the server made the namespace's location of names that lead elsewhere when they stand in a URI.
    """
    for level in id[1:-1]:
        if _MISLEADING & set(level):
            raise InvalidInput(
                f"a table in {display(id[:-1], '.')} gets no default location: {level!r} would lead elsewhere in a URI",
                hint="give a location, or set the property 'root'",
            )
    return default_location(namespace_location, id[-1:])
