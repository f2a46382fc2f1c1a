"""A client of a catalog that is not ours: it makes what a backend must cope with, and looks past it."""

from typing import Protocol

from lance_ns.identifiers import Levels


class NativeClient(Protocol):
    """What a plugin's `native(properties)` answers, over plain HTTP, raw Thrift, botocore or the like.

    Its traffic passes through the recorder as the backend's does.
    """

    def version(self) -> str:
        """The server's name and version where it tells them, else an empty string."""

    def make_foreign(self, namespace: Levels, prefix: str) -> dict[str, str]:
        """Make one table of every kind that is *not* a Lance table: its name, which begins so, to what it is."""

    def make_lance(self, id: Levels, location: str, spelling: str) -> None:
        """Make a Lance table without us, its `table_type` (or format) spelled as given, such as "LANCE"."""

    def holds(self, id: Levels) -> bool:
        """Whether the catalog itself has the table."""

    def remove(self, id: Levels) -> None:
        """Take a table out of the catalog again."""

    def close(self) -> None:
        """Let go of connections."""
