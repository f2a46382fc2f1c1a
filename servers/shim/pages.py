"""Pages as Glue cuts them: bounded, with opaque signed tokens, and not always full."""

import base64
import binascii
import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

LARGEST = 100

Item = TypeVar("Item")


class InvalidPageSize(Exception):
    """The page size is not between 1 and the largest."""


class InvalidToken(Exception):
    """The token was not made here, or was made for another listing."""


@dataclass(slots=True)
class Pager:
    """Cuts listings into pages.

    `ragged` listings have pages that are short, or even empty, before the last one, as the real service has: the first
    page of a listing that does not fit into one holds only half of what was asked for.
    """

    ragged: bool = True
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def cut(
        self,
        listing: Sequence[str],
        items: Sequence[Item],
        name_of: Callable[[Item], str],
        size: int | None,
        token: str | None,
    ) -> tuple[list[Item], str | None]:
        """One page of `items` (sorted by name) and the token of the next; `listing` says which listing it is."""
        if size is not None and not 1 <= size <= LARGEST:
            raise InvalidPageSize
        wanted = size or LARGEST
        ordered = sorted(items, key=name_of)
        if token is not None:
            after = self._read(listing, token)
            ordered = [item for item in ordered if name_of(item) > after]
        elif self.ragged and len(ordered) > wanted:
            wanted //= 2
        page = ordered[:wanted]
        if len(page) == len(ordered):
            return page, None
        return page, self._write(listing, name_of(page[-1]) if page else "")

    def _sign(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, hashlib.sha256).digest()

    def _write(self, listing: Sequence[str], after: str) -> str:
        payload = json.dumps([*listing, after]).encode()
        return base64.urlsafe_b64encode(self._sign(payload) + payload).decode()

    def _read(self, listing: Sequence[str], token: str) -> str:
        try:
            raw = base64.urlsafe_b64decode(token.encode())
        except (binascii.Error, ValueError) as problem:
            raise InvalidToken from problem
        signature, payload = raw[:32], raw[32:]
        if not hmac.compare_digest(signature, self._sign(payload)):
            raise InvalidToken
        *made_for, after = json.loads(payload)
        if made_for != list(listing):
            raise InvalidToken
        return str(after)
