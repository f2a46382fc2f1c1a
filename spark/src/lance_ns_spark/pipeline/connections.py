"""The catalogs that a pipeline's steps name, connected while the pipeline runs."""

import os
import re
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Self

import lance_ns
from lance_ns.config import Hidden
from lance_ns.errors import InvalidInput
from lance_ns.namespace import Namespace
from lance_ns_spark import patterns
from lance_ns_spark.pipeline.schema import Catalog, OneTable, Tables, Value
from lance_ns_spark.tables import Table

_REFERENCE = re.compile(r"\$\{([^}]+)\}")


class Connections:
    """Opens each catalog once, and closes them all in the end."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._open: list[tuple[Catalog, Namespace]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def namespace(self, catalog: Catalog) -> Namespace:
        """The connection to a catalog."""
        wanted = Catalog(
            profile=catalog.profile,
            backend=catalog.backend,
            properties=catalog.properties,
            delimiter=catalog.delimiter,
        )
        for known, ns in self._open:
            if known == wanted:
                return ns
        ns = self._stack.enter_context(
            lance_ns.connect(wanted.backend, wanted.properties, profile=wanted.profile, delimiter=wanted.delimiter)
        )
        self._open.append((wanted, ns))
        return ns

    def table(self, named: OneTable) -> Table:
        """A table, whether it exists or not."""
        return Table.within(self.namespace(named), named.table, called=named.profile)

    def tables(self, named: Tables) -> list[Table]:
        """The tables that patterns lead to."""
        ns = self.namespace(named)
        return [
            Table.within(ns, id, called=named.profile)
            for id in patterns.tables(ns, named.tables, exclude=named.exclude)
        ]


def from_environment(options: Mapping[str, Value]) -> dict[str, str]:
    """Options with `${NAME}` replaced by the environment's value; they may be secrets now, and show their names only.

    Raises:
        InvalidInput: a variable is not set.
    """

    def value_of(match: "re.Match[str]") -> str:
        if match[1] not in os.environ:
            raise InvalidInput(f"${{{match[1]}}} is not set", hint="set this variable of the environment")
        return os.environ[match[1]]

    return Hidden({name: _REFERENCE.sub(value_of, _text(value)) for name, value in options.items()})


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
