"""Acme's key-value store, which knows nothing of Lance: strings to JSON, with an atomic insert."""

import json
import sqlite3
from contextlib import closing
from typing import Any


class Store:
    def __init__(self, file: str) -> None:
        self.file = file
        self._run("CREATE TABLE IF NOT EXISTS kv (key TEXT PRIMARY KEY, value TEXT)")

    def get(self, key: str) -> Any:
        found = self._run("SELECT value FROM kv WHERE key = ?", key)
        return json.loads(found[0]) if found else None

    def insert(self, key: str, value: Any) -> bool:
        sql = "INSERT INTO kv VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING key"
        return bool(self._run(sql, key, json.dumps(value)))

    def put(self, key: str, value: Any) -> None:
        self._run("INSERT OR REPLACE INTO kv VALUES (?, ?)", key, json.dumps(value))

    def delete(self, key: str) -> bool:
        return bool(self._run("DELETE FROM kv WHERE key = ? RETURNING key", key))

    def keys(self) -> list[str]:
        return self._run("SELECT key FROM kv")

    def _run(self, sql: str, *values: str) -> list[str]:
        with closing(sqlite3.connect(self.file, timeout=60)) as connection, connection:
            return [row[0] for row in connection.execute(sql, values)]
