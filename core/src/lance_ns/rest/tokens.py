"""Who asks: the token that goes with a call, and how a new one is had."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import attrs

from lance_ns.config import Secret
from lance_ns.errors import InvalidInput, Unauthenticated
from lance_ns.perprocess import PerProcess

_EARLY = 0.1
"""The part of a token's life before its end in which a new one is fetched."""
_USUAL_LIFE = 3600.0


class TokenSource(Protocol):
    """Gives the token for a call."""

    def token(self) -> str | None:
        """The token to send, fetched if need be."""

    def renewed(self, refused: str) -> bool:
        """Whether there is another token than the one that the server refused."""


@attrs.frozen
class Fixed:
    """A token that the user gave, or none."""

    secret: Secret | None = None

    def token(self) -> str | None:
        """The token."""
        return self.secret.reveal() if self.secret else None

    def renewed(self, refused: str) -> bool:  # noqa: ARG002  # there is no other
        """Never."""
        return False


class _Held:
    """The token of one process: who needs a new one fetches it, and the others wait for that."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.token: str | None = None
        self.stale_at = 0.0


class ClientCredentials:
    """OAuth2 client credentials: fetched once for all threads, again before the end, and once when refused."""

    def __init__(self, credential: Secret, ask: Callable[[Mapping[str, str]], Any], scope: str) -> None:
        client, colon, secret = credential.reveal().partition(":")
        if not colon or not secret:
            raise InvalidInput("'credential' must be client_id:client_secret")
        self._form = PerProcess(lambda: _form(client, secret, scope))
        self._ask = ask
        self._held = PerProcess(_Held)

    def token(self) -> str | None:
        """The token, fetched by one thread while the others wait."""
        held = self._held()
        if held.token is not None and time.monotonic() < held.stale_at:
            return held.token
        with held.lock:
            if held.token is None or time.monotonic() >= held.stale_at:
                self._fetch(held)
            return held.token

    def renewed(self, refused: str) -> bool:
        """Forget a token that the server refused, unless another thread has done so."""
        held = self._held()
        with held.lock:
            if held.token == refused:
                held.token = None
        return True

    def _fetch(self, held: _Held) -> None:
        answer = self._ask(self._form())
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            raise Unauthenticated("the token server's answer holds no access_token", hint="check oauth2_server_uri")
        life = answer.get("expires_in")
        seconds = float(life) if isinstance(life, int | float) and life > 0 else _USUAL_LIFE
        held.token = token
        held.stale_at = time.monotonic() + seconds * (1 - _EARLY)


def _form(client: str, secret: str, scope: str) -> dict[str, str]:
    from lance_ns.config import Hidden

    return Hidden(grant_type="client_credentials", client_id=client, client_secret=secret, scope=scope)
