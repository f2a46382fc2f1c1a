"""pylance reads and writes through every catalog, on every storage that its server supports; the pairs are printed."""

from collections.abc import Callable
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_ns

CATALOG_OF = {"polaris": ["lance"], "unity": ["lance"], "hive3": ["hive"]}
PAIRS = [
    ("s3", "dir", "object store"),
    *((server, "iceberg", storage) for server in ("iceberg", "iceberg-1.10") for storage in ("files", "object store")),
    ("nessie", "iceberg", "object store"),
    *(
        (server, backend, storage)
        for server, backend in {
            "unity": "unity",
            "polaris": "polaris",
            "glue": "glue",
            "hive3": "hive3",
            "hive4": "hive3",
        }.items()
        for storage in ("files", "object store")
    ),
]


def properties_on(live_server: Callable[[str], Any], server: str, storage: str) -> dict[str, Any]:
    """The properties of a connection whose tables lie on a storage."""
    properties = live_server(server).properties
    if storage == "object store" and not str(properties["root"]).startswith("s3://"):
        store = live_server("s3").properties
        properties |= {key: value for key, value in store.items() if key.startswith("storage.")}
        properties["root"] = f"{store['root'].rpartition('/')[0]}/{server}-pairs"
    return properties


@pytest.mark.parametrize(
    ("server", "backend", "storage"),
    [pytest.param(*pair, marks=pytest.mark.live(pair[0]), id=f"{pair[0]}-{pair[2]}") for pair in PAIRS],
)
def test_pylance_reads_and_writes_through_the_bridge(server, backend, storage, live_server, record_property):
    if storage == "object store" and live_server(server).version.startswith("olai-uc-server"):
        pytest.skip("the independent Unity server takes locations below its own root only")
    properties = properties_on(live_server, server, storage)
    assert properties.pop("backend") == backend
    above = [properties["warehouse"]] if backend == "iceberg" else CATALOG_OF.get(backend, [])
    table = [*above, f"pairs_{storage.replace(' ', '_')}", "docs"]
    first, more = pa.table({"id": [1, 2], "text": ["a", "b"]}), pa.table({"id": [3], "text": ["ü"]})
    with lance_ns.connect(backend, properties) as ns:
        ns.create_namespace(table[:-1])
        client = ns.as_lance()
        lance.write_dataset(first, namespace_client=client, table_id=table, mode="create")
        lance.write_dataset(more, namespace_client=client, table_id=table, mode="append")
        found = lance.dataset(namespace_client=client, table_id=table)
        assert found.to_table(columns=["id"]).column("id").to_pylist() == [1, 2, 3]
        location, options = found.uri, dict(ns.describe_table(table).storage_options or {})
        assert location.startswith("s3://") == (storage == "object store")
        ns.deregister_table(table)
        ns.drop_namespace(table[:-1])
    assert lance.dataset(location, storage_options=options).count_rows() == 3, "deregistering must keep the data"
    record_property("storage_pair", f"{backend} on {server} {live_server(server).version}: {storage}")
