"""A Lance table as a table of Unity's, and back."""

from collections.abc import Mapping
from pathlib import Path
from posixpath import normpath
from typing import Any

from lance_ns.config import absolute_location
from lance_ns.errors import Internal, InvalidInput
from lance_ns.identifiers import Levels, display

TYPE, LANCE = "table_type", "lance"
EXTERNAL, MANAGED = "EXTERNAL", "MANAGED"
FORMAT = "TEXT"
"""Unity does not know the format of Lance; the property says it."""


def creation(id: Levels, location: str, properties: Mapping[str, str], columns: list[dict[str, Any]]) -> dict[str, Any]:
    """The request that makes the table of a Lance table."""
    catalog, schema, name = id
    return {
        "name": name,
        "catalog_name": catalog,
        "schema_name": schema,
        "table_type": EXTERNAL,
        "data_source_format": FORMAT,
        "columns": columns,
        "storage_location": location,
        "properties": {**properties, TYPE: LANCE},
    }


def located(location: str) -> str:
    """A location as it is sent: always a URI, for servers read a path against their own working directory, or not."""
    return location if "://" in location or location.startswith("file:") else Path(absolute_location(location)).as_uri()


def is_lance(table: Mapping[str, Any]) -> bool:
    """Whether a table is a Lance table."""
    return table.get("table_type") == EXTERNAL and properties_of(table).get(TYPE, "").lower() == LANCE


def is_managed(table: Mapping[str, Any]) -> bool:
    """Whether a table's data goes with its entry."""
    return table.get("table_type") == MANAGED


def lance_table(body: Any, id: Levels) -> dict[str, Any]:
    """The Lance table in a server's answer.

    Raises:
        InvalidInput: it is a table of another format.
        Internal: there is none, or it has no location.
    """
    table = named(body)
    if not is_lance(table):
        raise InvalidInput(
            f"table {display(id)} is not a Lance table", hint="it is not EXTERNAL with the property table_type=lance"
        )
    if not isinstance(table.get("storage_location"), str):
        raise Internal(f"the server tells no location of table {display(id)}")
    return table


def is_as_asked(table: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether a table is what a creation asked for."""
    return (
        is_lance(table)
        and asked["properties"].items() <= properties_of(table).items()
        and _bare(str(table.get("storage_location"))) == _bare(asked["storage_location"])
    )


def _bare(location: str) -> str:
    """A location without the differences that servers make: slashes, dots."""
    scheme, _, path = location.partition(":")
    return f"{scheme}:{normpath('/' + path.lstrip('/'))}"


def named(body: Any) -> dict[str, Any]:
    """The thing that a server's answer is.

    Raises:
        Internal: it is none.
    """
    if not isinstance(body, dict) or not isinstance(body.get("name"), str):
        raise Internal("the server's answer holds no name", hint="check that 'endpoint' names the catalog")
    return body


def listed(body: Any, field: str) -> list[dict[str, Any]] | None:
    """The entries of a page; None where the answer has none at all, as some servers say it of an empty one.

    Raises:
        Internal: the answer is no page.
    """
    found = body.get(field) if isinstance(body, dict) else False
    if found is None:
        return None
    if not isinstance(found, list):
        raise Internal(f"the server's answer holds no {field}", hint="check that 'endpoint' names the catalog")
    return [named(each) for each in found]


def properties_of(thing: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a table or schema."""
    found = thing.get("properties")
    return {str(key): str(value) for key, value in found.items()} if isinstance(found, dict) else {}
