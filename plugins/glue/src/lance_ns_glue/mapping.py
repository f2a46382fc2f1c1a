"""A Lance table as a table of Glue, a namespace as a database, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from lance_ns.errors import InvalidInput
from lance_ns.identifiers import Levels, display

TYPE, LANCE = "table_type", "lance"
EXTERNAL = "EXTERNAL_TABLE"
MARK = "lance_ns.entry"
"""The storage parameter by which the maker of an entry knows it again."""

TABLE_INPUT = (
    "Name",
    "Description",
    "Owner",
    "LastAccessTime",
    "LastAnalyzedTime",
    "Retention",
    "StorageDescriptor",
    "PartitionKeys",
    "ViewOriginalText",
    "ViewExpandedText",
    "TableType",
    "Parameters",
    "TargetTable",
    "FederatedTable",
)
"""What an update must give back to Glue, or it would be gone."""

_FIELDS = {"description": "Description", "location": "LocationUri"}
"""Properties of a namespace for which a database has fields of their own."""
_KEPT = ("CreateTableDefaultPermissions", "TargetDatabase", "FederatedDatabase")
"""What else an update of a database must give back."""


def database(id: Levels) -> str:
    """The name of a database, as Glue keeps it: in lower case.

    Raises:
        InvalidInput: the identifier has not exactly one level.
    """
    if len(id) != 1:
        raise InvalidInput(f"{display(id)} is not a namespace here", hint="a namespace is one level, the database")
    return id[0].lower()


def table(id: Levels) -> tuple[str, str]:
    """The names of a database and a table, as Glue keeps them: in lower case.

    Raises:
        InvalidInput: the identifier has not exactly two levels.
    """
    if len(id) != 2:
        raise InvalidInput(f"{display(id)} is not a table here", hint="a table is two levels, database and name")
    return id[0].lower(), id[1].lower()


# --- databases ---------------------------------------------------------------------------------------------------


def database_input(
    name: str, properties: Mapping[str, str], existing: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What makes a database, or puts properties in the place of those that one has."""
    fields = {field: properties[key] for key, field in _FIELDS.items() if properties.get(key)}
    return {
        **{key: existing[key] for key in _KEPT if existing and key in existing},
        "Name": name,
        **fields,
        "Parameters": {key: value for key, value in properties.items() if _FIELDS.get(key) not in fields},
    }


def namespace_properties(found: Mapping[str, Any]) -> dict[str, str]:
    """The properties of a namespace: a database's parameters, description and location."""
    fields = {key: str(found[field]) for key, field in _FIELDS.items() if found.get(field)}
    return {**properties_of(found), **fields}


# --- tables ------------------------------------------------------------------------------------------------------


def creation(name: str, location: str, properties: Mapping[str, str], mark: str) -> dict[str, Any]:
    """What makes the entry of a Lance table."""
    return {
        "Name": name,
        "TableType": EXTERNAL,
        "StorageDescriptor": {"Location": location, "Parameters": {MARK: mark}},
        "Parameters": {**properties, TYPE: LANCE},
    }


def mark_of(found: Mapping[str, Any]) -> str | None:
    """What the maker of an entry marked it with."""
    mark: str | None = ((found.get("StorageDescriptor") or {}).get("Parameters") or {}).get(MARK)
    return mark


def current(found: Mapping[str, Any]) -> dict[str, Any]:
    """What would make a table that exists as it is."""
    return {key: found[key] for key in TABLE_INPUT if key in found}


def altered(found: Mapping[str, Any], updates: Mapping[str, str], removals: Sequence[str]) -> dict[str, Any]:
    """A table with some properties set and others removed."""
    kept = {key: value for key, value in properties_of(found).items() if key not in removals}
    return {**current(found), "Parameters": {**kept, **updates}}


def moved(found: Mapping[str, Any], location: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """A table at another location, with other properties."""
    return {
        **current(found),
        "StorageDescriptor": {**found["StorageDescriptor"], "Location": location},
        "Parameters": {**properties, TYPE: LANCE},
    }


def properties_of(found: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a table or database."""
    return {str(key): str(value) for key, value in (found.get("Parameters") or {}).items()}


def location_of(found: Mapping[str, Any]) -> str:
    """Where the data of a table is; empty when the entry does not say."""
    return str((found.get("StorageDescriptor") or {}).get("Location") or "")


def is_lance(found: Mapping[str, Any]) -> bool:
    """Whether an entry is that of a Lance table: external, marked so, and with a location."""
    return (
        found.get("TableType") == EXTERNAL
        and properties_of(found).get(TYPE, "").lower() == LANCE
        and bool(location_of(found))
    )


def require_lance(found: Mapping[str, Any], id: Levels) -> Mapping[str, Any]:
    """The entry of a Lance table.

    Raises:
        InvalidInput: it is a table of another format.
    """
    if not is_lance(found):
        raise InvalidInput(
            f"table {display(id)} is not a Lance table",
            hint=f"that is an {EXTERNAL} with a location and the parameter {TYPE}={LANCE}",
        )
    return found
