"""Who asks: the token that goes with a call, and how a new one is had."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from lance_ns.config import Hidden, Secret
from lance_ns.errors import InvalidInput, Unauthenticated
from lance_ns.perprocess import PerProcess

_EARLY = 0.1
"""The part of a token's life before its end in which a new one is fetched."""
_USUAL_LIFE, _LONGEST_LIFE = 3600.0, 86400.0

Form = Mapping[str, str | Secret]


class TokenSource(Protocol):
    """Gives the token for a call."""

    def token(self) -> Secret | None:
        """The token to send, fetched if need be."""

    def renewed(self, refused: Secret) -> bool:
        """Whether there is another token than the one that the server refused."""

    def close(self) -> None:
        """Release what fetching tokens holds."""


class Fixed(NamedTuple):
    """A token that the user gave, or none."""

    secret: Secret | None = None

    def token(self) -> Secret | None:
        """The token."""
        return self.secret

    def renewed(self, refused: Secret) -> bool:  # noqa: ARG002  # there is no other
        """Never."""
        return False

    def close(self) -> None:
        """There is nothing to release."""


class _Token(NamedTuple):
    secret: Secret
    stale_at: float


class _Held:
    """The token of one process: who needs a new one fetches it, and the others wait for that."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.token: _Token | None = None

    def fresh(self) -> _Token | None:
        """The token, unless it is about to expire; read once, for another thread may forget it any time."""
        token = self.token
        return token if token is not None and time.monotonic() < token.stale_at else None


class ClientCredentials:
    """OAuth2 client credentials: fetched once for all threads, again before the end, and once when refused."""

    def __init__(
        self, credential: Secret, scope: str, ask: Callable[[Form], Any], close: Callable[[], None] = lambda: None
    ) -> None:
        if not all(credential.reveal().partition(":")):
            raise InvalidInput("'credential' must be client_id:client_secret")
        client, _, secret = credential.reveal().partition(":")
        self._form = Hidden(
            grant_type="client_credentials", client_id=client, client_secret=Secret(secret), scope=scope
        )
        self._ask = ask
        self._close = close
        self._held = PerProcess(_Held)

    def token(self) -> Secret | None:
        """The token, fetched by one thread while the others wait."""
        held = self._held()
        token = held.fresh()
        if token is None:
            with held.lock:
                token = held.fresh() or self._fetched()
                if token is None:
                    raise Unauthenticated(
                        "the token server's answer holds no access_token", hint="check 'oauth2_server_uri'"
                    )
                held.token = token
        return token.secret

    def renewed(self, refused: Secret) -> bool:
        """Forget a token that the server refused, unless another thread has done so."""
        held = self._held()
        with held.lock:
            if held.token is not None and held.token.secret == refused:
                held.token = None
        return True

    def close(self) -> None:
        """Close the connections to the token server."""
        self._close()

    def _fetched(self) -> _Token | None:
        """A new token, None if the answer holds none: nothing is raised where a local variable holds the answer."""
        asked_at = time.monotonic()
        answer = self._ask(self._form)
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            return None
        life = answer.get("expires_in")
        known = isinstance(life, int | float) and not isinstance(life, bool) and life > 0
        return _Token(Secret(token), asked_at + min(life if known else _USUAL_LIFE, _LONGEST_LIFE) * (1 - _EARLY))
