"""How the conformance kit reaches Polaris, and in what it differs: plain data, no import of the kit."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

RECORDS = "http"
ENDPOINT = "endpoint"
HASTY = {"read_timeout": 1000, "max_retries": 1}
PROPERTIES = {"endpoint": "http://catalog.invalid", "credential": "root:secret", "root": "{scratch}/lake"}
EXPECTATIONS = {"base": ["lance"]}
SERVERS = {"polaris-1.4.1": {"starts": "polaris"}}

Levels = tuple[str, ...]

_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "v", "type": "long", "required": False}],
}


class PolarisNative:
    """A client of a few plain calls, without our backend."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        import urllib3

        self._endpoint = str(properties["endpoint"]).rstrip("/")
        self._pool = urllib3.PoolManager(timeout=30.0, retries=False)
        self._headers = {"Authorization": f"Bearer {self._token(str(properties['credential']))}"}

    def version(self) -> str:
        """Polaris' API does not tell."""
        return ""

    def make_foreign(self, namespace: Levels, prefix: str) -> dict[str, str]:
        """A generic table of another format, and an Iceberg table."""
        self.make_generic((*namespace, f"{prefix}_delta"), format="delta")
        self.call("POST", self._tables(namespace), {"name": f"{prefix}_iceberg", "schema": _SCHEMA})
        return {f"{prefix}_delta": "a generic table of format delta", f"{prefix}_iceberg": "an Iceberg table"}

    def make_lance(self, id: Levels, location: str, spelling: str) -> None:
        """A generic table of format lance, without any property."""
        self.make_generic(id, format=spelling, **{"base-location": location})

    def make_generic(self, id: Levels, **fields: Any) -> None:
        """A generic table of these fields."""
        self.call("POST", self._generic(id[:-1]), {"name": id[-1], **fields})

    def holds(self, id: Levels) -> bool:
        """Whether the server can load the table, be it generic or of Iceberg."""
        paths = (self._generic(id[:-1]), self._tables(id[:-1]))
        return any(self._status("GET", f"{path}/{quote(id[-1], safe='')}") == 200 for path in paths)

    def remove(self, id: Levels) -> None:
        """Drop the table, whatever it is."""
        for path in (self._generic(id[:-1]), self._tables(id[:-1])):
            self._status("DELETE", f"{path}/{quote(id[-1], safe='')}")

    def load(self, id: Levels) -> Any:
        """What the server says of a generic table."""
        return self.call("GET", f"{self._generic(id[:-1])}/{quote(id[-1], safe='')}")["table"]

    def load_namespace(self, id: Levels) -> Any:
        """What the server says of a namespace."""
        return self.call("GET", f"{self._namespaces(id[0])}/{_joined(id[1:])}")

    @contextmanager
    def catalog(self, name: str) -> Generator[None]:
        """A further catalog, for as long as it is used; it must be left empty, and nothing is ever written there."""
        files = f"file:///nowhere/{name}"
        catalog = {
            "name": name,
            "type": "INTERNAL",
            "properties": {"default-base-location": files},
            "storageConfigInfo": {"storageType": "FILE", "allowedLocations": [files]},
        }
        self.call("POST", "/api/management/v1/catalogs", {"catalog": catalog})
        try:
            yield
        finally:
            self.call("DELETE", f"/api/management/v1/catalogs/{quote(name, safe='')}")

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to a call that must succeed."""
        answer = self._pool.request(method, self._endpoint + path, headers=self._headers, json=body)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:300]!r}")
        return answer.json() if answer.data else None

    def _status(self, method: str, path: str) -> int:
        return self._pool.request(method, self._endpoint + path, headers=self._headers).status

    def _token(self, credential: str) -> str:
        client, _, secret = credential.partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": "PRINCIPAL_ROLE:ALL",
        }
        url = f"{self._endpoint}/api/catalog/v1/oauth/tokens"
        return str(self._pool.request("POST", url, fields=form, encode_multipart=False).json()["access_token"])

    @staticmethod
    def _namespaces(catalog: str) -> str:
        return f"/api/catalog/v1/{quote(catalog, safe='')}/namespaces"

    def _tables(self, namespace: Levels) -> str:
        return f"{self._namespaces(namespace[0])}/{_joined(namespace[1:])}/tables"

    @staticmethod
    def _generic(namespace: Levels) -> str:
        catalog = quote(namespace[0], safe="")
        return f"/api/catalog/polaris/v1/{catalog}/namespaces/{_joined(namespace[1:])}/generic-tables"


def _joined(levels: Levels) -> str:
    return "%1F".join(quote(level, safe="") for level in levels)


def native(properties: Mapping[str, Any]) -> PolarisNative:
    """A client of the catalog that is not ours."""
    return PolarisNative(properties)
