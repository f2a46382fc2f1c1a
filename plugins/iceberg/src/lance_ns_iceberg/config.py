"""The properties of `iceberg`."""

import os

from lance_ns.config import prop, properties
from lance_ns.rest.config import OAuthProperties


@properties
class IcebergConfig(OAuthProperties):
    """Where the catalog is, and where tables lie that name no location."""

    warehouse: str | None = prop(None, "The warehouse that listing the root gives; identifiers begin with theirs")
    prefix: str | None = prop(
        None, "The segment that the server wants in its paths, as it stands in a URL", shown="what the server says"
    )
    connect_timeout: int = prop(10000, "How long to wait for a connection", unit="milliseconds", at_least=1)
    read_timeout: int = prop(30000, "How long to wait for an answer", unit="milliseconds", at_least=1)
    root: str = prop(
        os.getcwd,
        "Where tables lie for which no location is given: `{root}/{warehouse}/{namespace}/{table}`",
        shown="the current working directory",
        location=True,
    )
