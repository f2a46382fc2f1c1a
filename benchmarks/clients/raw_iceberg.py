"""The Iceberg REST API by urllib3 alone."""

import json
from typing import Any

SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [{"id": 1, "name": "dummy", "type": "string", "required": False}],
}


class Client:
    """The calls themselves, with nothing between."""

    LANCE_ONLY, MAKES_AT_ONCE = False, 8

    def __init__(self, settings: dict[str, Any]) -> None:
        import urllib3

        given = settings["properties"]
        self._pool = urllib3.connection_from_url(given["endpoint"], maxsize=16)
        config = self._call("GET", f"/v1/config?warehouse={given['warehouse']}")
        prefix = {**config["defaults"], **config["overrides"]}.get("prefix")
        self._path = f"/v1/{prefix}/namespaces" if prefix else "/v1/namespaces"
        self._root = given["root"]
        self._metadata: dict[bool, Any] = {}
        self._mixed = settings["mixed"]
        self._table = settings["table"]

    def _call(self, method: str, path: str, body: Any = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        answer = self._pool.urlopen(method, path, content, {"Content-Type": "application/json"})
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {answer.data[:300]!r}")
        return json.loads(answer.data) if answer.data else None

    def describe(self, namespace: str, table: str) -> Any:
        """Where a table is."""
        return self._load(namespace, table)["location"]

    def _load(self, namespace: str, table: str) -> Any:
        return self._call("GET", f"{self._path}/{namespace}/tables/{table}?snapshots=refs")["metadata"]

    def names(self, namespace: str) -> int:
        """The names of all tables, in one answer."""
        return len([each["name"] for each in self._call("GET", f"{self._path}/{namespace}/tables")["identifiers"]])

    def count(self, namespace: str) -> int:
        """Load one table after the other, to see which are Lance tables."""
        listed = self._call("GET", f"{self._path}/{namespace}/tables")["identifiers"]
        return sum(self._is_lance(namespace, each["name"]) for each in listed)

    def count_side_by_side(self, namespace: str) -> int:
        """The same, 8 at a time."""
        from concurrent.futures import ThreadPoolExecutor

        listed = self._call("GET", f"{self._path}/{namespace}/tables")["identifiers"]
        with ThreadPoolExecutor(8) as pool:
            return sum(pool.map(lambda each: self._is_lance(namespace, each["name"]), listed))

    def _is_lance(self, namespace: str, table: str) -> bool:
        return bool(self._load(namespace, table)["properties"].get("table_type", "").lower() == "lance")

    def step(self, worker: int, number: int) -> None:
        """One of the mixed operations."""
        kind = number % 20
        if kind == 0:
            self._create(self._mixed, f"w{worker}")
        elif kind == 19:
            self._load(self._mixed, f"w{worker}")  # only a Lance table may be dropped
            self._call("DELETE", f"{self._path}/{self._mixed}/tables/w{worker}?purgeRequested=false")
        elif kind % 5 == 1:
            self._call("GET", f"{self._path}/{self._mixed}")
        elif kind == 8:
            self._call("GET", self._path)
        else:
            self._load(*self._table)

    def make_namespace(self, namespace: str) -> None:
        """Make a namespace."""
        self._call("POST", self._path, {"namespace": [namespace], "properties": {}})
        if not self._metadata:
            self._metadata = {kind: self._create(namespace, f"a{kind}", kind) for kind in (True, False)}
            for kind in self._metadata:
                self._call("DELETE", f"{self._path}/{namespace}/tables/a{kind}?purgeRequested=false")

    def make_table(self, namespace: str, table: str, is_lance: bool) -> None:
        """Register a table with the metadata of another one: nothing is written, which is faster."""
        body = {"name": table, "metadata-location": self._metadata[is_lance]["metadata-location"]}
        self._call("POST", f"{self._path}/{namespace}/register", body)

    def _create(self, namespace: str, table: str, is_lance: bool = True) -> Any:
        body = {
            "name": table,
            "location": f"{self._root}/{namespace}/{table}",
            "schema": SCHEMA,
            "properties": {"table_type": "lance"} if is_lance else {},
            "stage-create": False,
        }
        return self._call("POST", f"{self._path}/{namespace}/tables", body)
