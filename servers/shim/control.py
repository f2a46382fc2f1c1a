"""The control route from the side of a test."""

from typing import Any

from servers.probes import http_json
from servers.shim.script import KINDS

CONTROL = "/_control/"


class GlueControl:
    """Orders faults, ends sessions, makes catalogs in a running shim."""

    def __init__(self, endpoint: str) -> None:
        self._base = endpoint.rstrip("/") + CONTROL

    def fault(self, kind: str, operation: str | None = None, *, times: int = 1, seconds: float = 0.0) -> None:
        """Order a fault (one of `KINDS`) for the next calls."""
        assert kind in KINDS, kind
        ordered = {"kind": kind, "operation": operation, "times": times, "seconds": seconds}
        self._send("POST", "faults", {"faults": [ordered]})

    def clear(self) -> None:
        """Forget all faults that are still to come, and the calls seen."""
        self._send("DELETE", "faults")

    def calls(self) -> list[str]:
        """The Glue operations called so far, in order."""
        return list(self._send("GET", "faults")["calls"])

    def make_catalog(self, catalog_id: str) -> None:
        """Let another account's catalog exist."""
        self._send("POST", "catalogs", {"catalog_id": catalog_id})

    def ragged_pages(self, ragged: bool) -> None:
        """Whether pages before the last may be short or empty."""
        self._send("POST", "paging", {"ragged": ragged})

    def session_seconds(self, seconds: float | None) -> None:
        """How long sessions live at most; None for as long as they were issued for."""
        self._send("POST", "sessions", {"seconds": seconds})

    def expire_sessions(self) -> None:
        """End every session issued so far."""
        self._send("DELETE", "sessions")

    def _send(self, method: str, route: str, document: object = None) -> Any:
        status, answer = http_json(self._base + route, document, method=method)
        if status != 200:
            message = f"{method} {route} answered {status}: {answer}"
            raise RuntimeError(message)
        return answer
