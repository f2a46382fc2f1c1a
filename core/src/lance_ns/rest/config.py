"""The properties that all backends on HTTP share."""

from collections.abc import Mapping

from lance_ns.config import REQUIRED, Secret, StorageProperties, prefixed, prop, properties


@properties
class RestProperties(StorageProperties):
    """Where the server is, and how to talk to it."""

    endpoint: str = prop(REQUIRED, "The server's URL, beginning with `http://` or `https://`")
    auth_token: Secret | None = prop(None, "A bearer token that is sent with every call")
    max_retries: int = prop(3, "How often a call that may be repeated safely is sent again", at_least=0)
    operation_timeout: float = prop(
        300.0, "How long one operation may take with all its calls and repetitions", unit="seconds", at_least=0
    )
    max_connections: int = prop(16, "How many connections are open at once; further calls wait for one", at_least=1)
    ca_bundle: str | None = prop(
        None, "A file of certificates to trust in the place of the system's own", shown="the system's"
    )
    client_certificate: str | None = prop(None, "A file with the certificate, and its chain, that we show the server")
    client_key: str | None = prop(None, "The file of that certificate's private key, where it is not in the same file")
    headers: Mapping[str, str] = prefixed("header.", "Headers sent with every call, e.g. `header.X-Tenant`")


@properties
class OAuthProperties(RestProperties):
    """How to get tokens by OAuth2 client credentials."""

    credential: Secret | None = prop(None, "The OAuth2 client credential, `client_id:client_secret`")
    scope: str | None = prop(None, "The scope asked for with `credential`", shown="the catalog's usual one")
    oauth2_server_uri: str | None = prop(None, "The URL that gives tokens for `credential`", shown="the catalog's own")
