"""Every server by name, in the order of the table of versions."""

import difflib
from collections.abc import Iterable

from servers.errors import ServersError
from servers.kinds.aws import Glue, ObjectStore
from servers.kinds.base import Server
from servers.kinds.hive import Hive
from servers.kinds.iceberg import Iceberg
from servers.kinds.nessie import Nessie
from servers.kinds.polaris import Polaris
from servers.kinds.unity import Unity
from servers.versions import TIERS

_TOOLS = "org.apache.hadoop.hive.metastore.tools"

SERVERS: dict[str, Server] = {
    server.name: server
    for server in (
        ObjectStore("s3"),
        Glue("glue"),
        Iceberg("iceberg", strict=True),
        Iceberg("iceberg-lenient", strict=False),
        Iceberg("iceberg-1.10", strict=True),
        Hive("hive3", schema_tool=f"{_TOOLS}.MetastoreSchemaTool"),
        Hive("hive4", schema_tool=f"{_TOOLS}.schematool.MetastoreSchemaTool"),
        Nessie("nessie"),
        Unity("unity"),
        Polaris("polaris"),
    )
}


def select(words: Iterable[str]) -> list[Server]:
    """The servers that the words name (servers and tiers), with those they need, in an order that works."""
    wanted: set[str] = set()

    def add(name: str) -> None:
        wanted.add(name)
        for needed in SERVERS[name].needs:
            add(needed)

    for word in words:
        if word not in SERVERS and word not in TIERS:
            close = difflib.get_close_matches(word, [*SERVERS, *TIERS], 1)
            hint = f" Did you mean {close[0]}?" if close else ""
            message = (
                f"there is no server `{word}`.{hint} There are: {', '.join(SERVERS)}; and the tiers {', '.join(TIERS)}."
            )
            raise ServersError(message)
        for name in TIERS.get(word, (word,)):
            add(name)
    return [server for name, server in SERVERS.items() if name in wanted]
