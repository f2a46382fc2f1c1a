"""How the conformance kit reaches metastores, and in what they differ: plain data, no import of the kit."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lance_ns_hive3.metastore import locks, transport, uris
from lance_ns_hive3.metastore.client import Metastore
from lance_ns_hive3.metastore.errors import NoSuchObject
from lance_ns_hive3.metastore.settings import Settings
from lance_ns_hive3.metastore.structs import FieldSchema, SerDeInfo, StorageDescriptor, Table

RECORDS = "thrift"
ENDPOINT = "uri"
HASTY = {"read_timeout": 1}
PROPERTIES = {"uri": "thrift://metastore.invalid:9083", "root": "{scratch}/lake"}
EXPECTATIONS = {"base": ["hive"], "max_depth": 1, "folds_case": True}
SERVERS = {
    "hive-3.1.3": {"starts": "hive3"},
    "hive-4.0.1": {"starts": "hive4"},
}


@contextmanager
def transports(wrap: Callable[[Any], Any]) -> Iterator[None]:
    """Where the kit records and replays; what locks say of us is the same on every machine then."""
    with transport.transports(wrap), locks.known_as("conformance"):
        yield


class HiveNative:
    """The metastore's own calls, without our backend."""

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._metastore = Metastore(Settings(addresses=uris.parse(properties["uri"]), connections=1))
        self._root = str(properties["root"])

    def version(self) -> str:
        """What the server calls its version, which is not always its own."""
        return f"Hive Metastore {self._metastore.get_version()}"

    def make_foreign(self, namespace: tuple[str, ...], prefix: str) -> dict[str, str]:
        """A managed table that is marked as lance, an external one without a mark, and one with another."""
        kinds = {
            "managed": ({"table_type": "lance"}, "a managed table with table_type=lance"),
            "plain": ({"EXTERNAL": "TRUE"}, "an external table without table_type"),
            "delta": ({"EXTERNAL": "TRUE", "table_type": "delta"}, "an external table with table_type=delta"),
        }
        for kind, (parameters, _) in kinds.items():
            location = None if kind == "managed" else f"{self._root}/{namespace[-1]}_{prefix}_{kind}"
            self._create((*namespace, f"{prefix}_{kind}"), location, parameters)
        managed = (*namespace, f"{prefix}_managed")
        made = self.table(managed)
        if made is not None and made.table_type != "MANAGED_TABLE":  # Hive 4 makes external tables of such ones
            self.remove(managed)
            del kinds["managed"]
        return {f"{prefix}_{kind}": words for kind, (_, words) in kinds.items()}

    def make_lance(self, id: tuple[str, ...], location: str, spelling: str) -> None:
        """An external table that is marked as Lance."""
        self._create(id, location, {"EXTERNAL": "TRUE", "table_type": spelling})

    def table(self, id: tuple[str, ...]) -> Table | None:
        """What the metastore has of a table."""
        try:
            catalog, database, name = id
            return self._metastore.get_table(catalog, database, name)
        except NoSuchObject:
            return None

    def holds(self, id: tuple[str, ...]) -> bool:
        """Whether the metastore has the table."""
        return self.table(id) is not None

    def remove(self, id: tuple[str, ...]) -> None:
        """Drop the table without its data."""
        catalog, database, name = id
        self._metastore.drop_table(catalog, database, name)

    @property
    def metastore(self) -> Metastore:
        """All calls there are."""
        return self._metastore

    def close(self) -> None:
        """Close the connection."""
        self._metastore.close()

    def _create(self, id: tuple[str, ...], location: str | None, parameters: dict[str, str]) -> None:
        catalog, database, name = id
        self._metastore.create_table(
            Table(
                cat_name=catalog,
                db_name=database,
                table_name=name,
                table_type="EXTERNAL_TABLE" if "EXTERNAL" in parameters else "MANAGED_TABLE",
                parameters=parameters,
                partition_keys=[],
                sd=StorageDescriptor(
                    cols=[FieldSchema(name="v", type="bigint")],
                    location=location,
                    input_format="org.apache.hadoop.mapred.TextInputFormat",
                    output_format="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
                    serde_info=SerDeInfo(
                        serialization_lib="org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", parameters={}
                    ),
                    parameters={},
                ),
            )
        )


def native(properties: Mapping[str, Any]) -> HiveNative:
    """A client of the metastore that is not our backend."""
    return HiveNative(properties)
