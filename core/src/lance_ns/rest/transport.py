"""Connections: those of each server, with time-outs, TLS and proxies, which follow and repeat nothing themselves.

They are the standard library's. A library on top of it would cost as much again for each call, and to be imported.
"""

import os
import select
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from io import BytesIO
from queue import Empty, LifoQueue
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urlsplit

from lance_ns.config import Hidden, Secret
from lance_ns.errors import Internal, InvalidInput
from lance_ns.rest.retrying import Deadline
from lance_ns.tls import Tls

if TYPE_CHECKING:
    from http.client import HTTPConnection, HTTPMessage, HTTPResponse
    from socket import socket
    from ssl import SSLContext

LARGEST_ANSWER = 256 * 1024 * 1024
_CHUNK = 64 * 1024
_SCHEMES = {"http": 80, "https": 443}
_SENDABLE = "/?%:@!$&'()*+,;=~"


def parsed(url: str, what: str = "endpoint") -> SplitResult:
    """A server's URL, checked.

    Raises:
        InvalidInput: it is not one, or holds what does not belong there.
    """
    found = split(url)
    if found is None:
        raise InvalidInput(f"{what!r} must be a URL that begins with http:// or https://", hint=f"check {what!r}")
    if "@" in found.netloc:
        raise InvalidInput(f"{what!r} must not hold a user or password", hint="use the properties for credentials")
    if "?" in url or "#" in url:
        raise InvalidInput(f"{what!r} must end with its path, without ? and #")
    return found


def split(url: str) -> SplitResult | None:
    """The parts of a URL of HTTP, None if it is not one."""
    try:
        found = urlsplit(url)
        readable = url.isprintable() and not url.startswith(" ") and " " not in found.netloc
        usable = readable and found.scheme in _SCHEMES and found.hostname and found.port != 0
    except ValueError:  # of a port that is no number, or of half a bracket
        return None
    return found if usable else None


def sendable(target: str) -> str:
    """The path and query of a request with nothing in them that cannot be sent as it is."""
    return quote(target, safe=_SENDABLE)


def origin(url: SplitResult) -> tuple[str, str | None, int | None]:
    """What makes two URLs the same server."""
    return url.scheme, url.hostname, url.port or _SCHEMES.get(url.scheme)


class Unreached(Exception):
    """No connection could be made, for the reason that is its cause: the server got nothing."""


class Response(NamedTuple):
    """What a server answered, all of it."""

    status: int
    headers: "HTTPMessage"
    data: bytes

    def __repr__(self) -> str:
        return f"Response({self.status})"  # the rest may hold tokens and vended credentials


class Line:
    """The connections to a server, which threads share; the one that was used last is used next.

    Args:
        connection: makes one, which is not opened yet.
        before: what stands before a path in a request.
        headers: those of every request beside its own.
        connections: how many there are at most.
        connect_seconds: how long opening one may take.
        read_seconds: how long the server may say nothing.
    """

    def __init__(
        self,
        connection: "Callable[[], HTTPConnection]",
        before: str,
        headers: Hidden,
        *,
        connections: int,
        connect_seconds: float,
        read_seconds: float,
    ) -> None:
        self._connection = connection
        self._before = before
        self._headers = headers
        self._connect_seconds = connect_seconds
        self._read_seconds = read_seconds
        self._idle: LifoQueue[HTTPConnection | None] = LifoQueue()
        for _ in range(connections):
            self._idle.put(None)
        weakref.finalize(self, _close_all, self._idle)  # also those that are in use when the others are closed

    def close(self) -> None:
        """Close the connections that are not in use."""
        _close_all(self._idle)

    def exchanged(self, method: str, target: str, body: bytes | None, headers: Hidden, deadline: Deadline) -> Response:
        """Send a request, and read the whole answer.

        Raises:
            Unreached: there was no connection to send it on.
            Internal: the answer is too large.
            ServiceUnavailable: the deadline has passed.
        """
        try:
            connection = self._idle.get(timeout=deadline.left()) or self._connection()
        except Empty:
            raise Unreached from TimeoutError("all connections are in use")
        try:
            _open(connection, min(self._connect_seconds, deadline.left()))
            seconds = min(self._read_seconds, deadline.left())
            _limit(connection, seconds)
            try:
                with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered before it had read all
                    connection.request(method, self._before + target, body, headers | self._headers)
                answer = connection.getresponse()
                content = _content(answer, method, deadline)
            except TimeoutError as error:
                raise TimeoutError(f"{error} (read timeout={seconds:g})") from None
        except BaseException:
            connection.close()
            raise
        finally:
            self._idle.put(connection)
        return Response(answer.status, answer.headers, content)


def _close_all(idle: "LifoQueue[HTTPConnection | None]") -> None:
    """Close connections that nobody uses; they open again when they are needed."""
    connections: list[HTTPConnection | None] = []
    with suppress(Empty):
        while True:
            connections.append(idle.get_nowait())
    for connection in connections:
        if connection is not None:
            connection.close()
        idle.put(None)


def _open(connection: "HTTPConnection", seconds: float) -> None:
    """Open a connection, unless it is open still."""
    if connection.sock is not None:
        if not _readable(connection.sock):
            return
        connection.close()  # what a server says without being asked is that it is gone
    _limit(connection, seconds)
    try:
        connection.connect()
    except TimeoutError as error:
        raise Unreached from TimeoutError(f"{error} (connect timeout={seconds:g})")
    except Exception as error:
        raise Unreached from error


def _readable(sock: "socket") -> bool:
    """Whether something has come that nobody has read."""
    if not hasattr(select, "poll"):  # on Windows, where select knows no bound on descriptors
        return bool(select.select([sock], [], [], 0)[0])
    watch = select.poll()
    watch.register(sock, select.POLLIN)
    return bool(watch.poll(0))


def _limit(connection: "HTTPConnection", seconds: float) -> None:
    """Let nothing on a connection take longer."""
    connection.timeout = seconds
    if connection.sock is not None and connection.sock.gettimeout() != seconds:
        connection.sock.settimeout(seconds)


def _content(answer: "HTTPResponse", method: str, deadline: Deadline) -> bytes:
    """The whole content, as long as it is not too large and comes in time."""
    promised = 0 if method == "HEAD" else int(answer.length or 0)
    content = BytesIO()  # which a traceback does not show
    while content.write(answer.read1(_CHUNK)):  # what has come: waiting for more could take for ever
        if content.tell() > LARGEST_ANSWER:
            raise _too_large()
        deadline.left()
        if content.tell() == promised:
            break
    if content.tell() < promised:
        raise ConnectionError("the answer ended early")
    answer.close()
    return _unpacked(content) if "gzip" in answer.headers.get("Content-Encoding", "") else content.getvalue()


def _unpacked(content: BytesIO) -> bytes:
    """What some servers compress though nobody asked for it."""
    import gzip

    unpacked = gzip.GzipFile(fileobj=BytesIO(content.getvalue())).read(LARGEST_ANSWER + 1)
    if len(unpacked) > LARGEST_ANSWER:
        raise _too_large()
    return unpacked


def _too_large() -> Internal:
    return Internal(f"the answer is larger than {LARGEST_ANSWER // 2**20} MiB", hint="ask for fewer at once")


# --- the way to a server -------------------------------------------------------------------------------------------


def line_to(url: SplitResult, *, tls: Tls, connections: int, connect_seconds: float, read_seconds: float) -> Line:
    """The connections to a server, no more than so many, through the environment's proxy if it names one.

    Raises:
        InvalidInput: the certificates cannot be read, or the environment's proxy cannot be used.
    """
    context = None
    if url.scheme == "https":
        context = tls.context()
        context.set_alpn_protocols(["http/1.1"])
    make, before, headers = partial(_connection_to, url, context), "", Hidden()
    named = _proxy_for(url)
    if named is not None:
        proxy = _proxy(named)
        if proxy is None:
            raise InvalidInput(
                "the proxy that the environment names cannot be used", hint="its URL begins with http:// or https://"
            )
        if context is not None:
            make = partial(_tunnel_to, url, context, proxy)
        else:  # it is asked for a URL, not for a path
            outer = Tls().context() if proxy.url.scheme == "https" else None
            make, before, headers = partial(_connection_to, proxy.url, outer), f"http://{url.netloc}", proxy.headers
    return Line(
        make, before, headers, connections=connections, connect_seconds=connect_seconds, read_seconds=read_seconds
    )


def _connection_to(url: SplitResult, context: "SSLContext | None") -> "HTTPConnection":
    """A connection to a server, encrypted where there is a context."""
    from http import client  # whose classes are looked up each time: those who record calls put others in their place

    _, host, port = origin(url)
    if context is None:
        return client.HTTPConnection(host or "", port)
    return client.HTTPSConnection(host or "", port, context=context)


def _tunnel_to(url: SplitResult, context: "SSLContext", proxy: "_Proxy") -> "HTTPConnection":
    """An encrypted connection to a server through a proxy, which sees nothing of it."""
    _, host, port = origin(url)
    connection = _connection_to(proxy.url, context)
    if proxy.url.scheme == "https":
        connection.connect = partial(_connect_within, connection, context)  # type: ignore[method-assign]
    connection.set_tunnel(host or "", port, headers=proxy.headers | {"Host": f"{host}:{port}"})
    return connection


def _connect_within(connection: Any, context: "SSLContext") -> None:
    """Connect to a server by TLS within that to the proxy, which the standard library cannot do."""
    from socket import create_connection

    from urllib3.util.ssltransport import SSLTransport

    plain = create_connection((connection.host, connection.port), connection.timeout)
    connection.sock = Tls().context().wrap_socket(plain, server_hostname=connection.host)
    connection._tunnel()  # noqa: SLF001
    connection.sock = SSLTransport(connection.sock, context, server_hostname=connection._tunnel_host)  # noqa: SLF001


class _Proxy(NamedTuple):
    """Where a proxy is, and what says who we are."""

    url: SplitResult
    headers: Hidden


def _proxy(named: Secret) -> _Proxy | None:
    """A proxy by its URL, None if it cannot be used; nothing is raised where a local variable holds its password."""
    from base64 import b64encode

    found = split(named.reveal())
    if found is None:
        return None
    user, _, where = found.netloc.rpartition("@")
    login = b64encode(unquote(user).encode()).decode()
    return _Proxy(found._replace(netloc=where), Hidden({"Proxy-Authorization": f"Basic {login}"} if user else {}))


def _proxy_for(url: SplitResult) -> Secret | None:
    """The proxy that the environment names for a server; its URL may hold a password."""
    if not any(name.lower().endswith("_proxy") for name in os.environ):
        return None  # as nearly everywhere, which needs no import
    from urllib.request import getproxies, proxy_bypass

    proxies = Hidden(getproxies())
    if proxy_bypass(f"{url.hostname}:{url.port}" if url.port else str(url.hostname)):
        return None
    found = Secret(proxies.get(url.scheme) or proxies.get("all") or "")
    if not found.reveal():
        return None
    return found if "://" in found.reveal() else Secret(f"http://{found.reveal()}")
