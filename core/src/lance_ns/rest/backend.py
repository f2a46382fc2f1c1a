"""The base of a backend on HTTP: every operation with a deadline and an identity of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import attrs

from lance_ns import models as m
from lance_ns.config import Hidden
from lance_ns.errors import InvalidInput, Unauthenticated
from lance_ns.rest.client import RestClient, Settings
from lance_ns.rest.config import OAuthProperties, RestProperties
from lance_ns.rest.dialect import Dialect, Kinds, iceberg_error
from lance_ns.rest.tokens import ClientCredentials, Fixed, TokenSource
from lance_ns.rest.transport import origin, parsed
from lance_ns.rules import NamespaceRules, operation
from lance_ns.tls import Tls

__all__ = ["RestNamespace", "client_of", "operation"]

_REFUSALS: Kinds = {
    "invalid_client": Unauthenticated,
    "unauthorized_client": Unauthenticated,
    "invalid_scope": InvalidInput,
}
"""What a token server says of credentials, by OAuth2's own names."""


def client_of(
    config: RestProperties,
    dialect: Dialect,
    *,
    connect_seconds: float,
    read_seconds: float,
    headers: Mapping[str, str] | None = None,
    **oauth: str,
) -> RestClient:
    """The client that a backend's properties describe, with further headers.

    `token_path` and `scope` are what OAuth2 uses unless told.
    """
    settings = Settings(
        connect_seconds=connect_seconds,
        read_seconds=read_seconds,
        operation_seconds=config.operation_timeout,
        retries=config.max_retries,
        connections=config.max_connections,
        tls=Tls(ca_bundle=config.ca_bundle, client_certificate=config.client_certificate, client_key=config.client_key),
        headers=Hidden({**config.headers, **(headers or {})}),
    )
    return RestClient(config.endpoint, dialect, settings, _tokens(config, settings, dialect.kinds, **oauth))


def _tokens(
    config: RestProperties, settings: Settings, kinds: Kinds, token_path: str = "", scope: str = ""
) -> TokenSource:
    """Who asks: a token that was given wins over a credential."""
    if config.auth_token is not None or not isinstance(config, OAuthProperties) or config.credential is None:
        return Fixed(config.auth_token)
    url = config.oauth2_server_uri or config.endpoint.rstrip("/") + token_path
    if origin(parsed(config.endpoint)) != origin(parsed(url, "oauth2_server_uri")):
        settings = attrs.evolve(settings, headers={})  # they are meant for the catalog
    server = RestClient(
        url, Dialect(read=iceberg_error, kinds={**kinds, **_REFUSALS}), settings, what="oauth2_server_uri"
    )
    return ClientCredentials(
        config.credential,
        config.scope or scope,
        lambda form: server.call("POST", "", form=form, repeatable=True).body,
        server.close,
    )


class RestNamespace(NamespaceRules):
    """Namespaces over a client; the rules of creating, describing and dropping them are the common ones."""

    client: RestClient

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    def within(self, request: m.Request[Any]) -> AbstractContextManager[None]:
        """One deadline for all calls of an operation, and the identity of its request."""
        return self.client.operation(request)
