"""Scrubbing: what authenticates, names an account or merely makes noise never gets into a cassette."""

import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "{{hidden}}"
ACCOUNT = "000000000000"

KEPT_OF_REQUESTS = ("content-type", "if-match", "if-none-match", "polaris-realm", "x-amz-target",
                    "x-iceberg-access-delegation")  # fmt: skip
KEPT_OF_RESPONSES = ("content-type", "etag", "location", "retry-after", "www-authenticate", "x-amzn-errortype")
"""The headers that matter; all others are left out, those that authenticate among them."""

_SECRET_KEY = re.compile(
    r"(client|app)secret$|(access|refresh|id|session|auth|sas|security)token$|secret(access)?key$|accesskey(id)?$"
    r"|password$|assertion$|subjecttoken$|actortoken$|signature$"
)
_ACCOUNT_KEY = re.compile(r"^(catalog|account|owneraccount|resourceowner)(id)?$")
_SECRET_IN_TEXT = re.compile(
    r"(?P<xml><(?P<tag>SecretAccessKey|SessionToken|AccessKeyId)>)[^<]*(?=</(?P=tag)>)"
    r"|(?P<pair>\b(?:client_secret|access_token|refresh_token|id_token|X-Amz-(?:Signature|Credential|Security-Token))=)"
    r"[^&\s\"']+"
    r"|(?P<json>\"(?:client_secret|access_token|refresh_token|id_token)\"\s*:\s*\")[^\"]*"
)
_ARN = re.compile(r"(arn:aws[\w-]*:[\w-]*:[\w-]*:)\d{12}(?=:|$)")
_ACCOUNT_IN_XML = re.compile(r"(?<=<Account>)\d{12}(?=</Account>)")
_STACK = re.compile(r"^stack(_?trace)?$", re.IGNORECASE)


def kept_headers(headers: Mapping[str, Any], kept: tuple[str, ...]) -> dict[str, str]:
    """The headers that matter, as text; botocore's are bytes, vcrpy's are lists."""
    found = {}
    for name, value in headers.items():
        if name.lower() in kept:
            first = (*value, "")[0] if isinstance(value, list | tuple) else value
            found[name] = first.decode("latin-1") if isinstance(first, bytes) else str(first)
    return {name: "0" if name.lower() == "retry-after" else value for name, value in found.items()}


def scrubbed(data: Any) -> Any:
    """Plain data without what must not be kept. What was scrubbed once stays as it is."""
    if isinstance(data, str):
        return _text(data)
    if isinstance(data, list):
        return [scrubbed(each) for each in data]
    if isinstance(data, dict):
        return {key: _value(str(key), value) for key, value in data.items()}
    return data


def is_secret_key(key: str) -> bool:
    """Whether what stands under a key authenticates somebody."""
    return bool(_SECRET_KEY.search(_plain(key)))


def _value(key: str, value: Any) -> Any:
    if isinstance(value, str) and value and is_secret_key(key):
        return HIDDEN
    if isinstance(value, str) and re.fullmatch(r"\d{12}", value) and _ACCOUNT_KEY.search(_plain(key)):
        return ACCOUNT
    if _STACK.search(key):
        if isinstance(value, list):
            value = value[:1]
        elif isinstance(value, str):
            value = value.partition("\n")[0]
    return scrubbed(value)


def _text(text: str) -> str:
    text = _SECRET_IN_TEXT.sub(lambda match: (match["xml"] or match["pair"] or match["json"]) + HIDDEN, text)
    return _ACCOUNT_IN_XML.sub(ACCOUNT, _ARN.sub(rf"\g<1>{ACCOUNT}", text))


def _plain(key: str) -> str:
    """`s3.secret-access-key`, `SecretAccessKey` and `secret_access_key` are one key."""
    return re.sub(r"[^a-z0-9]", "", key.lower())
