"""The audit log: one line for every operation, with its outcome, in the logger `lance_ns.audit`.

Switched on by name: `connect(…, plugins=["audit"])`.
"""

import logging
import time
from collections.abc import Generator
from typing import Any

from lance_ns.errors import LanceNsError
from lance_ns.identifiers import display
from lance_ns.middleware import around
from lance_ns.models import Request, Response

log = logging.getLogger(__name__)


def _audited(request: Request[Any]) -> Generator[None, Response, Response]:
    started = time.monotonic()
    outcome = "ok"
    try:
        return (yield)
    except LanceNsError as error:
        outcome = f"{type(error).__name__} ({int(error.code)})"
        raise
    except Exception as error:
        outcome = type(error).__name__
        raise
    finally:
        milliseconds = (time.monotonic() - started) * 1000
        log.info("%s %s %s %.1f ms", request.operation, display(request.id), outcome, milliseconds)


audit = around(_audited)
