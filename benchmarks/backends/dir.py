"""The embedded default, beside pylance's own directory namespace."""

from collections.abc import Mapping
from typing import Any

from benchmarks.backends.base import Adapter, Listing


class Dir(Adapter):
    """No server; the peer is the same namespace as lance-namespace hands it out."""

    backend = "dir"
    server = None
    peer = "dir"
    cold = None
    cold_note = "both load pylance, which is nearly all of it"
    listing = Listing(base="count", goal=None, against="the raw client", peer=("count", None))
    tables = 0  # the more there are, the longer each takes to make
    writes = False

    def given(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """As our backend opens it."""
        return {**properties, "dir_listing_enabled": "false"}

    def peers(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """As our backend opens it."""
        return self.given(properties)
