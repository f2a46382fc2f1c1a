"""Answers of an Iceberg catalog in which everything exists, or nothing, for a small server to give."""

from dataclasses import dataclass, field

from small_server import Answer, Asked, Reply

LANCE = {
    "metadata-location": "/lake/t/metadata/1.json",
    "metadata": {
        "table-uuid": "6a2f7c2e-0000-4000-8000-000000000000",
        "location": "/lake/t",
        "properties": {"table_type": "lance"},
    },
}


def no_such(what: str) -> Reply:
    return Reply(404, {"error": {"type": f"NoSuch{what}Exception", "message": f"{what} does not exist", "code": 404}})


@dataclass
class Catalog:
    """Answers requests below `/v1` and a prefix of one segment; what it says and lists is the test's."""

    defaults: dict[str, str] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)
    exists: bool = True
    tables: list[str] = field(default_factory=list)

    def __call__(self, asked: Asked) -> Answer:
        parts = asked.target.partition("?")[0].split("/")[2:]
        if parts == ["config"]:
            return Reply(body={"defaults": self.defaults, "overrides": self.overrides})
        below = parts[parts.index("namespaces") + 1 :] if "namespaces" in parts[:2] else parts[1:]
        if below == ["tables", "rename"]:
            return Reply(204) if self.exists else no_such("Table")
        if not below:
            return Reply(body={"namespaces": [], **(asked.json if asked.method == "POST" else {})})
        if not self.exists:
            return no_such("Table" if len(below) > 2 else "Namespace")
        if asked.method in ("HEAD", "DELETE"):
            return Reply(204)
        if below[1:] == ["tables"] and asked.method == "GET":
            return Reply(body={"identifiers": [{"namespace": ["x"], "name": name} for name in self.tables]})
        if below[1:2] == ["tables"]:
            return Reply(body=LANCE)
        return Reply(body={"namespace": ["x"], "properties": {}, "updated": [], "removed": [], "missing": []})
