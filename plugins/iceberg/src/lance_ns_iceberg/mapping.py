"""A Lance table as an Iceberg table, and back."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lance_ns.config import StorageOptions
from lance_ns.errors import Internal, InvalidInput
from lance_ns.identifiers import Levels, display, same_place
from lance_ns.rest.iceberg import properties_of

if TYPE_CHECKING:
    from lance_ns.models import RegisterTableRequest

TYPE, LANCE = "table_type", "lance"

DUMMY_SCHEMA: dict[str, Any] = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "dummy", "type": "string", "required": False}],
}

# Iceberg's names for what opens a storage, and pylance's.
_STORAGE_NAMES = {
    "s3.access-key-id": "aws_access_key_id",
    "s3.secret-access-key": "aws_secret_access_key",
    "s3.session-token": "aws_session_token",
    "s3.endpoint": "aws_endpoint",
    "s3.region": "aws_region",
    "client.region": "aws_region",
    "gcs.oauth2.token": "google_bearer_token",
    "s3.session-token-expires-at-ms": "expires_at_millis",
    "gcs.oauth2.token-expires-at": "expires_at_millis",
}
_CREDENTIALS = {"aws_secret_access_key", "google_bearer_token", "azure_storage_sas_key"}
_SAS_TOKEN, _SAS_EXPIRY = "adls.sas-token.", "adls.sas-token-expires-at-ms."


def creation(name: str, location: str, properties: Mapping[str, str]) -> dict[str, Any]:
    """The request that makes the Iceberg table of a Lance table."""
    return {
        "name": name,
        "location": location,
        "schema": DUMMY_SCHEMA,
        "properties": {**properties, TYPE: LANCE},
        "stage-create": False,
    }


def commit(metadata: Mapping[str, Any], updates: list[dict[str, Any]]) -> dict[str, Any]:
    """The request that changes a table, and only the one whose metadata was read."""
    return {"requirements": [{"type": "assert-table-uuid", "uuid": metadata.get("table-uuid")}], "updates": updates}


def alteration(updates: Mapping[str, str], removals: Sequence[str]) -> list[dict[str, Any]]:
    """The changes that set and remove properties; what is named for both is set."""
    changes: list[dict[str, Any]] = []
    if gone := [key for key in removals if key not in updates]:
        changes.append({"action": "remove-properties", "removals": gone})
    if updates:
        changes.append({"action": "set-properties", "updates": dict(updates)})
    return changes


def replacement(existing: Mapping[str, Any], request: "RegisterTableRequest") -> list[dict[str, Any]]:
    """The changes that give a table another location and other properties."""
    wanted = {**(request.properties or {}), TYPE: LANCE}
    gone = [key for key in properties_of(existing) if key not in wanted]
    return [{"action": "set-location", "location": request.location}, *alteration(wanted, gone)]


def is_as_asked(metadata: Mapping[str, Any], location: str, properties: Mapping[str, str]) -> bool:
    """Whether a table is what a creation asked for."""
    wanted = {**properties, TYPE: LANCE}
    return wanted.items() <= properties_of(metadata).items() and same_place(metadata["location"], location)


def is_committed(metadata: Mapping[str, Any], before: Mapping[str, Any], updates: list[dict[str, Any]]) -> bool:
    """Whether a table is as some changes would have made it."""
    now = properties_of(metadata)
    return metadata.get("table-uuid") == before.get("table-uuid") and all(
        each.get("updates", {}).items() <= now.items()
        and not set(each.get("removals", ())) & now.keys()
        and ("location" not in each or same_place(metadata["location"], each["location"]))
        for each in updates
    )


def metadata_of(loaded: Any) -> dict[str, Any]:
    """The metadata in a server's answer.

    Raises:
        Internal: there is none, or it has no location.
    """
    metadata = loaded.get("metadata") if isinstance(loaded, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("location"), str):
        raise Internal("the server's answer holds no table metadata", hint="check that 'endpoint' names the catalog")
    return metadata


def is_lance(metadata: Mapping[str, Any]) -> bool:
    """Whether an Iceberg table is the companion of a Lance table."""
    return properties_of(metadata).get(TYPE, "").lower() == LANCE


def require_lance(metadata: dict[str, Any], id: Levels) -> dict[str, Any]:
    """The metadata of a Lance table.

    Raises:
        InvalidInput: it is a table of another format.
    """
    if not is_lance(metadata):
        raise InvalidInput(
            f"table {display(id, '.')} is not a Lance table", hint="its property table_type is not lance"
        )
    return metadata


def storage_options(metadata: Mapping[str, Any], own: Mapping[str, str]) -> StorageOptions:
    """The table's properties, and on top what the connection was given."""
    return StorageOptions({**properties_of(metadata), **own})


def vended(loaded: Mapping[str, Any]) -> StorageOptions | None:
    """The credentials that a server gave out with a table, None if it gave none."""
    location = metadata_of(loaded)["location"]
    offers = [each for each in loaded.get("storage-credentials") or [] if location.startswith(each.get("prefix", ""))]
    best: dict[str, Any] = max(offers, key=lambda each: len(each.get("prefix", "")), default={})
    options = _pylance_names({**(loaded.get("config") or {}), **(best.get("config") or {})})
    return StorageOptions(options) if _CREDENTIALS & options.keys() else None


def _pylance_names(config: Mapping[str, Any]) -> dict[str, str]:
    options = {_STORAGE_NAMES[key]: str(value) for key, value in config.items() if key in _STORAGE_NAMES}
    for key, value in config.items():
        if key.startswith(_SAS_TOKEN):
            options["azure_storage_sas_key"] = str(value)
            options["azure_storage_account_name"] = key.removeprefix(_SAS_TOKEN).partition(".")[0]
        elif key.startswith(_SAS_EXPIRY):
            options["expires_at_millis"] = str(value)
    if str(config.get("s3.path-style-access", "")).lower() == "true":
        options["aws_virtual_hosted_style_request"] = "false"
    if options.get("aws_endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    return options
