"""Hive Metastore 3."""

from collections.abc import Mapping
from typing import Any

from benchmarks.backends.base import Adapter, Listing
from benchmarks.measure import at_least, at_most


class Hive3(Adapter):
    """A listing is filtered by the server, where it can."""

    backend = "hive3"
    server = "hive3"
    peer = "lance_namespace_impls.hive3.Hive3Namespace"
    listing = Listing(
        base="count_filtered",
        goal=at_most(3),
        against="the raw client, the server's own filter",
        peer=("count", at_least(50)),
    )

    threads_note = "client.pool-size=16, as many connections as the raw client has"

    def ours(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """As many connections as threads; the default is 3."""
        return {**properties, "client.pool-size": 16}

    def base(self, properties: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """The default catalog, the only one that the peer knows."""
        return ["hive"]
