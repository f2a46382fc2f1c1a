"""How the conformance kit reaches Iceberg REST servers, and in what they differ: plain data, no import of the kit."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

RECORDS = "http"
ENDPOINT = "endpoint"
HASTY = {"read_timeout": 500, "max_retries": 1}
PROPERTIES = {"endpoint": "http://catalog.invalid", "warehouse": "lance", "root": "{scratch}/lake"}
EXPECTATIONS = {"base": ["lance"], "drop_of_missing_succeeds": True}
_SMALL_VALUES = "the server's database keeps short values of namespace properties only, and fails for longer ones"
_OWN_LOCATIONS = "Nessie chooses the locations of tables itself"
_NAMES_AS_PATHS = "Nessie makes a location of the table's name, and fails where that is none"
SERVERS = {
    "reference-1.11.0": {
        "starts": "iceberg",
        "deviations": {"properties.large_value": _SMALL_VALUES, "properties.very_large_value": _SMALL_VALUES},
    },
    "reference-1.10.1": {
        "starts": "iceberg-1.10",
        "scope": "dialect",
        "deviations": {"properties.large_value": _SMALL_VALUES},
    },
    "nessie-0.99.0": {
        "starts": "nessie",
        "scope": "dialect",
        "properties": {"warehouse": "warehouse"},
        "expectations": {"base": ["warehouse"]},
        "deviations": {
            "foreign.data_of_others": _OWN_LOCATIONS,
            "foreign.made_by_others": _OWN_LOCATIONS,
            "identifiers.hostile_tables": _NAMES_AS_PATHS,
            "identifiers.locations_stay": _NAMES_AS_PATHS,
            "identifiers.longest_name": _NAMES_AS_PATHS,
            "registering.opens": _OWN_LOCATIONS,
            "renaming.keeps_properties": "Nessie keeps the id of its last commit among the properties",
            "tables.given_location": _OWN_LOCATIONS,
        },
    },
}


class IcebergNative:
    """An Iceberg REST client of a few plain calls, without our backend."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        import urllib3

        self._endpoint = str(properties["endpoint"]).rstrip("/")
        self._pool = urllib3.PoolManager(timeout=30.0, retries=False)
        token = properties.get("auth_token")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        config = self._call("GET", f"/v1/config?warehouse={quote(str(properties['warehouse']))}")
        settings = {**config.get("defaults", {}), **config.get("overrides", {})}
        self._base = f"/v1/{settings['prefix']}" if settings.get("prefix") else "/v1"
        self._separator: str = settings.get("namespace-separator", "%1F")

    def version(self) -> str:
        """Iceberg's API does not tell."""
        return ""

    def make_foreign(self, namespace: tuple[str, ...], prefix: str) -> dict[str, str]:
        """An ordinary Iceberg table, and one that says it is of another format."""
        kinds: dict[str, dict[str, str]] = {"plain": {}, "delta": {"table_type": "delta"}}
        for kind, properties in kinds.items():
            self._create((*namespace, f"{prefix}_{kind}"), None, properties)
        return {
            f"{prefix}_plain": "an Iceberg table without table_type",
            f"{prefix}_delta": "an Iceberg table with table_type=delta",
        }

    def make_lance(self, id: tuple[str, ...], location: str, spelling: str) -> None:
        """An Iceberg table that is marked as Lance."""
        self._create(id, location, {"table_type": spelling})

    def holds(self, id: tuple[str, ...]) -> bool:
        """Whether the server can load the table."""
        return self._status("HEAD", self._table(id)) in (200, 204)

    def remove(self, id: tuple[str, ...]) -> None:
        """Drop the table without purging."""
        self._status("DELETE", f"{self._table(id)}?purgeRequested=false")

    def load(self, id: tuple[str, ...]) -> Any:
        """What the server says of a table."""
        return self._call("GET", self._table(id))

    def load_namespace(self, id: tuple[str, ...]) -> Any:
        """What the server says of a namespace, None when there is none."""
        path = f"{self._base}/namespaces/{self._joined(id[1:])}"
        return self._call("GET", path) if self._status("HEAD", path) != 404 else None

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _create(self, id: tuple[str, ...], location: str | None, properties: Mapping[str, str]) -> None:
        field = {"id": 1, "name": "v", "type": "long", "required": False}
        body = {
            "name": id[-1],
            "schema": {"type": "struct", "schema-id": 0, "fields": [field]},
            "properties": dict(properties),
            "stage-create": False,
        }
        self._call("POST", self._table(id).rpartition("/")[0], body | ({"location": location} if location else {}))

    def _table(self, id: tuple[str, ...]) -> str:
        return f"{self._base}/namespaces/{self._joined(id[1:-1])}/tables/{quote(id[-1], safe='')}"

    def _joined(self, levels: tuple[str, ...]) -> str:
        return self._separator.join(quote(level, safe="") for level in levels)

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._pool.request(method, self._endpoint + path, headers=self._headers, json=body)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:300]!r}")
        return answer.json()

    def _status(self, method: str, path: str) -> int:
        return self._pool.request(method, self._endpoint + path, headers=self._headers).status


def native(properties: Mapping[str, Any]) -> IcebergNative:
    """A client of the catalog that is not ours."""
    return IcebergNative(properties)
