"""Options of the data source: which table, what of it, how it is written. No secret may be among them.

Spark shows options in plans and on its pages, and lower-cases their names. Whatever is not an option of the data
source is a property of the backend; one that is a secret is refused, for a profile is the place for it.
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs

from lance_ns import registry
from lance_ns.config import Redactor, describe, holds_credentials
from lance_ns.errors import InvalidInput
from lance_ns_spark import scans
from lance_ns_spark.scans import Scan
from lance_ns_spark.tables import Table

DESCRIBED = {
    "table": "The table's identifier, such as `ml$docs`; also what `load` and `save` are given",
    "profile": "The profile of the catalog",
    "backend": "The backend of the catalog, where no profile names it",
    "delimiter": "What separates the levels of the identifier; `$` without it",
    "columns": "Columns to read: a JSON list of names, names separated by commas, or a JSON object of names and SQL",
    "filter": "A condition in SQL on the rows to read",
    "version": "The version to read",
    "tag": "The tag to read",
    "limit": "The most rows to read",
    "batch_rows": "How many rows come to Spark at once",
    "nearest": 'A vector search as JSON: `{"column": "v", "q": [0.1, 0.2], "k": 10}`',
    "full_text": "Words to search for, or a query as JSON",
    "tasks": "About how many tasks read",
    "vectors": 'The lengths of columns that become vectors in a new table, as JSON: `{"v": 768}`',
    "evolve": "`true` adds the columns that the table lacks",
    "job": "The id of the job that writes; one that has written before writes nothing",
    "starting": "Where a new stream starts: `earliest`, `latest`, or the version after which it does",
    "skip_changes": "`true` lets a stream pass over overwrites, updates and deletions, rather than fail",
}
"""Every option of the data source, and what it says."""
_OF_SPARK = {"path", "checkpointlocation", "queryname"}


@attrs.frozen(repr=False)
class Options:
    """The options of one use of the data source."""

    values: Mapping[str, str]
    properties: Mapping[str, str]

    def table(self) -> Table:
        """The table that they name.

        Raises:
            InvalidInput: they name none, or hold a secret.
        """
        id = self.values.get("table") or self.values.get("path")
        if not id:
            raise InvalidInput("the data source is told no table", hint='.option("table", "ml$docs")')
        return Table.of(
            id,
            profile=self.values.get("profile"),
            backend=self.values.get("backend"),
            properties=self.properties,
            delimiter=self.values.get("delimiter", "$"),
        )

    def scan(self, version: int | None = None) -> Scan:
        """What they say is to be read."""
        columns = self.values.get("columns")
        found = None if columns is None else scans.parsed(columns)
        if isinstance(found, str):
            found = [name.strip() for name in found.split(",")]
        if "version" in self.values and "tag" in self.values:
            raise InvalidInput("version and tag are two versions", hint="leave one out")
        full_text = self.values.get("full_text")
        return scans.of(
            self.table(),
            columns=found,
            filter=self.values.get("filter"),
            version=version if version is not None else self.number("version") or self.values.get("tag"),
            limit=self.number("limit"),
            batch_rows=self.number("batch_rows"),
            nearest=self.document("nearest"),
            full_text=None if full_text is None else scans.parsed(full_text),
        )

    def number(self, name: str) -> int | None:
        """A whole number, or None where the option is not given."""
        if name not in self.values:
            return None
        try:
            return int(self.values[name])
        except ValueError:
            raise InvalidInput(f"option {name} is a whole number, not {self.values[name]!r}") from None

    def flag(self, name: str) -> bool:
        """Whether an option is `true`."""
        text = self.values.get(name, "false").lower()
        if text not in ("true", "false"):
            raise InvalidInput(f"option {name} is true or false, not {self.values[name]!r}")
        return text == "true"

    def document(self, name: str) -> dict[str, Any] | None:
        """A JSON object, or None where the option is not given."""
        if name not in self.values:
            return None
        try:
            found = json.loads(self.values[name])
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise InvalidInput(f"option {name} is a JSON object, not {self.values[name]!r}")
        return found

    def vectors(self) -> dict[str, int] | None:
        """The lengths of columns that become vectors."""
        return self.document("vectors")

    def __repr__(self) -> str:
        return f"Options({', '.join([*self.values, *self.properties])})"


def parsed(given: Mapping[str, str]) -> Options:
    """Options as Spark hands them over.

    Raises:
        InvalidInput: one of them is a secret.
    """
    named = {key.lower(): value for key, value in given.items()}
    values = {key: value for key, value in named.items() if key in DESCRIBED or key in _OF_SPARK}
    properties = {key: value for key, value in named.items() if key not in values}
    _refuse_secrets(values.get("backend"), properties)
    return Options(values, properties)


def _refuse_secrets(backend: str | None, properties: Mapping[str, str]) -> None:
    secret = _secrets_of(backend)
    hides = Redactor([])
    for name, value in properties.items():
        if name.replace("-", "_") in secret or holds_credentials({name: ""}) or hides(value) != value:
            raise InvalidInput(
                f"option {name} holds a secret, and Spark shows options to whoever sees its pages",
                hint='put it into a profile, and name that: .option("profile", "prod")',
            )


def _secrets_of(backend: str | None) -> set[str]:
    """The names of a backend's properties that are secrets; of a profile's, by their names alone."""
    if backend is None:
        return set()
    found = registry.find(backend)
    infos = describe(registry.part(found, found.config))
    return {info.name.replace("-", "_") for info in infos if info.secret and not info.name.endswith("*")}
