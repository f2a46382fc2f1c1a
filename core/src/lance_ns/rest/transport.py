"""Connections: one pool for each server, with time-outs, TLS and proxies, which follows and repeats nothing itself."""

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import attrs

from lance_ns.config import Hidden, Secret
from lance_ns.errors import InvalidInput
from lance_ns.tls import Tls

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool, ProxyManager
    from urllib3.util import Url

_SCHEMES = {"http": 80, "https": 443}


def parsed(url: str, what: str = "endpoint") -> "Url":
    """A server's URL, checked.

    Raises:
        InvalidInput: it is not one, or holds what does not belong there.
    """
    from urllib3.exceptions import LocationParseError
    from urllib3.util import parse_url

    try:
        found = parse_url(url)
    except LocationParseError:
        found = None
    if found is None or found.scheme not in _SCHEMES or not found.host:
        raise InvalidInput(f"{what!r} must be a URL that begins with http:// or https://", hint=f"check {what!r}")
    if found.auth is not None:
        raise InvalidInput(f"{what!r} must not hold a user or password", hint="use the properties for credentials")
    if found.query is not None or found.fragment is not None:
        raise InvalidInput(f"{what!r} must end with its path, without ? and #")
    return found


def origin(url: "Url") -> tuple[str, str, int | None]:
    """What makes two URLs the same server."""
    scheme = url.scheme or "http"
    return scheme, (url.host or "").lower(), url.port or _SCHEMES.get(scheme)


@attrs.frozen
class Line:
    """The connections to a server, and what stands before a path in a request on them."""

    pool: "HTTPConnectionPool"
    before: str


def line_to(url: "Url", *, tls: Tls, connections: int) -> Line:
    """A pool of connections to a server, no more than so many, through the environment's proxy if it names one.

    Raises:
        InvalidInput: the certificates cannot be read, or the environment's proxy cannot be used.
    """
    from urllib3 import PoolManager

    settings: dict[str, Any] = {"maxsize": connections, "block": True, "retries": False}
    if url.scheme == "https":
        settings["ssl_context"] = tls.context()
    proxy = _proxy_for(url)
    manager = PoolManager(**settings) if proxy is None else _through(proxy, settings)
    if manager is None:
        raise InvalidInput(
            "the proxy that the environment names cannot be used", hint="its URL begins with http:// or https://"
        )
    forwarded = proxy is not None and url.scheme == "http"  # the proxy is asked for a URL, not for a path
    return Line(
        manager.connection_from_host(url.host, url.port, url.scheme), f"http://{url.netloc}" if forwarded else ""
    )


def _through(proxy: Secret, settings: dict[str, Any]) -> "ProxyManager | None":
    """The connections through a proxy, None if its URL is not one; no local variable holds its password."""
    from urllib3 import ProxyManager
    from urllib3.exceptions import HTTPError
    from urllib3.util import make_headers, parse_url

    try:
        headers = Hidden(make_headers(proxy_basic_auth=unquote(parse_url(proxy.reveal()).auth or "")))
        return ProxyManager(proxy.reveal(), proxy_headers=headers, **settings)
    except HTTPError:
        return None


def _proxy_for(url: "Url") -> Secret | None:
    """The proxy that the environment names for a server; its URL may hold a password."""
    from urllib.request import getproxies, proxy_bypass

    proxies = Hidden(getproxies())
    if not proxies or proxy_bypass(f"{url.host}:{url.port}" if url.port else str(url.host)):
        return None
    named = Secret(proxies.get(url.scheme or "") or proxies.get("all") or "")
    if not named.reveal():
        return None
    return named if "://" in named.reveal() else Secret(f"http://{named.reveal()}")
