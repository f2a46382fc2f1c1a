"""Polaris."""

from collections.abc import Mapping
from typing import Any

from benchmarks.backends.base import Adapter, Listing
from benchmarks.measure import at_least, at_most
from servers.kinds.polaris import CATALOG, token_of


class Polaris(Adapter):
    """A listing loads every table: the API gives names only."""

    backend = "polaris"
    server = "polaris"
    needs = ("POLARIS_HOME", "POLARIS_ENDPOINT")
    peer = "lance_namespace_impls.polaris.PolarisNamespace"
    cold_note = "the peer gets no token of its own, which is a call less: it is given one"
    listing = Listing(
        base="count_side_by_side",
        goal=at_most(1.2),
        against="the raw client, 8 loads side by side",
        others={"the raw client, one load after the other": "count"},
        peer=("count_described", at_least(2)),
        note="the peer lists generic tables of every format: each of them is described to tell Lance's",
    )

    def base(self, properties: Mapping[str, Any]) -> list[str]:  # noqa: ARG002
        """The catalog."""
        return [CATALOG]

    def peers(self, properties: Mapping[str, Any]) -> dict[str, Any]:
        """With a prefix, and with a token: it knows no OAuth."""
        client, _, secret = properties["credential"].partition(":")
        given = {"endpoint": properties["endpoint"], "root": properties["root"]}
        given["auth_token"] = token_of(properties["endpoint"], client, secret)
        return {f"polaris.{name}": value for name, value in given.items()}
