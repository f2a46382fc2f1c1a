"""Bodies of messages as something to read: JSON and forms as data, text as text, base64 for the rest."""

import base64
import binascii
import json
from typing import Any
from urllib.parse import parse_qsl

KINDS = ("json", "form", "text", "base64")


def shown(body: bytes, content_type: str) -> dict[str, Any]:
    """A body as at most one of the kinds, by its type and by what it is."""
    if not body:
        return {}
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(body).decode()}
    if "x-www-form-urlencoded" in content_type:
        return {"form": dict(parse_qsl(text, keep_blank_values=True))}
    if "json" in content_type or text.lstrip()[:1] in ("{", "["):
        try:
            data = json.loads(text)
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode("utf-8")  # what YAML can hold
        except ValueError:
            return {"text": text}
        return {"json": data}
    return {"text": text}


def sent(stored: dict[str, Any]) -> bytes:
    """The bytes of a stored body."""
    if "json" in stored:
        return json.dumps(stored["json"]).encode()
    if "text" in stored:
        return str(stored["text"]).encode()
    return base64.b64decode(stored.get("base64", ""))


def fault(stored: dict[str, Any]) -> str | None:
    """What is wrong with a stored body, or None."""
    kinds = [kind for kind in KINDS if kind in stored]
    if len(kinds) > 1:
        return f"has several bodies: {', '.join(kinds)}"
    if not isinstance(stored.get("text", ""), str):
        return "has a text that is none"
    if not isinstance(stored.get("form", {}), dict):
        return "has a form that is no mapping"
    try:
        base64.b64decode(stored.get("base64", ""), validate=True)
    except (binascii.Error, TypeError, ValueError):
        return "has a base64 that is none"
    return None
