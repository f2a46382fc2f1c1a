"""Paging: opaque tokens that hold all their state, and pages of names.

A token names the backend, what is listed and where the page before ended, so it survives a new connection and another
process. A token of another backend, of another listing, or one that somebody altered is InvalidInput, never an empty
page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from lance_ns.errors import Internal, InvalidInput

if TYPE_CHECKING:
    from lance_ns.models import ListNamespacesRequest, ListTablesRequest

    Listing = ListNamespacesRequest | ListTablesRequest

T = TypeVar("T")
U = TypeVar("U")

_VERSION = 1
_CHECK = 6
SIDE_BY_SIDE = 8
"""How many calls run at once where a listing needs one for each entry."""
MOST_AT_ONCE = 1000
"""How many entries a page has when nobody says, where each needs a call."""


class Position(NamedTuple):
    """Where a page ended: the catalog's own token, and the last name that was returned."""

    native: str | None = None
    last: str | None = None


def token(backend: str, request: Listing, position: Position) -> str:
    """The token of the page that follows `position`."""
    import json
    from base64 import urlsafe_b64encode

    content = json.dumps([_VERSION, backend, _listing(request), position.native, position.last], separators=(",", ":"))
    body = content.encode()
    return urlsafe_b64encode(_checksum(body) + body).decode().rstrip("=")


def position(backend: str, request: Listing) -> Position:
    """Where the page that a request asks for begins.

    Raises:
        InvalidInput: the token is not one of this backend's for this listing, or was altered.
    """
    text = request.page_token
    if not text:
        return Position()
    import json
    from base64 import b64decode, urlsafe_b64encode

    try:
        raw = b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        check, body = raw[:_CHECK], raw[_CHECK:]
        # Re-encoding also refuses a token whose unused last bits were changed.
        if check != _checksum(body) or urlsafe_b64encode(raw).decode().rstrip("=") != text:
            raise ValueError
        version, maker, listing, native, last = json.loads(body)
        if not all(part is None or isinstance(part, str) for part in (native, last)):
            raise ValueError
    except (ValueError, TypeError):
        raise _refused("is not one of ours, or was altered") from None
    if version != _VERSION:
        raise _refused(f"has format {version}, this version reads {_VERSION}")
    if maker != backend:
        raise _refused(f"is of backend {maker!r}")
    if listing != _listing(request):
        raise _refused("belongs to another listing")
    return Position(native, last)


def page_of_names(backend: str, request: Listing, names: Iterable[str]) -> tuple[list[str], str | None]:
    """One page of all the names there are, sorted, and the token of the next one.

    For catalogs without paging of their own. A page resumes strictly after the last name of the one before, so names
    that come or go between two pages neither repeat nor hide others.
    """
    last = position(backend, request).last
    rest = sorted({name for name in names if last is None or name > last})
    if request.limit is None or len(rest) <= request.limit:
        return rest, None
    page = rest[: request.limit]
    return page, token(backend, request, Position(last=page[-1]))


def page_of_matching(
    backend: str, request: Listing, names: Iterable[str], matches: Callable[[str], bool]
) -> tuple[list[str], str | None]:
    """One page of those names for which `matches` says yes, sorted, and the token of the next one.

    For catalogs that must be asked about every name. They are asked about some names at a time, side by side, and about
    none that lie far behind the page; how many never depends on who answers first.
    """
    limit = request.limit or MOST_AT_ONCE
    last = position(backend, request).last
    rest = sorted({name for name in names if last is None or name > last})
    found: list[str] = []
    while rest and len(found) <= limit:
        size = max(limit + 1 - len(found), SIDE_BY_SIDE)
        asked, rest = rest[:size], rest[size:]
        found += [name for name, fits in zip(asked, side_by_side(matches, asked), strict=True) if fits]
    page = found[:limit]
    return page, token(backend, request, Position(last=page[-1])) if len(found) > limit else None


def page_of_pages(
    backend: str,
    request: Listing,
    size: int,
    ask: Callable[[str | None, int], tuple[list[tuple[str, bool]], str | None]],
) -> tuple[list[str], str | None]:
    """One page of the names that a catalog gives in pages of its own, sorted, and the token of the next one.

    Never more of the catalog's pages are fetched than the page needs; without a limit, that is one that holds anything.
    Where one of them holds more than fits, the next page begins in the middle of it, after the last name returned.

    Args:
        backend: the backend's name.
        request: what is asked for.
        size: how many entries the catalog gives at most.
        ask: fetches a page of the catalog's, by its token and how many entries are wanted: the names in its order, each
            with whether it belongs to the listing, and the token of its next page.

    Raises:
        Internal: the catalog's pages do not advance.
    """
    begin = position(backend, request)
    native, last = begin.native, begin.last
    limit = request.limit
    # A page that is taken up again must reach as far as it did before.
    wanted = size if limit is None or last is not None else min(limit, size)
    found: list[str] = []
    while True:
        entries, following = ask(native, wanted)
        for name in _after(entries, last):
            if len(found) == limit:
                return sorted(found), token(backend, request, Position(native, found[-1]))
            found.append(name)
        if not following:
            return sorted(found), None
        if following == native:
            raise Internal("the catalog's listing does not advance: a page names itself as the next one")
        if len(found) == limit or (found and limit is None):
            return sorted(found), token(backend, request, Position(following))
        native, last, wanted = following, None, size


def _after(entries: list[tuple[str, bool]], last: str | None) -> Iterator[str]:
    """The names that belong to a listing, after one: behind it in the catalog's order, else in the alphabet's."""
    names = [name for name, _ in entries]
    begin = names.index(last) + 1 if last in names else 0
    behind = last if begin == 0 else None
    return (name for name, fits in entries[begin:] if fits and (behind is None or name > behind))


def side_by_side(call: Callable[[T], U], items: Iterable[T], workers: int = SIDE_BY_SIDE) -> list[U]:
    """The results of `call` for each item, in their order, with at most `workers` calls under way.

    Each call sees the context variables of the caller. After an error no further item is taken; of several errors that
    of the first item is raised.
    """
    from collections import deque
    from concurrent.futures import ThreadPoolExecutor
    from contextvars import copy_context

    waiting = deque(enumerate(items))
    results: dict[int, U] = {}
    errors: dict[int, BaseException] = {}

    def work() -> None:
        """Take items until there are none: to hand over each of them costs as much as calling a server nearby."""
        while waiting:
            try:
                number, item = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            try:
                results[number] = call(item)
            except BaseException as error:  # noqa: BLE001  # raised below
                errors[number] = error
                waiting.clear()

    with ThreadPoolExecutor(workers, thread_name_prefix="lance-ns") as pool:
        crew = [pool.submit(copy_context().run, work) for _ in range(min(workers, len(waiting)))]
        try:
            for each in crew:
                each.result()
        finally:
            waiting.clear()  # when this thread is interrupted, the others end as well
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in range(len(results))]


def _listing(request: Listing) -> str:
    from hashlib import blake2b

    what = "\x1f".join((request.operation, *request.id))
    return blake2b(what.encode(), digest_size=8).hexdigest()


def _checksum(body: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(body, digest_size=_CHECK).digest()


def _refused(why: str) -> InvalidInput:
    return InvalidInput(f"the page token {why}", hint="start the listing again without a token")
