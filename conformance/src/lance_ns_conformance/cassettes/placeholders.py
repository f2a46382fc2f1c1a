"""Placeholders: what differs between machines is kept as `{{name}}`, and put back on replay.

`{{root}}` is the scenario's directory, `{{endpoint}}` the property `endpoint`, `{{endpoint.origin}}` its scheme, host
and port, `{{credential.1}}` the part of a property after its first colon. A form other than the plain one says so:
`{{root|url}}`; a value inside of base64 is kept decoded, `{{base64:…:base64}}`.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from lance_ns.config import Secret

ROOT = "root"
_FORMS: dict[str, Callable[[str], str]] = {
    "": lambda value: value,
    "|url": lambda value: quote(value, safe=""),
    "|path": lambda value: quote(value, safe="/"),
    "|json": lambda value: json.dumps(value, ensure_ascii=False)[1:-1],
}
_PLACEHOLDER = re.compile(r"\{\{([^{}|]+)((?:\|\w+)?)\}\}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}")
_DECODED = re.compile(r"\{\{base64(url)?(\.bare)?:(.*?):base64\}\}", re.DOTALL)


class Hider:
    """Puts placeholders into texts, for the values of one connection."""

    def __init__(self, values: Mapping[str, str], secrets: frozenset[str] = frozenset()) -> None:
        """Values by what stands for them; the secret ones are replaced wherever they are, others as whole words."""
        self._written: dict[str, str] = {}
        patterns: dict[str, str] = {}
        for placeholder, value in values.items():
            for form, change in _FORMS.items():
                written = change(value)
                if written not in patterns:
                    patterns[written] = re.escape(written) if value in secrets else _word(written)
                    self._written[written] = _with_form(placeholder, form)
        longest_first = sorted(patterns, key=len, reverse=True)
        self._pattern = re.compile("|".join(patterns[each] for each in longest_first)) if patterns else None

    def __call__(self, text: str) -> str:
        """The text with placeholders."""
        if self._pattern is None:
            return text
        return self._plain(_BASE64.sub(self._decoded, text))

    def _plain(self, text: str) -> str:
        return self._pattern.sub(lambda match: self._written[match[0]], text) if self._pattern else text

    def _decoded(self, match: "re.Match[str]") -> str:
        for url in ("", "url"):
            for bare in ("", ".bare"):
                content = _decoded(match[0], url, bare)
                if content is not None and self._plain(content) != content and ":base64}}" not in content:
                    return f"{{{{base64{url}{bare}:{self._plain(content)}:base64}}}}"
        return match[0]


class Restorer:
    """Puts values back where placeholders are; those without a value stay."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    def __call__(self, text: str) -> str:
        """The text with values."""
        if "{{" not in text:
            return text
        text = _PLACEHOLDER.sub(self._value, text)
        return _DECODED.sub(lambda match: _encoded(match[3], match[1] or "", match[2] or ""), text)

    def _value(self, match: "re.Match[str]") -> str:
        name, form = match[1], match[2]
        if name not in self._values or form not in _FORMS:
            return match[0]
        return _FORMS[form](self._values[name])


def hider(
    live: Mapping[str, Any], replayed: Mapping[str, Any], room: Path, secrets: list[str], places: tuple[str, ...] = ()
) -> Hider:
    """What hides the values of a live connection.

    Args:
        live: its properties, filled in.
        replayed: what replay connects with, not filled in.
        room: the scenario's directory.
        secrets: values that must never be kept, whatever property they come from.
        places: directories of the live server.
    """
    usual = {name: text for name, value in replayed.items() if (text := _text(value)) is not None}
    values: dict[str, str] = {f"{{{{{ROOT}}}}}": str(room)}
    values |= {f"{{{{{ROOT}}}}}/server{number}": place for number, place in enumerate(places)}
    for name, value in live.items():
        text = _text(value)
        if text is None or text == usual.get(name, "").replace("{scratch}", str(room)):
            continue
        if name not in usual and text not in secrets and "://" not in text and not text.startswith("/"):
            continue  # nothing could be put back, and it tells nothing of the machine
        for number, (placeholder, part) in enumerate(_parts(name, text)):
            if len(part) > 2 and part not in values.values():
                values[_standing(placeholder, None if number else usual.get(name))] = part
    for secret in secrets:
        if secret not in values.values() and secret not in usual.values():
            values[f"{{{{hidden.{len(values)}}}}}"] = secret
    return Hider(values, frozenset(secrets))


def restorer(replayed: Mapping[str, Any], room: Path) -> Restorer:
    """What puts the values of a replayed connection back; the properties are filled in."""
    values: dict[str, str] = {}
    for name, value in replayed.items():
        text = _text(value)
        if text is not None:
            values.update(_parts(name, text))
    return Restorer({**values, ROOT: str(room)})


def _parts(name: str, value: str) -> Iterator[tuple[str, str]]:
    """A property, and the parts of it that travel alone."""
    name = f"properties.{name}" if name == ROOT else name
    yield name, value.rstrip("/") if "://" in value else value
    if value.startswith(("http://", "https://")):
        split = urlsplit(value)
        yield f"{name}.origin", f"{split.scheme}://{split.netloc}"
        yield f"{name}.host", split.netloc
    elif ":" in value and "/" not in value:
        for number, part in enumerate(value.split(":", 1)):
            yield f"{name}.{number}", part


def _standing(placeholder: str, usual: str | None) -> str:
    """What stands for a value: where replay puts it into the scenario's directory, its path there."""
    if usual is not None and "{scratch}" in usual:
        return usual.replace("{scratch}", f"{{{{{ROOT}}}}}")
    return f"{{{{{placeholder}}}}}"


def _with_form(placeholder: str, form: str) -> str:
    """`{{root}}/lake` in the form for URLs is `{{root|url}}%2Flake`."""
    if not form:
        return placeholder
    pieces: list[str] = []
    last = 0
    for match in _PLACEHOLDER.finditer(placeholder):
        pieces += [_FORMS[form](placeholder[last : match.start()]), f"{{{{{match[1]}{form}}}}}"]
        last = match.end()
    return "".join([*pieces, _FORMS[form](placeholder[last:])])


def _word(value: str) -> str:
    """A pattern that finds a value where it is a word of its own."""
    before = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))" if value[0].isalnum() else ""
    after = r"(?![A-Za-z0-9])" if value[-1].isalnum() else ""
    return before + re.escape(value) + after


def _text(value: Any) -> str | None:
    if isinstance(value, Secret):
        value = value.reveal()
    return value if isinstance(value, str) and value else None


def _decoded(text: str, url: str, bare: str) -> str | None:
    """The text that a base64 one of exactly this flavour holds."""
    if bool(bare) == (len(text) % 4 == 0):
        return None
    try:
        content = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_" if url else None, validate=True)
        found = content.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    return found if _encoded(found, url, bare) == text else None


def _encoded(text: str, url: str, bare: str) -> str:
    encode = base64.urlsafe_b64encode if url else base64.b64encode
    encoded = encode(text.encode()).decode()
    return encoded.rstrip("=") if bare else encoded
