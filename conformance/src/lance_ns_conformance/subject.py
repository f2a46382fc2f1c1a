"""What is certified: a backend, how to reach it, and the few ways in which its catalog is known to differ."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from lance_ns import registry
from lance_ns.connection import connect
from lance_ns.errors import InvalidInput
from lance_ns.namespace import Namespace

GROUP = "lance_ns.conformance"
"""Entry points of plugins that bring their own: modules with PROPERTIES and EXPECTATIONS."""


@attrs.frozen(kw_only=True)
class Expectations:
    """The one table of differences: a common scenario may differ between backends by these alone.

    Attributes:
        base: the levels above the namespaces that scenarios make, such as the catalog.
        max_depth: how many levels of namespaces there may be below the base; None for any number.
        tables_at_base: whether tables may lie directly below the base.
        shared_names: whether a table and a namespace of one parent cannot have the same name.
        drop_of_missing_succeeds: whether dropping a missing namespace in mode Fail succeeds.
        folds_case: whether names come back in lower case.
        namespace_properties: whether namespaces keep properties.
        table_properties: whether tables keep properties.
        property_values: whether a property may be empty, and in any script.
    """

    base: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    max_depth: int | None = None
    tables_at_base: bool = False
    shared_names: bool = False
    drop_of_missing_succeeds: bool = False
    folds_case: bool = False
    namespace_properties: bool = True
    table_properties: bool = True
    property_values: bool = True


@attrs.frozen(kw_only=True)
class Subject:
    """A backend with its properties, in which `{scratch}` stands for a directory of the scenario's own."""

    backend: str
    properties: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    expectations: Expectations = attrs.field(factory=Expectations)

    def connect(self, scratch: Path) -> Namespace:
        """A new connection."""
        filled = {
            name: value.replace("{scratch}", str(scratch)) if isinstance(value, str) else value
            for name, value in self.properties.items()
        }
        return connect(self.backend, filled)


def subject_of(backend: str, properties: Mapping[str, Any]) -> Subject:
    """The subject of an installed backend: its plugin's own properties and expectations, overridden by what is given.

    Raises:
        InvalidInput: the plugin's expectations name something that the kit does not know.
    """
    found: Any = None
    if backend in registry.names(GROUP):
        found = registry.named_object(GROUP, backend)
    expected = dict(getattr(found, "EXPECTATIONS", {}))
    unknown = set(expected) - {field.name for field in attrs.fields(Expectations)}
    if unknown:
        raise InvalidInput(f"unknown expectations of {backend}: {', '.join(sorted(unknown))}")
    return Subject(
        backend=backend,
        properties={**getattr(found, "PROPERTIES", {}), **properties},
        expectations=Expectations(**expected),
    )
