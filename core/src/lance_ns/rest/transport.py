"""Connections: one pool for each server, with time-outs, TLS and proxies, which follows and repeats nothing itself."""

from typing import TYPE_CHECKING

import attrs

from lance_ns.errors import InvalidInput

if TYPE_CHECKING:
    import ssl

    from urllib3 import HTTPConnectionPool
    from urllib3.util import Url

_SCHEMES = {"http": 80, "https": 443}


@attrs.frozen(kw_only=True)
class Tls:
    """Whom we trust, and who we are."""

    ca_bundle: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None


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
    if found.auth:
        raise InvalidInput(f"{what!r} must not hold a user or password", hint="use the properties for credentials")
    if found.query or found.fragment:
        raise InvalidInput(f"{what!r} must end with its path, without ? and #")
    return found


def origin(url: "Url") -> tuple[str, str, int]:
    """What makes two URLs the same server."""
    scheme = url.scheme or "http"
    return scheme, (url.host or "").lower(), url.port or _SCHEMES[scheme]


def pool_of(url: "Url", *, tls: Tls, connections: int) -> "HTTPConnectionPool":
    """The pool of connections to a server, through the environment's proxy if it names one."""
    from urllib3 import PoolManager, ProxyManager

    settings = {
        "maxsize": connections,
        "retries": False,
        "ssl_context": _context(tls) if url.scheme == "https" else None,
    }
    proxy = _proxy_for(url)
    manager = ProxyManager(proxy, **settings) if proxy else PoolManager(**settings)  # type: ignore[arg-type]
    return manager.connection_from_host(url.host, url.port, url.scheme)


def _context(tls: Tls) -> "ssl.SSLContext":
    """The system's certificates unless others are named; the server's name is always checked."""
    import ssl

    try:
        context = ssl.create_default_context(cafile=tls.ca_bundle)
        if tls.client_certificate:
            context.load_cert_chain(tls.client_certificate, tls.client_key)
    except OSError as error:
        raise InvalidInput(
            f"the certificates cannot be read: {error}", hint="check 'ca_bundle', 'client_certificate' and 'client_key'"
        ) from error
    return context


def _proxy_for(url: "Url") -> str | None:
    from urllib.request import getproxies, proxy_bypass

    proxies = getproxies()
    if not proxies or proxy_bypass(f"{url.host}:{url.port}" if url.port else str(url.host)):
        return None
    return proxies.get(url.scheme or "") or proxies.get("all")
