"""Looking for secrets in a cassette. Their values cannot be known on replay; what they look like is."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Any

from lance_ns_conformance.cassettes.scrubbing import is_secret_key
from lance_ns_conformance.cassettes.walking import texts

_PATTERNS = {
    "a bearer token": re.compile(r"\bBearer\s+(?=[\w.~+/=-]*[0-9._~+/-])[\w.~+/=-]{8,}", re.IGNORECASE),
    "a JSON web token": re.compile(r"\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]*"),
    "an AWS access key": re.compile(r"\b(AKIA|ASIA)[A-Z0-9]{16}\b"),
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
}
_BASIC = re.compile(r"\bBasic\s+([A-Za-z0-9+/]{4,}={0,2})", re.IGNORECASE)
_PAIR = re.compile(r"[\"']?\b([\w.-]+)[\"']?\s*[=:]\s*[\"']?([^\s\"'&,;<>]+)")
_PLACEHOLDER = re.compile(r"\{\{[^{}]+\}\}$")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")


def leaks(data: Any, secrets: Iterable[str] = ()) -> list[str]:
    """What in some plain data looks like a secret, in words that do not show it.

    Args:
        data: a cassette's content.
        secrets: values that are known to be secret, while recording.
    """
    known = [each for each in secrets if len(each) > 3]
    found = [
        complaint
        for key, text in texts(data)
        for complaint in [*_under(key, text), *_in(text, known), *_in_base64(text, known)]
    ]
    return list(dict.fromkeys(found))


def _under(key: str, text: str) -> Iterator[str]:
    if text and is_secret_key(key) and not _PLACEHOLDER.match(text):
        yield f"a value of {key}"


def _in(text: str, known: list[str]) -> Iterator[str]:
    yield from (what for what, pattern in _PATTERNS.items() if pattern.search(text))
    for match in _BASIC.finditer(text):
        if ":" in (_decoded(match[1]) or ""):
            yield "a user and password"
    for match in _PAIR.finditer(text):
        if is_secret_key(match[1]) and not _PLACEHOLDER.match(match[2]) and len(match[2]) > 3:
            yield f"a value of {match[1]}"
    if any(secret in text for secret in known):
        yield "a secret of the connection"


def _in_base64(text: str, known: list[str]) -> Iterator[str]:
    for match in _BASE64.finditer(text):
        content = _decoded(match[0])
        if content is not None:
            yield from (f"{what}, in base64" for what in _in(content, known))


def _decoded(text: str) -> str | None:
    plain = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
