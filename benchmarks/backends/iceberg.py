"""Iceberg REST, on the reference server."""

from collections.abc import Mapping
from typing import Any

from benchmarks.backends.base import Adapter, Listing
from benchmarks.measure import at_least, at_most


class Iceberg(Adapter):
    """A listing loads every table: the API gives names only."""

    backend = "iceberg"
    server = "iceberg"
    peer = "lance_namespace_impls.iceberg.IcebergNamespace"
    listing = Listing(
        base="count_side_by_side",
        goal=at_most(1.2),
        against="the raw client, 8 loads side by side",
        others={"the raw client, one load after the other": "count"},
        peer=("count", at_least(2)),
    )
    cold_note = (
        "the peer cannot reach this server with an ordinary warehouse name; it is given the warehouse `.`, which its "
        "HTTP library takes out of the path"
    )

    def base(self, properties: Mapping[str, Any]) -> list[str]:
        """The warehouse."""
        return [properties["warehouse"]]

    def peers_base(self, properties: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """A name that vanishes: with any other the server answers 400."""
        return ["."]
