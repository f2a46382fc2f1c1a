"""One pipeline over every live catalog: ingest on the object store, copy to each, inventory of all, maintain."""

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_ns
from lance_ns_spark.arrow_files import located

ABOVE = {"polaris": ["lance"], "unity": ["lance"], "hive3": ["hive"]}
"""The levels above a namespace, for catalogs that have some."""
CATALOGS = ("glue", "iceberg", "hive3", "hive4", "iceberg-1.10", "nessie", "unity", "polaris")
ROWS = 2_000


class Catalog:
    """A live catalog whose tables lie on the object store, and a namespace of it."""

    def __init__(self, name: str, properties: dict[str, Any], namespace: str) -> None:
        self.name = name
        self.properties = dict(properties)
        self.backend = str(self.properties.pop("backend"))
        above = [self.properties["warehouse"]] if self.backend == "iceberg" else ABOVE.get(self.backend, [])
        self.namespace = "$".join([*above, namespace])

    def profile(self) -> str:
        lines = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in self.properties.items()]
        return "\n".join([f'[profiles.{json.dumps(self.name)}]\nbackend = "{self.backend}"', *lines, ""])

    def connect(self) -> lance_ns.Namespace:
        return lance_ns.connect(self.backend, self.properties)


@pytest.fixture
def catalogs(live_server: Callable[[str], Any]) -> Iterator[list[Catalog]]:
    """The object store's own directory first, then every catalog that this tier of servers has."""
    namespace = f"pipeline_{uuid.uuid4().hex[:8]}"
    found = []
    for name in ("s3", *CATALOGS):
        try:
            profiles = live_server(name).profiles.values()
        except pytest.skip.Exception:
            assert name not in ("s3", "glue", "iceberg", "hive3"), f"{name} is in every tier"
            continue
        on_store = next((each for each in profiles if str(each.get("root", "")).startswith("s3://")), None)
        if on_store is not None:
            found.append(Catalog(name, on_store, namespace))
    assert {"s3", "glue", "iceberg", "hive3"} <= {each.name for each in found}, "they have tables on the object store"
    yield found
    for catalog in found:
        with catalog.connect() as ns:
            if not ns.namespace_exists(catalog.namespace):
                continue
            for table in list(ns.list_tables(catalog.namespace)):
                ns.deregister_table(f"{catalog.namespace}${table}")
            ns.drop_namespace(catalog.namespace)


def step(**fields: Any) -> dict[str, Any]:
    return fields


@pytest.mark.live("s3", "glue", "iceberg", "hive3")
def test_a_pipeline_ingests_copies_to_every_catalog_takes_an_inventory_and_maintains(catalogs, tmp_path):
    lake, *others = catalogs
    with lake.connect() as ns:
        ns.create_namespace(lake.namespace)
        raw = f"{lake.properties['root']}/{lake.namespace}-raw"
        filesystem, directory = located(raw, ns.storage)
    for number in range(2):
        vectors = pa.array([[float(each), 1.0, 2.0, 3.0] for each in range(ROWS // 2)], pa.list_(pa.float32()))
        rows = pa.table({"id": range(number * ROWS // 2, (number + 1) * ROWS // 2), "vector": vectors})
        with filesystem.open_output_stream(f"{directory}/{number}.parquet") as opened:
            pq.write_table(rows, opened)
    docs = f"{lake.namespace}$docs"
    steps = [
        step(
            ingest={"format": "parquet", "path": f"{raw}/*.parquet", "profile": lake.name},
            into={"profile": lake.name, "table": docs},
            vectors={"vector": 4},
            files={"rows_per_file": 500},
        ),
        *(
            step(
                copy={"profile": lake.name, "tables": [docs]},
                to={"profile": each.name, "namespace": each.namespace},
                name=f"copy to {each.name}",
            )
            for each in others
        ),
        step(
            inventory=[{"profile": each.name, "namespace": each.namespace} for each in catalogs],
            report=str(tmp_path / "report.html"),
            parquet=str(tmp_path / "inventory.parquet"),
        ),
        *(
            step(
                maintain={"profile": each.name, "tables": [f"{each.namespace}$docs"]},
                indexes=[{"column": "id", "type": "BTREE"}],
                name=f"maintain {each.name}",
            )
            for each in catalogs
        ),
    ]
    (tmp_path / "lance-ns.toml").write_text("\n".join(each.profile() for each in catalogs))
    import yaml

    (tmp_path / "pipeline.yaml").write_text(yaml.safe_dump({"name": lake.namespace, "step": steps}))
    result = run(tmp_path)
    assert result.returncode == 0, result.stderr
    secret = str(lake.properties["storage.aws_secret_access_key"])
    told = (tmp_path / "result.json").read_text()
    assert secret not in told + result.stdout + result.stderr + (tmp_path / "report.html").read_text()
    assert {each["state"] for each in json.loads(told)["steps"]} == {"done"}

    listed = {row["catalog"]: row for row in pq.read_table(tmp_path / "inventory.parquet").to_pylist()}
    assert set(listed) == {each.name for each in catalogs}
    for catalog in catalogs:
        assert listed[catalog.name]["rows"] == ROWS
        assert listed[catalog.name]["location"].startswith("s3://")
        with catalog.connect() as ns:
            dataset = ns.dataset(f"{catalog.namespace}$docs")
            assert dataset.uri.startswith("s3://")
            assert sorted(dataset.to_table(columns=["id"]).column("id").to_pylist()) == list(range(ROWS))
            assert dataset.schema.field("vector").type == pa.list_(pa.float32(), 4)
            assert len(dataset.get_fragments()) == 1, "maintained: compacted"
            assert [index.name for index in dataset.describe_indices()] == ["id_idx"]

    again = run(tmp_path, "--only", "ingest", "--only", "copy")
    assert again.returncode == 0, again.stderr
    states = {each["state"] for each in json.loads((tmp_path / "result.json").read_text())["steps"]}
    assert states == {"again"}, "the same pipeline writes once"


def run(directory: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [Path(sys.executable).with_name("lance-ns"), "pipeline", "run", "pipeline.yaml"]
    settings = ["--master", "local[2]", "--conf", "spark.ui.enabled=false", "--result", "result.json"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("LANCE_NS_")}
    return subprocess.run(
        [*command, *settings, *options], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
