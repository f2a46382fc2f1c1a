"""The Iceberg REST API and the generic tables of Polaris by urllib3 alone."""

import json
from typing import Any
from urllib.parse import urlencode


class Client:
    """The calls themselves, with nothing between."""

    LANCE_ONLY, MAKES_AT_ONCE = False, 8

    def __init__(self, settings: dict[str, Any]) -> None:
        import urllib3

        given = settings["properties"]
        self._pool = urllib3.connection_from_url(given["endpoint"], maxsize=16)
        self._headers = {"Content-Type": "application/x-www-form-urlencoded"}
        client, _, secret = given["credential"].partition(":")
        form = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": secret,
            "scope": "PRINCIPAL_ROLE:ALL",
        }
        token = self._sent("POST", "/api/catalog/v1/oauth/tokens", urlencode(form).encode())["access_token"]
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        config = self._call("GET", f"/api/catalog/v1/config?warehouse={settings['base'][0]}")
        prefix = {**config["defaults"], **config["overrides"]}["prefix"]
        self._namespaces = f"/api/catalog/v1/{prefix}/namespaces"
        self._path = f"/api/catalog/polaris/v1/{prefix}/namespaces"
        self._root = given["root"]
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        return self._sent(method, path, None if body is None else json.dumps(body).encode())

    def _sent(self, method: str, path: str, content: bytes | None) -> Any:
        answer = self._pool.urlopen(method, path, content, self._headers)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:300]!r}")
        return json.loads(answer.data) if answer.data else None

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._load(namespace, table)["base-location"]

    def _load(self, namespace: str, table: str) -> Any:
        return self._call("GET", f"{self._path}/{namespace}/generic-tables/{table}")["table"]

    def names(self, namespace: str) -> int:
        """The names of all tables, in one answer."""
        return len([each["name"] for each in self._listed(namespace)])

    def _listed(self, namespace: str) -> Any:
        return self._call("GET", f"{self._path}/{namespace}/generic-tables")["identifiers"]

    def count(self, namespace: str) -> int:
        """Load one table after the other, to see which are Lance tables."""
        return sum(self._is_lance(namespace, each["name"]) for each in self._listed(namespace))

    def count_side_by_side(self, namespace: str) -> int:
        """The same, 8 at a time."""
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(lambda each: self._is_lance(namespace, each["name"]), self._listed(namespace)))

    def _is_lance(self, namespace: str, table: str) -> bool:
        return bool(self._load(namespace, table)["format"].lower() == "lance")

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0:
            self.make_table(self._mixed, f"w{worker}", True)
        elif kind == 19:
            self._load(self._mixed, f"w{worker}")  # only a Lance table may be dropped
            self._call("DELETE", f"{self._path}/{self._mixed}/generic-tables/w{worker}")
        elif kind % 5 == 1:
            self._call("GET", f"{self._namespaces}/{self._mixed}")
        elif kind == 8:
            self._call("GET", self._namespaces)
        else:
            self._load(*self._table)

    def make_namespace(self, namespace: str) -> None:
        """Make a namespace."""
        self._call("POST", self._namespaces, {"namespace": [namespace], "properties": {}})

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:
        """Make a table."""
        body = {
            "name": table,
            "format": "lance" if is_lance else "delta",
            "base-location": f"{self._root}/{namespace}/{table}",
            "properties": {"table_type": "lance"} if is_lance else {},
        }
        self._call("POST", f"{self._path}/{namespace}/generic-tables", body)

    def clear(self, namespace: str) -> None:
        """Drop a namespace with all that it holds."""
        from concurrent.futures import ThreadPoolExecutor

        paths = [f"{self._path}/{namespace}/generic-tables/{each['name']}" for each in self._listed(namespace)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda path: self._call("DELETE", path), paths))
        self._call("DELETE", f"{self._namespaces}/{namespace}")
