"""The real servers: they start, answer, share their storage, and are missed when they are killed."""

from __future__ import annotations

import json
import os
import re
import signal
import struct
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from servers import faults, lifecycle
from servers.errors import NotReady
from servers.kinds.base import BUCKET, Machine
from servers.kinds.registry import SERVERS
from servers.paths import cache_directory
from servers.probes import http_json, metastore_catalogs
from servers.processes import Identity
from servers.tests.waiting import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers.pytest_plugin import LiveServer

    Live = Callable[[str], LiveServer]

ICEBERG = ["iceberg", "iceberg-lenient", "iceberg-1.10", "nessie"]
SCHEMA = {"type": "struct", "fields": [{"id": 1, "name": "x", "type": "string", "required": False}]}


def live(*names: str) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.live(name)) for name in names]


def s3_client(profile: dict[str, Any]) -> Any:
    import botocore.session

    return botocore.session.Session().create_client(
        "s3",
        region_name="us-east-1",
        endpoint_url=profile["storage.aws_endpoint"],
        aws_access_key_id=profile["storage.aws_access_key_id"],
        aws_secret_access_key=profile["storage.aws_secret_access_key"],
    )


def keys_below(profile: dict[str, Any], prefix: str) -> list[str]:
    answer = s3_client(profile).list_objects_v2(Bucket=BUCKET, Prefix=prefix)
    return [each["Key"] for each in answer.get("Contents", [])]


def create_iceberg_table(server: LiveServer, location: str | None) -> tuple[str, int, Any]:
    prefix = "/main%7Cwarehouse" if server.name == "nessie" else ""
    namespace = f"ns_{uuid.uuid4().hex[:10]}"
    base = f"{server.endpoint}/v1{prefix}/namespaces"
    assert http_json(base, {"namespace": [namespace]}, method="POST")[0] == 200
    table = {"name": "t", "schema": SCHEMA, "stage-create": False} | ({"location": location} if location else {})
    status, answer = http_json(f"{base}/{namespace}/tables", table, method="POST")
    return namespace, status, answer


@pytest.mark.parametrize("name", live(*ICEBERG))
def test_an_iceberg_server_creates_a_table_on_the_object_store(live_server: Live, name: str) -> None:
    store = live_server("s3")
    place = f"{name}/{uuid.uuid4().hex}"
    _, status, answer = create_iceberg_table(live_server(name), f"s3://{BUCKET}/{place}")
    assert status == 200
    written = answer["metadata"]["location"].removeprefix(f"s3://{BUCKET}/")
    assert any(key.endswith(".metadata.json") for key in keys_below(store.properties, written))
    if name != "nessie":
        assert written == place


@pytest.mark.parametrize("name", live("iceberg", "iceberg-lenient", "iceberg-1.10"))
def test_an_iceberg_server_creates_a_table_on_local_files(live_server: Live, name: str, tmp_path: Path) -> None:
    _, status, _ = create_iceberg_table(live_server(name), tmp_path.as_uri())
    assert status == 200
    assert list(tmp_path.glob("metadata/*.metadata.json"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("iceberg", 404, marks=pytest.mark.live("iceberg")),
        pytest.param("iceberg-lenient", 200, marks=pytest.mark.live("iceberg-lenient")),
        pytest.param("iceberg-1.10", 404, marks=pytest.mark.live("iceberg-1.10")),
    ],
)
def test_only_the_lenient_server_takes_a_table_in_a_namespace_that_is_not_there(
    live_server: Live, name: str, expected: int
) -> None:
    server = live_server(name)
    missing = f"missing_{uuid.uuid4().hex[:10]}"
    table = {"name": "t", "schema": SCHEMA, "stage-create": False}
    assert http_json(f"{server.endpoint}/v1/namespaces/{missing}/tables", table, method="POST")[0] == expected


def create_catalog(port: int, name: str, location: str) -> bytes:
    """A raw create_catalog; what comes after the header of the answer, a single stop byte for success."""
    import socket

    def text(field: int, value: str) -> bytes:
        return struct.pack(">bhi", 11, field, len(value)) + value.encode()

    catalog = text(1, name) + text(3, location) + b"\0"
    request = struct.pack(">bh", 12, 1) + catalog + b"\0"
    arguments = struct.pack(">bh", 12, 1) + request + b"\0"
    method = b"create_catalog"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(struct.pack(">Ii", 0x80010001, len(method)) + method + struct.pack(">i", 1) + arguments)
        answer = b""
        while len(answer) < 12 + len(method) + 1:
            data = connection.recv(65536)
            if not data:
                break
            answer += data
    return answer[12 + len(method) :]


@pytest.mark.parametrize("name", live("hive3", "hive4"))
def test_a_metastore_makes_catalogs_on_files_and_on_the_object_store(
    live_server: Live, name: str, tmp_path: Path
) -> None:
    store, metastore = live_server("s3"), live_server(name)
    made = {f"c{uuid.uuid4().hex[:10]}": f"{scheme}://{BUCKET}/{name}" for scheme in ("s3", "s3a")}
    made[f"c{uuid.uuid4().hex[:10]}"] = tmp_path.as_uri()
    for catalog, location in made.items():
        assert create_catalog(metastore.port, catalog, f"{location}/{catalog}") == b"\0", location
    assert set(made) < set(metastore_catalogs("127.0.0.1", metastore.port))
    for catalog, location in made.items():
        if location.startswith("s3"):
            assert keys_below(store.properties, f"{name}/{catalog}")
    assert list(tmp_path.iterdir())


@pytest.mark.live("s3")
def test_the_object_store_refuses_a_second_conditional_write(live_server: Live) -> None:
    import botocore.exceptions

    store = s3_client(live_server("s3").properties)
    key = uuid.uuid4().hex
    store.put_object(Bucket=BUCKET, Key=key, Body=b"first", IfNoneMatch="*")
    with pytest.raises(botocore.exceptions.ClientError, match="PreconditionFailed"):
        store.put_object(Bucket=BUCKET, Key=key, Body=b"second", IfNoneMatch="*")
    assert store.get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"first"


@pytest.mark.live("glue")
def test_glue_folds_names_and_starts_versions_at_zero(live_server: Live) -> None:
    import botocore.session

    properties = live_server("glue").properties
    glue = botocore.session.Session().create_client(
        "glue",
        region_name=properties["region"],
        endpoint_url=properties["endpoint"],
        aws_access_key_id=properties["access_key_id"],
        aws_secret_access_key=properties["secret_access_key"],
    )
    name = f"DB_{uuid.uuid4().hex[:10]}"
    glue.create_database(DatabaseInput={"Name": name})
    glue.create_table(DatabaseName=name, TableInput={"Name": "T"})
    assert glue.get_table(DatabaseName=name.lower(), Name="t")["Table"]["VersionId"] == "0"


def unity_header(server: LiveServer) -> dict[str, str]:
    token = server.properties.get("auth_token")
    return {"Authorization": f"Bearer {token}"} if token else {}


def external_table(server: LiveServer, schema: str) -> dict[str, Any]:
    return {
        "name": "t",
        "catalog_name": server.properties["catalog"],
        "schema_name": schema,
        "table_type": "EXTERNAL",
        "data_source_format": "TEXT",
        "storage_location": f"file://{server.properties['root']}/{schema}/t",
        "columns": [],
        "properties": {"table_type": "lance"},
    }


@pytest.mark.live("unity")
def test_unity_has_the_catalog_of_its_profile_and_takes_an_external_table(live_server: Live) -> None:
    server = live_server("unity")
    header = unity_header(server)
    api = f"{server.endpoint}/api/2.1/unity-catalog"
    catalog = server.properties["catalog"]
    assert http_json(f"{api}/catalogs/{catalog}", headers=header)[0] == 200
    schema = f"s{uuid.uuid4().hex[:10]}"
    new = {"name": schema, "catalog_name": catalog}
    assert http_json(f"{api}/schemas", new, method="POST", headers=header)[0] in (200, 201)
    table = external_table(server, schema)
    status, answer = http_json(f"{api}/tables", table, method="POST", headers=header)
    assert status in (200, 201), answer
    status, found = http_json(f"{api}/tables/{catalog}.{schema}.t", headers=header)
    assert status == 200
    assert (found["storage_location"], found["properties"]) == (table["storage_location"], table["properties"])
    status, listed = http_json(f"{api}/tables?catalog_name={catalog}&schema_name={schema}", headers=header)
    assert (status, [each["name"] for each in listed["tables"]]) == (200, ["t"])
    assert http_json(f"{api}/tables/{catalog}.{schema}.missing", headers=header)[0] == 404


@pytest.mark.live("unity")
def test_the_official_unity_runs_from_its_release_and_keeps_a_schema_that_is_not_empty(live_server: Live) -> None:
    server = live_server("unity")
    if not os.environ.get("UNITY_HOME") or os.environ.get("UNITY_ENDPOINT"):
        pytest.skip("not an official server from UNITY_HOME")
    assert re.match(r"\d+\.\d+", server.version)
    api = f"{server.endpoint}/api/2.1/unity-catalog"
    schema = f"s{uuid.uuid4().hex[:10]}"
    catalog = server.properties["catalog"]
    new = {"name": schema, "catalog_name": catalog}
    assert http_json(f"{api}/schemas", new, method="POST")[0] == 200
    table = external_table(server, schema)
    assert http_json(f"{api}/tables", table, method="POST")[0] == 200
    status, answer = http_json(f"{api}/schemas/{catalog}.{schema}", method="DELETE")
    assert (status, answer["error_code"]) == (400, "FAILED_PRECONDITION")
    assert http_json(f"{api}/schemas/{catalog}.{schema}?force=true", method="DELETE")[0] == 200
    assert http_json(f"{api}/tables/{catalog}.{schema}.t")[0] == 404


def polaris_header(server: LiveServer, profile: str) -> dict[str, str]:
    from servers.kinds.polaris import token_of

    client, _, secret = str(server.profiles[profile]["credential"]).partition(":")
    return {"Authorization": f"Bearer {token_of(server.endpoint, client, secret)}"}


@pytest.mark.live("polaris")
def test_polaris_has_the_catalog_and_takes_a_generic_table(live_server: Live) -> None:
    server = live_server("polaris")
    header = polaris_header(server, "polaris-live")
    namespace = f"ns_{uuid.uuid4().hex[:10]}"
    namespaces = f"{server.endpoint}/api/catalog/v1/lance/namespaces"
    assert http_json(namespaces, {"namespace": [namespace]}, method="POST", headers=header)[0] == 200
    tables = f"{server.endpoint}/api/catalog/polaris/v1/lance/namespaces/{namespace}/generic-tables"
    place = f"file://{server.properties['root']}/{namespace}/t"
    table = {"name": "t", "format": "lance", "base-location": place, "properties": {"k": "v"}}
    status, answer = http_json(tables, table, method="POST", headers=header)
    assert status == 200, answer
    status, found = http_json(f"{tables}/t", headers=header)
    assert status == 200
    assert {key: found["table"][key] for key in table} == table
    status, listed = http_json(tables, headers=header)
    assert (status, listed["identifiers"]) == (200, [{"namespace": [namespace], "name": "t"}])
    status, answer = http_json(f"{namespaces}/{namespace}", method="DELETE", headers=header)
    assert (status, answer["error"]["type"]) == (409, "NamespaceNotEmptyException")
    assert http_json(namespaces)[0] == 401


@pytest.mark.live("polaris")
def test_polaris_has_a_principal_without_privileges(live_server: Live) -> None:
    server = live_server("polaris")
    header = polaris_header(server, "polaris-stranger-live")
    namespaces = f"{server.endpoint}/api/catalog/v1/lance/namespaces"
    assert http_json(namespaces, headers=polaris_header(server, "polaris-live"))[0] == 200
    assert http_json(namespaces, headers=header)[0] == 403
    status, answer = http_json(namespaces, {"namespace": ["never"]}, method="POST", headers=header)
    assert (status, answer["error"]["type"]) == (403, "ForbiddenException")


@pytest.mark.live("iceberg")
def test_a_real_server_behind_the_fault_proxy_does_what_its_client_never_hears_of(live_server: Live) -> None:
    server = live_server("iceberg")
    name = f"ns_{uuid.uuid4().hex[:10]}"
    with faults.FaultProxy("127.0.0.1", server.port) as proxy:
        proxy.order(faults.reset_after())
        with pytest.raises(OSError, match="reset"):
            http_json(f"{proxy.url}/v1/namespaces", {"namespace": [name]}, method="POST")
        assert http_json(f"{proxy.url}/v1/namespaces/{name}")[0] == 200


@pytest.mark.live("hive3")
def test_a_real_metastore_behind_the_raw_proxy_is_reset_and_comes_back(live_server: Live) -> None:
    port = live_server("hive3").port
    with faults.FaultProxy("127.0.0.1", port, protocol="tcp") as proxy:
        proxy.order(faults.reset_before(), faults.truncated(keep=8))
        for _ in range(2):
            with pytest.raises(NotReady):
                metastore_catalogs(proxy.host, proxy.port)
        assert "hive" in metastore_catalogs(proxy.host, proxy.port)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Machine]:
    """A state directory of the test's own on the common cache: what is killed here disturbs nobody."""
    machine = Machine.at(cache_directory(), tmp_path / "state")
    yield machine
    lifecycle.down(machine, SERVERS.values())


@pytest.mark.parametrize("name", live("hive3", "iceberg", "s3", "glue", "unity", "polaris"))
def test_a_killed_server_is_seen_as_died_and_starts_anew(live_server: Live, own: Machine, name: str) -> None:
    live_server(name)
    server = SERVERS[name]
    if server.external():
        pytest.skip(f"{name} is somebody else's")
    me = Identity.current()
    (outcome,) = lifecycle.up(own, [server], holder=me)
    assert outcome.problem is None
    before = lifecycle.status(own, server)
    assert (before.condition, before.port) == ("up", outcome.facts.port if outcome.facts else None)
    assert before.memory_mib
    assert before.pid
    killed = Identity.of(before.pid)
    assert killed
    os.kill(before.pid, signal.SIGKILL)
    eventually(lambda: not killed.alive())
    after = lifecycle.status(own, server)
    assert after.condition == "died"
    assert f"python -m servers up {name}" in after.advice
    (again,) = lifecycle.up(own, [server], holder=me)
    assert again.problem is None
    assert lifecycle.status(own, server).condition == "up"
    assert lifecycle.status(own, server).port == before.port
    lifecycle.down(own, [server])
    assert own.server_state(name).processes() == []


@pytest.mark.live("hive3")
def test_profiles_of_live_servers_are_what_lance_ns_reads(live_server: Live) -> None:
    import tomllib

    from servers.profiles import to_toml

    server = live_server("hive3")
    read = tomllib.loads(to_toml(server.profiles))["profiles"]["hive3-live"]
    assert read == {"backend": "hive3", "uri": server.endpoint, "root": read["root"]}
    assert json.dumps(read)


@pytest.mark.live("s3")
def test_pylance_writes_and_reads_on_the_object_store_with_the_profiles_storage_properties(live_server: Live) -> None:
    lance = pytest.importorskip("lance")
    pyarrow = pytest.importorskip("pyarrow")
    profile = live_server("s3").properties
    options = {key.removeprefix("storage."): value for key, value in profile.items() if key.startswith("storage.")}
    place = f"{profile['root']}/{uuid.uuid4().hex}.lance"
    table = pyarrow.table({"x": [1, 2, 3]})
    lance.write_dataset(table, place, storage_options=options)
    assert lance.dataset(place, storage_options=options).to_table() == table
