"""botocore's DEBUG log shows session tokens and the answers of STS: they are taken out before any handler sees them."""

import logging
import re

from lance_ns.config import HIDDEN

_LOGGERS = ("auth", "credentials", "endpoint", "httpsession", "parsers", "tokens", "utils")
_SECRETS = re.compile(
    r"(?P<name>(?:secret|token)[\w-]*(?:>|\\?['\"]?\s*[:=]\s*b?\\?['\"]?))[^\s'\"<>,;&\\]+", re.IGNORECASE
)
"""A name that tells of a secret, and its value: a header, a field of JSON, an element of XML, or a Python literal."""


class _Filter(logging.Filter):
    """Rewrites what it lets through."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Let every record through, without secrets."""
        text = record.getMessage()
        hidden = _SECRETS.sub(lambda match: match["name"] + HIDDEN, text)
        if hidden != text:
            record.msg, record.args = hidden, None
        return True


_FILTER = _Filter()


def hide_secrets() -> None:
    """Put the filter on botocore's loggers; a second time changes nothing."""
    for name in _LOGGERS:
        logging.getLogger(f"botocore.{name}").addFilter(_FILTER)
