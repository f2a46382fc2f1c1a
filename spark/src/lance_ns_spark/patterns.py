"""Tables by patterns: `ml$docs`, `ml$*`, `**`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from lance_ns.errors import TableNotFound
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace

_WILD = re.compile(r"[*?]")
_PIECE = re.compile(r"\*\*|\*|\?|[^*?]+")
_BETWEEN = "\x1f"
"""Separates levels where patterns are matched; no name contains it."""


def tables(ns: Namespace, patterns: Iterable[str], *, exclude: Iterable[str] = ()) -> list[Levels]:
    """The tables that any of the patterns names, each once.

    `*` and `?` stand for characters of one level, `**` for any number of levels. A pattern without them is one table,
    which is not looked for; others are compared with what the catalog lists below their first levels.

    Raises:
        TableNotFound: no table fits a pattern.
        NamespaceNotFound: the levels before the first `*` do not exist.
    """
    unwanted = [_compiled(ns.parse(pattern)) for pattern in exclude]
    found: dict[Levels, None] = {}
    for pattern in patterns:
        wanted = [id for id in _fitting(ns, pattern) if not _fits(id, unwanted)]
        if not wanted:
            raise TableNotFound(
                f"no table fits {pattern!r}", hint="`lance-ns tree` shows what there is", backend=ns.backend
            )
        found |= dict.fromkeys(wanted)
    return list(found)


def _fitting(ns: Namespace, pattern: str) -> Iterator[Levels]:
    levels = ns.parse(pattern)
    if not any(_WILD.search(level) for level in levels):
        yield levels
        return
    above, compiled = _literal(levels), _compiled(levels)
    if len(above) == len(levels) - 1 and "**" not in levels[-1]:
        listed: Iterator[Levels] = ((*above, name) for name in ns.list_tables(above))
    else:
        listed = ns.list_all_tables(above)
    yield from (id for id in listed if _fits(id, [compiled]))


def _literal(levels: Sequence[str]) -> Levels:
    """The levels before the first that is a pattern."""
    return tuple(takewhile(lambda level: not _WILD.search(level), levels))


def _compiled(levels: Sequence[str]) -> "re.Pattern[str]":
    words = {"**": ".*", "*": f"[^{_BETWEEN}]*", "?": f"[^{_BETWEEN}]"}
    pieces = _PIECE.findall(_BETWEEN.join(levels))
    return re.compile("".join(words.get(piece) or re.escape(piece) for piece in pieces), re.DOTALL)


def _fits(id: Levels, compiled: Iterable["re.Pattern[str]"]) -> bool:
    return any(each.fullmatch(_BETWEEN.join(id)) for each in compiled)
