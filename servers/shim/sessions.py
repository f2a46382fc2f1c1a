"""Session tokens that were really issued, and that expire."""

import datetime as dt
import secrets
import threading
from dataclasses import dataclass

EXPIRED = "ExpiredTokenException"
UNKNOWN = "UnrecognizedClientException"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


@dataclass(slots=True)
class _Session:
    access_key: str
    issued: dt.datetime
    duration: dt.timedelta


class Sessions:
    """Every session that STS has issued in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_token: dict[str, _Session] = {}
        # A time to live that tests shorten; None leaves each session its own.
        self._time_to_live: dt.timedelta | None = None

    def issue(self, token: str, access_key: str, seconds: int) -> None:
        """Note a session."""
        with self._lock:
            self._by_token[token] = _Session(access_key, _now(), dt.timedelta(seconds=seconds))

    @staticmethod
    def new_credentials() -> tuple[str, str, str]:
        """Access key, secret key and token for a call that moto answers with constants."""
        return "ASIA" + secrets.token_hex(8).upper(), secrets.token_urlsafe(30), secrets.token_urlsafe(120)

    def shorten(self, seconds: float | None) -> None:
        """Let every session, also those issued before, live for that long at most; None restores their own times."""
        with self._lock:
            self._time_to_live = None if seconds is None else dt.timedelta(seconds=seconds)

    def expire(self) -> None:
        """End every session that was issued so far; later ones live as usual."""
        with self._lock:
            for session in self._by_token.values():
                session.duration = dt.timedelta(0)

    def problem_with(self, access_key: str, token: str | None) -> str | None:
        """The error code for a request's credentials; None where they are good."""
        with self._lock:
            if token is None:
                issued = any(session.access_key == access_key for session in self._by_token.values())
                return UNKNOWN if issued or access_key.startswith("ASIA") else None
            session = self._by_token.get(token)
            if session is None or session.access_key != access_key:
                return UNKNOWN
            lives = session.duration
            if self._time_to_live is not None:
                lives = min(lives, self._time_to_live)
            return EXPIRED if _now() >= session.issued + lives else None
