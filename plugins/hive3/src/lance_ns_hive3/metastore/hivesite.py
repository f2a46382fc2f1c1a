"""What a Hadoop installation already says about its metastore: `hive-site.xml` in the directory HIVE_CONF_DIR."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from lance_ns.errors import InvalidInput, Unsupported
from lance_ns.tls import Tls
from lance_ns_hive3.metastore import uris
from lance_ns_hive3.metastore.settings import Address

VARIABLE = "HIVE_CONF_DIR"
FILE = "hive-site.xml"

_UNITS = {
    **dict.fromkeys(("", "s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_TIME = re.compile(r"(\d+)\s*([a-z]*)", re.IGNORECASE)
_NOT_SPOKEN = {
    "sasl.enabled": ("true", "SASL (Kerberos)"),
    "thrift.framed.transport.enabled": ("true", "the framed transport"),
    "thrift.compact.protocol.enabled": ("true", "the compact protocol"),
    "client.thrift.transport.mode": ("http", "Thrift over HTTP"),
    "service.discovery.mode": ("zookeeper", "finding servers by ZooKeeper"),
}


@attrs.frozen(kw_only=True)
class HiveSite:
    """The settings of an installation that we honour; None where it says nothing."""

    addresses: tuple[Address, ...]
    connect_seconds: float | None = None
    call_seconds: float | None = None
    tls: Tls | None = None


def read(environment: Mapping[str, str] = os.environ) -> HiveSite | None:
    """What the environment's `hive-site.xml` says; None without one, or if it names no metastore.

    Raises:
        InvalidInput: it cannot be read, or a value in it is not what it must be.
        Unsupported: the metastore is to be spoken to in a way that this client cannot.
    """
    directory = environment.get(VARIABLE)
    if not directory or not (file := Path(directory, FILE)).is_file():
        return None
    site = _Site(file)
    named = site.value("thrift.uris", "uris")
    if not named:
        return None
    for key, (value, what) in _NOT_SPOKEN.items():
        if (site.value(key) or "").lower() == value:
            raise Unsupported(
                f"{file} asks for {what}, which is not supported", hint="name another metastore by the property 'uri'"
            )
    return HiveSite(
        addresses=uris.parse(named),
        connect_seconds=site.seconds("client.connection.timeout"),
        call_seconds=site.seconds("client.socket.timeout"),
        tls=Tls(ca_bundle=_certificates(site.value("truststore.path"))) if site.is_true("use.SSL") else None,
    )


class _Site:
    """The properties of one file. A metastore's have two names: `metastore.x` since Hive 3, and `hive.metastore.x`."""

    def __init__(self, file: Path) -> None:
        from xml.etree import ElementTree as ET

        try:
            root = ET.parse(file).getroot()  # noqa: S314  # the administrator's own file
        except (OSError, ET.ParseError) as error:
            raise InvalidInput(f"{file} cannot be read: {error}", hint=f"mend it, or unset {VARIABLE}") from error
        self._file = file
        self._values = {_text(each, "name"): _text(each, "value") for each in root.iter("property")}

    def value(self, *keys: str) -> str | None:
        names = [f"{prefix}.{key}" for key in keys for prefix in ("metastore", "hive.metastore")]
        found = next((self._values[name] for name in names if self._values.get(name)), None)
        if found and "${" in found:
            raise InvalidInput(
                f"{self._file}: the value of {keys[0]!r} refers to a variable", hint="give the property 'uri'"
            )
        return found

    def is_true(self, key: str) -> bool:
        return (self.value(key) or "").lower() == "true"

    def seconds(self, key: str) -> float | None:
        found = self.value(key)
        if found is None:
            return None
        match = _TIME.fullmatch(found)
        unit = _UNITS.get(match[2].lower()) if match else None
        if match is None or unit is None or int(match[1]) == 0:
            raise InvalidInput(f"{self._file}: the value {found!r} of {key!r} is no time such as 600s")
        return int(match[1]) * unit


def _text(element: Any, name: str) -> str:
    return (element.findtext(name) or "").strip()


def _certificates(path: str | None) -> str | None:
    """A truststore, if it is a file of certificates as Python reads them; Java's own formats are not."""
    try:
        is_pem = path is not None and b"-----BEGIN" in Path(path).read_bytes()[:4096]
    except OSError:
        is_pem = False
    return path if is_pem else None
