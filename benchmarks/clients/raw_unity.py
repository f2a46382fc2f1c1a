"""The API of Unity Catalog by urllib3 alone."""

import json
from typing import Any

API = "/api/2.1/unity-catalog"


class Client:
    """The calls themselves, with nothing between."""

    LANCE_ONLY, MAKES_AT_ONCE = False, 8

    def __init__(self, settings: dict[str, Any]) -> None:
        import urllib3

        given = settings["properties"]
        self._pool = urllib3.connection_from_url(given["endpoint"], maxsize=16)
        self._headers = {"Content-Type": "application/json"}
        if "auth_token" in given:
            self._headers["Authorization"] = f"Bearer {given['auth_token']}"
        self._catalog = given["catalog"]
        self._root = given["root"]
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        answer = self._pool.urlopen(method, API + path, content, self._headers)
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:300]!r}")
        return json.loads(answer.data) if method != "DELETE" else None

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._load(namespace, table)["storage_location"]

    def _load(self, namespace: str, table: str) -> Any:
        return self._call("GET", f"/tables/{self._catalog}.{namespace}.{table}")

    def count(self, namespace: str) -> int:
        """Page after page: the listing tells which are Lance tables."""
        found, token = 0, ""
        while True:
            query = f"catalog_name={self._catalog}&schema_name={namespace}&max_results=100&omit_columns=true"
            page = self._call("GET", f"/tables?{query}{token}")
            found += sum(map(self._is_lance, page["tables"]))
            if not page.get("next_page_token"):
                return found
            token = f"&page_token={page['next_page_token']}"

    @staticmethod
    def _is_lance(entry: Any) -> bool:
        return bool(entry["properties"].get("table_type", "").lower() == "lance")

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0:
            self.make_table(self._mixed, f"w{worker}", True)
        elif kind == 19:
            self._load(self._mixed, f"w{worker}")  # only a Lance table may be dropped
            self._call("DELETE", f"/tables/{self._catalog}.{self._mixed}.w{worker}")
        elif kind % 5 == 1:
            self._call("GET", f"/schemas/{self._catalog}.{self._mixed}")
        elif kind == 8:
            self._call("GET", f"/schemas?catalog_name={self._catalog}&max_results=100")
        else:
            self._load(*self._table)

    def make_namespace(self, namespace: str) -> None:
        """Make a schema."""
        self._call("POST", "/schemas", {"name": namespace, "catalog_name": self._catalog})

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:
        """Make a table."""
        body = {
            "name": table,
            "catalog_name": self._catalog,
            "schema_name": namespace,
            "table_type": "EXTERNAL",
            "data_source_format": "TEXT",
            "columns": [],
            "storage_location": f"file://{self._root}/{namespace}/{table}",
            "properties": {"table_type": "lance"} if is_lance else {},
        }
        self._call("POST", "/tables", body)

    def clear(self, namespace: str) -> None:
        """Delete a schema with all that it holds."""
        self._call("DELETE", f"/schemas/{self._catalog}.{namespace}?force=true")
