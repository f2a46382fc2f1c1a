"""Unity Catalog."""

from collections.abc import Mapping
from typing import Any

from benchmarks.backends.base import Adapter, Listing
from benchmarks.measure import at_most


class Unity(Adapter):
    """A listing tells what the tables are, in pages of at most 100."""

    backend = "unity"
    server = "unity"
    needs = ("UNITY_HOME", "UNITY_ENDPOINT")
    peer = "lance_namespace_impls.unity.UnityNamespace"
    listing = Listing(base="count", goal=at_most(1.3), against="the raw client", peer=("count", None))
    pages = True

    def base(self, properties: Mapping[str, Any]) -> list[str]:
        """The catalog."""
        return [properties["catalog"]]

    def peers(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """Its properties have a prefix."""
        names = ("endpoint", "root", "auth_token")
        return {f"unity.{name}": properties[name] for name in names if name in properties}
