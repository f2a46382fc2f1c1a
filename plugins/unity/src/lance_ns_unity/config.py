"""The properties of `unity`."""

import os

from lance_ns.config import REQUIRED, prop, properties
from lance_ns.rest.config import RestProperties

_SHORTEST = 0.001


@properties
class UnityConfig(RestProperties):
    """Where the catalog is, and where tables lie that name no location."""

    catalog: str = prop(REQUIRED, "The catalog that all identifiers begin with")
    api_path: str = prop("/api/2.1/unity-catalog", "The path of the API below the endpoint")
    connect_timeout: float = prop(10.0, "How long to wait for a connection", unit="seconds", at_least=_SHORTEST)
    read_timeout: float = prop(60.0, "How long to wait for an answer", unit="seconds", at_least=_SHORTEST)
    root: str = prop(
        os.getcwd,
        "Where tables lie for which no location is given: `{root}/{catalog}/{schema}/{table}`",
        shown="the current working directory",
        location=True,
    )
