"""Addresses as users write them: `thrift://host:port`, several of them separated by commas."""

from urllib.parse import urlsplit

from lance_ns.errors import InvalidInput
from lance_ns_hive3.metastore.settings import PORT, Address

_HINT = "write thrift://HOST:PORT, several of them separated by commas"


def parse(text: str) -> tuple[Address, ...]:
    """The servers that a list of URIs names, each once and in that order.

    Raises:
        InvalidInput: there are none, or one is not the address of a metastore.
    """
    found = tuple(dict.fromkeys(_address(part.strip()) for part in text.split(",") if part.strip()))
    if not found:
        raise InvalidInput("no metastore is named", hint=_HINT)
    return found


def _address(uri: str) -> Address:
    if "@" in uri:
        raise InvalidInput("the URI of a metastore holds no user or password", hint=_HINT)
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname, parts.port
    except ValueError:
        fault = "cannot be read"
    else:
        if parts.scheme != "thrift":
            fault = "does not begin with thrift://"
        elif not host:
            fault = "names no host"
        elif parts.path not in ("", "/") or parts.query or parts.fragment:
            fault = "has more than a host and a port"
        elif port == 0:
            fault = "has no port that can be used"
        else:
            return Address(host, PORT if port is None else port)
    raise InvalidInput(f"the metastore's URI {uri!r} {fault}", hint=_HINT)
