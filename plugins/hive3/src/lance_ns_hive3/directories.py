"""The directories of tables that lie in files.

The metastore makes the directory of a new table, and deletes it again when it finds that the table is there already:
if two create it at once, with all that the first has written there meanwhile. It deletes none that it has not made.
"""

import os
from collections.abc import Sequence


def made(location: str) -> Sequence[str] | None:
    """Make a table's directory, and tell which ones are new, the lowest first. None: it is not for us to make."""
    path = location.removeprefix("file:")
    if path.startswith("//"):
        path = f"/{path.lstrip('/')}" if path.startswith("///") else ""
    # What is escaped is not read alike by everybody.
    if not path.startswith("/") or "%" in path:
        return None
    new = []
    above = path.rstrip("/")
    while above and not os.path.isdir(above):  # noqa: PTH112  # pathlib would be imported for it
        new.append(above)
        above = os.path.dirname(above)  # noqa: PTH120
    try:
        os.makedirs(path, exist_ok=True)  # noqa: PTH103
    except (OSError, ValueError):
        return None
    return new


def removed(new: Sequence[str]) -> None:
    """Remove directories that turned out to be needless, if nothing is in them."""
    for path in new:
        try:
            os.rmdir(path)  # noqa: PTH106
        except OSError:
            return
