"""The properties of `glue`."""

from lance_ns.config import Secret, StorageProperties, prop, properties
from lance_ns.errors import InvalidInput


@properties
class GlueConfig(StorageProperties):
    """Which catalog, who asks, and where tables lie that name no location."""

    catalog_id: str | None = prop(None, "The catalog, by the id of the account that owns it", shown="the caller's own")
    endpoint: str | None = prop(None, "The URL of a service with Glue's interface", shown="Glue of the region")
    region: str | None = prop(None, "The AWS region of all calls", shown="where AWS clients look")
    access_key_id: str | None = prop(None, "The key of static credentials", shown="where AWS clients look")
    secret_access_key: Secret | None = prop(None, "The secret of that key")
    session_token: Secret | None = prop(None, "The session token beside them, for temporary credentials")
    profile: str | None = prop(None, "The profile of the AWS configuration files that credentials and region come from")
    role_arn: str | None = prop(None, "A role to assume with those credentials; it is assumed again before it expires")
    external_id: str | None = prop(None, "The external id that the role asks for")
    role_session_name: str = prop("lance-ns", "The name of the role's session, which the catalog's owner sees")
    sts_endpoint: str | None = prop(
        None, "The URL of the service that gives out the role's credentials", shown="STS of the region"
    )
    root: str | None = prop(
        None,
        "Where tables lie for which no location is given: `{root}/{database}/{table}`",
        shown="the database's location, else the current working directory",
        location=True,
    )
    storage_credentials: bool = prop(
        False, "Whether tables are opened with this connection's own credentials, where `storage.*` holds none"
    )
    connect_timeout: float = prop(10.0, "How long to wait for a connection", unit="seconds", at_least=1)
    read_timeout: float = prop(30.0, "How long to wait for an answer", unit="seconds", at_least=1)
    max_retries: int = prop(3, "How often a call is sent again that failed in passing", at_least=0)
    max_connections: int = prop(16, "How many connections are kept open for later calls", at_least=1)
    creation_mark: str | None = prop(
        None, "What the entries of new tables are marked with, for requests that can be compared", shown="random ones"
    )


def refuse_contradictions(config: GlueConfig) -> None:
    """Raise InvalidInput where properties do not go together, before anything is sent."""
    for name, url in (("endpoint", config.endpoint), ("sts_endpoint", config.sts_endpoint)):
        scheme, _, host = (url or "https://aws").partition("://")
        if scheme not in ("http", "https") or not host:
            raise InvalidInput(f"property {name!r} must be a URL of http or https")
    if (config.access_key_id is None) != (config.secret_access_key is None):
        raise InvalidInput(
            "static credentials are a key and its secret, and only one of them is given",
            hint="give both of access_key_id and secret_access_key, or none",
        )
    if config.session_token is not None and config.access_key_id is None:
        raise InvalidInput("a session token needs its key", hint="give access_key_id and secret_access_key too")
    if config.profile is not None and config.access_key_id is not None:
        raise InvalidInput("credentials come from a profile or are given, not both", hint="leave one of them out")
    if config.role_arn is None and (config.external_id is not None or config.sts_endpoint is not None):
        raise InvalidInput("external_id and sts_endpoint belong to a role", hint="give role_arn too")
