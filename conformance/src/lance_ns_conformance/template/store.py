"""The catalog: namespaces and tables in one SQLite file. Put the client of yours in its place.

It knows nothing of lance-ns and has errors of its own. A connection lives for one call, so threads, processes and
forked children can all use one store; SQLite decides who is first.
"""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

Id = Sequence[str]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS namespace (
    id TEXT PRIMARY KEY,
    parent TEXT REFERENCES namespace (id),
    name TEXT,
    properties TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS lance_table (
    id TEXT PRIMARY KEY,
    parent TEXT NOT NULL REFERENCES namespace (id),
    name TEXT NOT NULL,
    location TEXT NOT NULL,
    properties TEXT NOT NULL
);
INSERT OR IGNORE INTO namespace VALUES ('[]', NULL, NULL, '{}');
"""
_WAIT = 60  # seconds, while others write


class Taken(Exception):
    """There is an entry of that name."""


class NoParent(Exception):
    """The namespace that it should lie in is missing."""


class NotEmpty(Exception):
    """Something still lies below."""


class Unavailable(Exception):
    """The file cannot be read or written."""


class Store:
    """The entries of one file, by their levels."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._made = False

    def add_namespace(self, id: Id, properties: Mapping[str, str]) -> None:
        """Make a namespace, or raise Taken, or NoParent."""
        sql = "INSERT INTO namespace VALUES (?, ?, ?, ?)"
        self._run(sql, _key(id), _key(id[:-1]), id[-1] if id else None, json.dumps(dict(properties)))

    def namespace(self, id: Id) -> dict[str, str] | None:
        """The properties of a namespace, None when there is none."""
        found = self._run("SELECT properties FROM namespace WHERE id = ?", _key(id))
        return json.loads(found[0][0]) if found else None

    def set_properties(self, id: Id, properties: Mapping[str, str]) -> None:
        """Put properties in the place of those that a namespace has."""
        self._run("UPDATE namespace SET properties = ? WHERE id = ?", json.dumps(dict(properties)), _key(id))

    def remove_namespace(self, id: Id) -> None:
        """Remove a namespace, or raise NotEmpty."""
        self._run("DELETE FROM namespace WHERE id = ?", _key(id))

    def namespaces(self, id: Id) -> list[str]:
        """The names of the namespaces below."""
        return [name for (name,) in self._run("SELECT name FROM namespace WHERE parent = ?", _key(id))]

    def add_table(self, id: Id, location: str, properties: Mapping[str, str]) -> None:
        """Enter a table, or raise Taken, or NoParent."""
        sql = "INSERT INTO lance_table VALUES (?, ?, ?, ?, ?)"
        self._run(sql, _key(id), _key(id[:-1]), id[-1], location, json.dumps(dict(properties)))

    def table(self, id: Id) -> tuple[str, dict[str, str]] | None:
        """The location and the properties of a table, None when there is none."""
        return _entry(self._run("SELECT location, properties FROM lance_table WHERE id = ?", _key(id)))

    def remove_table(self, id: Id) -> tuple[str, dict[str, str]] | None:
        """Take a table out, and give what it was; None when there was none."""
        return _entry(self._run("DELETE FROM lance_table WHERE id = ? RETURNING location, properties", _key(id)))

    def tables(self, id: Id) -> list[str]:
        """The names of the tables directly below."""
        return [name for (name,) in self._run("SELECT name FROM lance_table WHERE parent = ?", _key(id))]

    def _run(self, sql: str, *values: str | None) -> list[Any]:
        try:
            with closing(sqlite3.connect(self._file, timeout=_WAIT)) as connection, connection:
                connection.execute("PRAGMA foreign_keys = ON")
                if not self._made:
                    connection.executescript(_SCHEMA)
                    self._made = True
                return connection.execute(sql, values).fetchall()
        except sqlite3.IntegrityError as error:
            if "FOREIGN KEY" not in str(error):
                raise Taken(str(error)) from error
            raise (NotEmpty if sql.startswith("DELETE") else NoParent)(str(error)) from error
        except sqlite3.Error as error:
            raise Unavailable(f"{self._file}: {error}") from error


def _key(id: Id) -> str:
    return json.dumps(list(id))


def _entry(rows: list[Any]) -> tuple[str, dict[str, str]] | None:
    return (rows[0][0], json.loads(rows[0][1])) if rows else None
