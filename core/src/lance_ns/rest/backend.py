"""The base of a backend on HTTP: every operation with a deadline and an identity of its own."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from lance_ns import models as m
from lance_ns.errors import InvalidInput, Unauthenticated
from lance_ns.hookspecs import hookimpl
from lance_ns.rest.client import RestClient, Settings
from lance_ns.rest.config import OAuthProperties, RestProperties
from lance_ns.rest.dialect import Dialect, Kinds, iceberg_error
from lance_ns.rest.tokens import ClientCredentials, Fixed, TokenSource
from lance_ns.rest.transport import Tls
from lance_ns.rules import NamespaceRules

B = TypeVar("B", bound="RestNamespace")
Q = TypeVar("Q", bound=m.Request[Any])
R = TypeVar("R")

_REFUSALS: Kinds = {
    "invalid_client": Unauthenticated,
    "unauthorized_client": Unauthenticated,
    "invalid_scope": InvalidInput,
}
"""What a token server says of credentials, by OAuth2's own names."""


def operation(method: Callable[[B, Q], R]) -> Callable[[B, Q], R]:
    """A hook whose calls share one deadline and the identity of the request."""

    @wraps(method)
    def within(self: B, request: Q) -> R:
        with self.client.operation(request):
            return method(self, request)

    return hookimpl(within)


def client_of(
    config: RestProperties, dialect: Dialect, *, connect_seconds: float, read_seconds: float, **oauth: str
) -> RestClient:
    """The client that a backend's properties describe; `token_path` and `scope` are what OAuth2 uses unless told."""
    settings = Settings(
        connect_seconds=connect_seconds,
        read_seconds=read_seconds,
        operation_seconds=config.operation_timeout,
        retries=config.max_retries,
        connections=config.max_connections,
        tls=Tls(ca_bundle=config.ca_bundle, client_certificate=config.client_certificate, client_key=config.client_key),
        headers=config.headers,
    )
    return RestClient(config.endpoint, dialect, settings, _tokens(config, settings, **oauth))


def _tokens(config: RestProperties, settings: Settings, token_path: str = "", scope: str = "") -> TokenSource:
    """Who asks: a token that was given wins over a credential."""
    if config.auth_token is not None or not isinstance(config, OAuthProperties) or config.credential is None:
        return Fixed(config.auth_token)
    url = config.oauth2_server_uri or config.endpoint.rstrip("/") + token_path
    server = RestClient(url, Dialect(read=iceberg_error, kinds=_REFUSALS), settings)
    return ClientCredentials(
        config.credential, lambda form: server.call("POST", "", form=form).body, config.scope or scope
    )


class RestNamespace(NamespaceRules):
    """Namespaces over a client; the rules of creating, describing and dropping them are the common ones."""

    client: RestClient

    def close(self) -> None:
        """Close the connections."""
        self.client.close()

    @operation
    def create_namespace(self, request: m.CreateNamespaceRequest) -> m.CreateNamespaceResponse:
        """Create a namespace as the mode says."""
        return super().create_namespace(request)

    @operation
    def describe_namespace(self, request: m.DescribeNamespaceRequest) -> m.DescribeNamespaceResponse:
        """The properties of a namespace."""
        return super().describe_namespace(request)

    @operation
    def drop_namespace(self, request: m.DropNamespaceRequest) -> m.DropNamespaceResponse:
        """Drop a namespace as mode and behavior say."""
        return super().drop_namespace(request)
