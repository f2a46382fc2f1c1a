"""The properties of `polaris`."""

from lance_ns.config import prop, properties
from lance_ns.rest.config import OAuthProperties


@properties
class PolarisConfig(OAuthProperties):
    """Where the server is, and where tables lie that name no location."""

    scope: str | None = prop("PRINCIPAL_ROLE:ALL", "The scope asked for with `credential`")
    oauth2_server_uri: str | None = prop(
        None, "The URL that gives tokens for `credential`", shown="`{endpoint}/api/catalog/v1/oauth/tokens`"
    )
    realm: str | None = prop(
        None, "The realm of the server, sent as the header `Polaris-Realm`", shown="the server's default"
    )
    connect_timeout: int = prop(10000, "How long to wait for a connection", unit="milliseconds", at_least=1)
    read_timeout: int = prop(30000, "How long to wait for an answer", unit="milliseconds", at_least=1)
    root: str | None = prop(
        None,
        "Where tables lie for which no location is given: `{root}/{catalog}/{namespace}/{table}`",
        shown="the namespace's location, else the current working directory",
        location=True,
    )
    qualified_names: bool = prop(
        False, "Whether namespaces are listed with the catalog in front and dots between levels, e.g. `lake.ml.docs`"
    )
