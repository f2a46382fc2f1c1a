"""How the conformance kit reaches Unity Catalog, and in what its servers differ: plain data, no import of the kit."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

RECORDS = "http"
ENDPOINT = "endpoint"
HASTY = {"read_timeout": 1, "max_retries": 1}
PROPERTIES = {"endpoint": "http://catalog.invalid", "catalog": "lance", "root": "{scratch}/lake"}
EXPECTATIONS = {"base": ["lance"], "max_depth": 1}
_TOO_LONG = "the server's database keeps 255 characters of a property; more are refused"
_DEVIATIONS = {"properties.large_value": _TOO_LONG, "properties.table_large_value": _TOO_LONG}
SERVERS = {
    "unity-0.6.0": {"starts": "unity", "deviations": _DEVIATIONS},
    "unity-0.4.1": {"starts": "unity", "scope": "dialect", "deviations": _DEVIATIONS},
    "unity-0.3.1": {"starts": "unity", "scope": "dialect", "deviations": _DEVIATIONS},
}


class UnityNative:
    """A client of Unity Catalog of a few plain calls, without our backend."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        import urllib3

        self._api = str(properties["endpoint"]).rstrip("/") + "/api/2.1/unity-catalog"
        self._root = str(properties["root"])
        self._pool = urllib3.PoolManager(timeout=60.0, retries=False)
        token = properties.get("auth_token")
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}

    def version(self) -> str:
        """Unity's API does not tell."""
        return ""

    def make_foreign(self, namespace: tuple[str, ...], prefix: str) -> dict[str, str]:
        """Tables of other formats, and what is marked as Lance but no external table where the server can have that."""
        kinds: dict[str, tuple[str, dict[str, Any]]] = {
            "csv": ("an external table of another format", {"data_source_format": "CSV"}),
            "text": ("an external table of text, without table_type", {}),
            "delta": ("an external table with table_type=delta", {"properties": {"table_type": "delta"}}),
        }
        for kind, (_, content) in kinds.items():
            self.make((*namespace, f"{prefix}_{kind}"), content)
        view = {
            "table_type": "VIEW",
            "view_definition": "select 1",
            "storage_location": None,
            "properties": {"table_type": "lance"},
        }
        if self.make((*namespace, f"{prefix}_view"), view, or_not=True):
            kinds["view"] = ("a view with table_type=lance", {})
        return {f"{prefix}_{kind}": what for kind, (what, _) in kinds.items()}

    def make_lance(self, id: tuple[str, ...], location: str, spelling: str) -> None:
        """An external table that is marked as Lance."""
        self.make(id, {"storage_location": Path(location).as_uri(), "properties": {"table_type": spelling}})

    def make(self, id: tuple[str, ...], content: Mapping[str, Any], *, or_not: bool = False) -> bool:
        """A table, external and without properties unless its content says otherwise; False if the server cannot."""
        catalog, schema, name = id
        body = {
            "name": name,
            "catalog_name": catalog,
            "schema_name": schema,
            "table_type": "EXTERNAL",
            "data_source_format": "TEXT",
            "columns": [],
            "storage_location": Path(self._root, "foreign", schema, name).as_uri(),
            **content,
        }
        if not or_not:
            self._made("/tables", body)
            return True
        return self.ask("POST", "/tables", body)[0] < 300

    def holds(self, id: tuple[str, ...]) -> bool:
        """Whether the server has the table."""
        return self.load(id) is not None

    def remove(self, id: tuple[str, ...]) -> None:
        """Delete the table."""
        self.ask("DELETE", f"/tables/{_full(id)}")

    def load(self, id: tuple[str, ...]) -> Any:
        """What the server says of a table, None when there is none."""
        return self._found("tables", id)

    def load_schema(self, id: tuple[str, ...]) -> Any:
        """What the server says of a schema, None when there is none."""
        return self._found("schemas", id)

    def make_schema(self, id: tuple[str, ...], storage_root: str | None = None) -> None:
        """A schema with a comment, and a place for managed tables if one is given."""
        catalog, schema = id
        body = {"name": schema, "catalog_name": catalog, "comment": "made by another client"}
        self._made("/schemas", body | ({"storage_root": storage_root} if storage_root else {}))

    def make_managed(self, id: tuple[str, ...]) -> str | None:
        """A managed table that is marked as Lance, in a new schema: where it lies, None if the server has none."""
        name, place = id[1], Path(self._root, "managed").as_uri()
        role = {"role_arn": "arn:aws:iam::000000000000:role/nobody"}
        self.ask("POST", "/credentials", {"name": name, "purpose": "STORAGE", "aws_iam_role": role})
        self.ask("POST", "/external-locations", {"name": name, "url": place, "credential_name": name})
        self.make_schema(id[:2], place)
        names = {"name": id[2], "catalog_name": id[0], "schema_name": id[1]}
        status, staged = self.ask("POST", "/staging-tables", names)
        if status != 200:
            return None
        content = {
            "table_type": "MANAGED",
            "data_source_format": "DELTA",
            "storage_location": staged["staging_location"],
            "properties": {"table_type": "lance", "io.unitycatalog.tableId": staged["id"]},
        }
        return str(staged["staging_location"]) if self.make(id, content, or_not=True) else None

    def remove_managed(self, id: tuple[str, ...]) -> None:
        """Delete a managed table, with its data, and what it needed."""
        self.remove(id)
        self.ask("DELETE", f"/external-locations/{_full((id[1],))}?force=true")
        self.ask("DELETE", f"/credentials/{_full((id[1],))}?force=true")

    def make_catalog(self, name: str) -> None:
        """A catalog."""
        self._made("/catalogs", {"name": name})

    def remove_catalog(self, name: str) -> None:
        """Delete a catalog with all that it holds."""
        self.ask("DELETE", f"/catalogs/{_full((name,))}?force=true")

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _made(self, path: str, body: Mapping[str, Any]) -> None:
        status, answer = self.ask("POST", path, body)
        if status >= 300:
            raise RuntimeError(f"making {body['name']}: {status} {answer!r}")

    def _found(self, collection: str, id: tuple[str, ...]) -> Any:
        status, answer = self.ask("GET", f"/{collection}/{_full(id)}")
        if status not in (200, 404):
            raise RuntimeError(f"{collection} {id}: {status} {answer!r}")
        return answer if status == 200 else None

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and body of an answer."""
        answer = self._pool.request(method, self._api + path, headers=self._headers, json=body)
        is_json = answer.data.lstrip()[:1] == b"{"
        return answer.status, answer.json() if is_json else answer.data.decode()


def _full(id: tuple[str, ...]) -> str:
    return ".".join(quote(level, safe="") for level in id)


def native(properties: Mapping[str, Any]) -> UnityNative:
    """A client of the catalog that is not ours."""
    return UnityNative(properties)
