"""Namespaces and Lance tables as objects of the metastore, and back."""

from collections.abc import Mapping
from copy import copy
from typing import TypeVar

from lance_ns.errors import Internal, InvalidInput
from lance_ns.identifiers import Levels, display
from lance_ns_hive3.metastore.codec import Struct
from lance_ns_hive3.metastore.structs import Catalog, Database, PrincipalType, SerDeInfo, StorageDescriptor, Table

S = TypeVar("S", bound=Struct)

TYPE, LANCE = "table_type", "lance"
EXTERNAL, EXTERNAL_TABLE = "EXTERNAL", "EXTERNAL_TABLE"
PURGE = "external.table.purge"
NO_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
"""Keeps the metastore from counting files that are not its own."""
_OWN = frozenset(
    {
        EXTERNAL,
        "DO_NOT_UPDATE_STATS",
        "COLUMN_STATS_ACCURATE",
        "bucketing_version",
        "last_modified_by",
        "last_modified_time",
        "numFiles",
        "numFilesErasureCoded",
        "numRows",
        "rawDataSize",
        "totalSize",
        "transient_lastDdlTime",
    }
)
"""Parameters that the metastore keeps for itself."""
_FORMAT = "org.apache.hadoop.mapred.TextInputFormat"
_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"

DESCRIPTION, LOCATION = "database.description", "database.location-uri"
OWNER, OWNER_TYPE = "database.owner", "database.owner-type"
CATALOG_DESCRIPTION, CATALOG_LOCATION = "catalog.description", "catalog.location-uri"

# What the columns of the metastore's database hold; it would try for a long time to store more.
_LONGEST_DATABASE, _LONGEST_NAME, _LONGEST_TEXT = 128, 255, 4000
_LONGEST_DATABASE_KEY, _LONGEST_TABLE_KEY = 180, 256


def folded(id: Levels) -> Levels:
    """An identifier as the metastore keeps it: in lower case.

    Raises:
        InvalidInput: a name is longer than the metastore can store, or it would read it as another one.
    """
    for level, longest in zip(id, (_LONGEST_NAME, _LONGEST_DATABASE, _LONGEST_NAME), strict=False):
        _fits(level, longest, "a name")
        if level != level.strip():
            raise InvalidInput(f"a name cannot begin or end with a space here: {level!r}", hint="Hive would drop it")
    return tuple(level.lower() for level in id)


# --- catalogs and databases -------------------------------------------------------------------------------------------


def catalog(name: str, properties: Mapping[str, str], default_location: str) -> Catalog:
    """A catalog with its properties.

    Raises:
        InvalidInput: a property is given that catalogs have no room for.
    """
    unknown = sorted(properties.keys() - {CATALOG_DESCRIPTION, CATALOG_LOCATION})
    if unknown:
        raise InvalidInput(
            f"a catalog of the metastore cannot keep the property {unknown[0]!r}",
            hint=f"it has {CATALOG_DESCRIPTION} and {CATALOG_LOCATION}; a database keeps any",
        )
    return Catalog(
        name=name,
        description=_fits(properties.get(CATALOG_DESCRIPTION), _LONGEST_TEXT, CATALOG_DESCRIPTION),
        location_uri=properties.get(CATALOG_LOCATION) or default_location,
    )


def catalog_properties(found: Catalog) -> dict[str, str]:
    """The properties of a catalog."""
    return _given({CATALOG_DESCRIPTION: found.description, CATALOG_LOCATION: found.location_uri})


def database(id: Levels, properties: Mapping[str, str]) -> Database:
    """A database with its properties; some are fields of its own.

    Raises:
        InvalidInput: a property has a value that the metastore cannot store.
    """
    others = {key: value for key, value in properties.items() if key not in _FIELDS}
    for key, value in others.items():
        _fits(key, _LONGEST_DATABASE_KEY, "the name of a property")
        _fits(value, _LONGEST_TEXT, f"the property {key!r}")
    return Database(
        catalog_name=id[0],
        name=id[1],
        description=_fits(properties.get(DESCRIPTION), _LONGEST_TEXT, DESCRIPTION),
        location_uri=_fits(properties.get(LOCATION), _LONGEST_TEXT, LOCATION),
        owner_name=_fits(properties.get(OWNER), _LONGEST_DATABASE, OWNER),
        owner_type=_owner_type(properties),
        parameters=others,
    )


def replaced(there: Database, properties: Mapping[str, str]) -> Database:
    """A database with other properties in the place of its own; the owner stays unless another one is named."""
    new = database((there.catalog_name or "", there.name or ""), properties)
    owner = {"owner_name": new.owner_name, "owner_type": new.owner_type} if OWNER in properties else {}
    return changed(
        there, description=new.description, location_uri=new.location_uri, parameters=new.parameters, **owner
    )


_FIELDS = (DESCRIPTION, LOCATION, OWNER, OWNER_TYPE)


def database_properties(found: Database) -> dict[str, str]:
    """The properties of a database."""
    fields = {
        DESCRIPTION: found.description,
        LOCATION: found.location_uri,
        OWNER: found.owner_name,
        OWNER_TYPE: None if found.owner_type is None else PrincipalType(found.owner_type).name,
    }
    return {**(found.parameters or {}), **_given(fields)}


def _owner_type(properties: Mapping[str, str]) -> int | None:
    given = properties.get(OWNER_TYPE)
    if given is None:
        return int(PrincipalType.USER) if OWNER in properties else None
    if given.upper() not in PrincipalType.__members__:
        raise InvalidInput(f"{OWNER_TYPE} is one of {', '.join(PrincipalType.__members__)}, not {given!r}")
    return int(PrincipalType[given.upper()])


# --- tables -----------------------------------------------------------------------------------------------------------


def table(id: Levels, location: str, properties: Mapping[str, str], owner: str | None) -> Table:
    """The external table of a Lance table."""
    return Table(
        cat_name=id[0],
        db_name=id[1],
        table_name=id[2],
        owner=owner,
        table_type=EXTERNAL_TABLE,
        parameters={**parameters(properties), **NO_STATISTICS},
        partition_keys=[],
        sd=StorageDescriptor(
            cols=[],
            location=location,
            input_format=_FORMAT,
            output_format=_OUTPUT,
            serde_info=SerDeInfo(serialization_lib=_SERDE, parameters={}),
            bucket_cols=[],
            sort_cols=[],
            parameters={},
            num_buckets=-1,
            compressed=False,
        ),
    )


def parameters(properties: Mapping[str, str]) -> dict[str, str]:
    """The parameters of a Lance table: external and so marked, whatever else it is given.

    Raises:
        InvalidInput: a property would let somebody's DROP delete the data, or the metastore cannot store it.
    """
    if properties.get(PURGE, "").lower() == "true":
        raise InvalidInput(
            f"{PURGE}=true would let a DROP by any client delete the data",
            hint="leave it out; deleting is explicit here",
        )
    for key in properties:
        _fits(key, _LONGEST_TABLE_KEY, "the name of a property")
    kept = {key: value for key, value in properties.items() if key not in _OWN}
    return {**kept, EXTERNAL: "TRUE", TYPE: LANCE}


def properties_of(found: Table) -> dict[str, str]:
    """The properties of a table, without what the metastore keeps there for itself."""
    return {key: value for key, value in (found.parameters or {}).items() if key not in _OWN}


def with_properties(found: Table, properties: Mapping[str, str]) -> Table:
    """The same table with other properties; what the metastore keeps for itself stays."""
    own = {key: value for key, value in (found.parameters or {}).items() if key in _OWN}
    return changed(found, parameters={**own, **parameters(properties)})


def moved(found: Table, location: str) -> Table:
    """The same table at another location."""
    return changed(found, sd=changed(found.sd or StorageDescriptor(), location=location))


def changed(found: S, **changes: object) -> S:
    """A copy of a struct in which some fields differ; none is lost."""
    other = copy(found)
    for name, value in changes.items():
        setattr(other, name, value)
    return other


def is_lance(found: Table) -> bool:
    """Whether a table is a Lance table: external, and marked so."""
    return found.table_type == EXTERNAL_TABLE and (found.parameters or {}).get(TYPE, "").lower() == LANCE


def require_lance(found: Table, id: Levels) -> Table:
    """The table, if it is a Lance table.

    Raises:
        InvalidInput: it is one of another format.
    """
    if not is_lance(found):
        raise InvalidInput(
            f"table {display(id)} is not a Lance table", hint="it is not external, or its table_type is not lance"
        )
    return found


def location_of(found: Table) -> str:
    """Where a table lies; Hadoop's way to write a local path is put into the common one.

    Raises:
        Internal: the metastore does not say it.
    """
    if found.sd is None or not found.sd.location:
        raise Internal(f"the metastore tells no location of table {found.table_name}")
    location = found.sd.location
    is_hadoops = location.startswith("file:/") and not location.startswith("file://")
    return f"file://{location.removeprefix('file:')}" if is_hadoops else location


def _given(values: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in values.items() if value is not None}


def _fits(text: str | None, longest: int, what: str) -> str | None:
    if text is not None and len(text) > longest:
        raise InvalidInput(f"{what} has {len(text)} characters, the metastore stores {longest}")
    return text
