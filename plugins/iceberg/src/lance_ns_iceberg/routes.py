"""Where things are on a server: the prefix and the separator of each warehouse, and the paths made of them."""

import threading
from urllib.parse import quote, unquote

import attrs

from lance_ns.errors import Internal, InvalidInput, NamespaceNotFound
from lance_ns.identifiers import Levels, display
from lance_ns.perprocess import PerProcess
from lance_ns.rest.client import RestClient, segment
from lance_ns.rest.retrying import fresh_key

_UNIT_SEPARATOR = "%1F"


@attrs.frozen(kw_only=True)
class Warehouse:
    """What a server says of one warehouse.

    Attributes:
        base: the beginning of its paths.
        separator: what stands between the levels of a namespace in a path, encoded.
        keys_honoured: whether the server remembers idempotency keys.
    """

    base: str
    separator: str
    keys_honoured: bool

    def new_key(self) -> str | None:
        """The key of a call that may then be sent twice, None where the server would not know it."""
        return fresh_key() if self.keys_honoured else None

    def namespaces(self) -> str:
        """The path of all namespaces."""
        return f"{self.base}/namespaces"

    def namespace(self, levels: Levels) -> str:
        """The path of a namespace."""
        return f"{self.namespaces()}/{self.separator.join(map(segment, levels))}"

    def parent(self, levels: Levels) -> str:
        """A namespace as the value of a query parameter."""
        return unquote(self.separator).join(levels)

    def tables(self, levels: Levels) -> str:
        """The path of a namespace's tables."""
        return f"{self.namespace(levels)}/tables"

    def table(self, levels: Levels) -> str:
        """The path of a table, whose name is the last level."""
        return f"{self.tables(levels[:-1])}/{segment(levels[-1])}"


class Warehouses:
    """The warehouses of a connection: each is asked for once, by one thread; a failure is not remembered."""

    def __init__(self, client: RestClient, prefix: str | None) -> None:
        self._client = client
        self._prefix = prefix
        self._lock = threading.Lock()
        self._known: dict[str, PerProcess[Warehouse]] = {}

    def __getitem__(self, name: str) -> Warehouse:
        found = self._known.get(name)
        if found is None:
            with self._lock:
                found = self._known.setdefault(name, PerProcess(lambda: self._asked(name)))
        return found()

    def _asked(self, name: str) -> Warehouse:
        answer = self._client.call(
            "GET", "/v1/config", query={"warehouse": name}, meaning={404: NamespaceNotFound}
        ).body
        said = _merged(answer)
        separator = said.get("namespace-separator") or _UNIT_SEPARATOR
        prefix = self._prefix if self._prefix is not None else said.get("prefix")
        if prefix is None and self._routed(segment(name)):
            prefix = segment(name)
        return Warehouse(
            base=f"/v1/{prefix.strip('/')}" if prefix else "/v1",
            separator=separator if "%" in separator else quote(separator, safe=""),
            keys_honoured=bool(said.get("idempotency-key-lifetime")),
        )

    def _routed(self, prefix: str) -> bool:
        """Whether the server has routes with this prefix: some have none at all."""
        try:
            self._client.call(
                "GET",
                f"/v1/{prefix}/namespaces",
                query={"pageToken": "", "pageSize": "1"},
                meaning={400: InvalidInput, 404: NamespaceNotFound},
            )
        except (InvalidInput, NamespaceNotFound):
            return False
        return True


def _merged(answer: object) -> dict[str, str]:
    """The server's settings: its overrides win over its defaults."""
    if not isinstance(answer, dict):
        raise Internal("the server's configuration is not an object", hint="check that 'endpoint' names the catalog")
    parts = [answer.get(name) or {} for name in ("defaults", "overrides")]
    return {
        key: value
        for part in parts
        if isinstance(part, dict)
        for key, value in part.items()
        if isinstance(value, str) and value
    }


def namespace_levels(id: Levels) -> tuple[str, Levels]:
    """The warehouse and the levels below it of a namespace.

    Raises:
        InvalidInput: there is no level below the warehouse, or one cannot be addressed.
    """
    if len(id) < 2:
        raise InvalidInput(
            f"{display(id, '.')} is not a namespace here", hint="a namespace is a warehouse and at least one level"
        )
    return id[0], _addressable(id[1:])


def table_levels(id: Levels) -> tuple[str, Levels]:
    """The warehouse and the levels below it of a table, its name the last.

    Raises:
        InvalidInput: there is no namespace between, or a level cannot be addressed.
    """
    if len(id) < 3:
        raise InvalidInput(
            f"{display(id, '.')} is not a table here", hint="a table is a warehouse, at least one level, and a name"
        )
    _addressable(id[1:-1])
    return id[0], id[1:]


def _addressable(levels: Levels) -> Levels:
    """Refuse a dot within a level: catalogs store `["a.b"]` and `["a", "b"]` as the same namespace."""
    for level in levels:
        if "." in level:
            raise InvalidInput(
                f"a level of a namespace cannot hold a dot here: {level!r}",
                hint="Iceberg catalogs would read it as two levels",
            )
    return levels
