"""What each server writes, runs and hands out, without starting the heavy ones."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import tarfile
import threading
import xml.etree.ElementTree as ET
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from servers import profiles
from servers.errors import Missing, NotReady, ServersError, StartFailed
from servers.kinds import hive, iceberg, unity
from servers.kinds.registry import SERVERS, select
from servers.probes import expect_ok, metastore_catalogs
from servers.state import Facts
from servers.versions import RELEASES, TIERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from servers.kinds.base import Machine

FACTS = Facts("x", "1", 1234, "http://127.0.0.1:1234", "", 1.0)


def test_the_table_of_versions_and_the_servers_are_the_same() -> None:
    assert list(SERVERS) == list(RELEASES)
    assert set(TIERS["live"]) == {"s3", "glue", "iceberg", "hive3"}


def test_a_tier_is_its_servers_and_a_server_brings_what_it_needs() -> None:
    assert [server.name for server in select(["live"])] == ["s3", "glue", "iceberg", "hive3"]
    assert [server.name for server in select(["nessie"])] == ["s3", "nessie"]


def test_a_misspelt_server_is_a_message_with_the_nearest_name() -> None:
    with pytest.raises(ServersError, match=r"there is no server `hive33`\. Did you mean hive3"):
        select(["hive33"])


def test_catalog_properties_become_the_environment_that_the_reference_server_reads() -> None:
    assert iceberg.variable_of("jdbc.strict-mode") == "CATALOG_JDBC_STRICT__MODE"
    assert iceberg.variable_of("catalog-impl") == "CATALOG_CATALOG__IMPL"


def test_configuration_of_a_metastore_is_xml_whatever_the_values_hold(tmp_path: Path) -> None:
    conf = hive.write_configuration(
        tmp_path / "conf", database=tmp_path / "a&b", warehouse=tmp_path / "w", s3={"fs.s3a.secret.key": "<&>"}
    )
    metastore = ET.parse(conf / "metastore-site.xml")
    core = ET.parse(conf / "core-site.xml")
    assert f"jdbc:derby:;databaseName={tmp_path}/a&b;create=true" in [each.text for each in metastore.iter("value")]
    assert [each.text for each in core.iter("value")] == ["<&>"]


def test_only_the_schema_scripts_are_taken_out_of_a_release(tmp_path: Path) -> None:
    source = tmp_path / "apache-hive"
    for name in ("scripts/metastore/upgrade/derby/a.sql", "scripts/metastore/upgrade/mysql/b.sql", "lib/c.jar"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(name)
    with tarfile.open(tmp_path / "release.tar.gz", "w:gz") as archive:
        archive.add(source, "apache-hive")
    hive.unpack_scripts(tmp_path / "release.tar.gz", tmp_path / "home")
    found = [str(path.relative_to(tmp_path / "home")) for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert found == ["scripts/metastore/upgrade/derby/a.sql"]


@pytest.mark.parametrize("name", SERVERS)
def test_profiles_are_toml_with_a_backend_and_a_place_for_data(machine: Machine, name: str) -> None:
    import tomllib

    offered = SERVERS[name].profiles(machine, FACTS)
    read = tomllib.loads(profiles.to_toml(offered))["profiles"]
    assert read == offered
    assert f"{name}-live" in read
    for profile in read.values():
        assert profile["backend"] in ("dir", "iceberg", "hive3", "glue", "unity", "polaris")
        assert profile["root"]
        assert any(FACTS.endpoint in str(value) for value in profile.values()) or name == "s3"


def test_profiles_are_only_for_what_is_up(machine: Machine) -> None:
    assert profiles.collect(machine, SERVERS.values()) == {}
    machine.server_state("unity").write_facts(Facts("unity", "1", 0, "http://elsewhere", "", 0.0, external=True))
    assert list(profiles.collect(machine, SERVERS.values())) == ["unity-live"]


def test_odd_values_survive_toml() -> None:
    import tomllib

    odd: dict[str, Any] = {"a.b c": {'storage."x"': 'quote " and \\ and é', "flag": True, "count": 3}}
    assert tomllib.loads(profiles.to_toml(odd))["profiles"] == odd


def test_secrets_are_random_kept_and_readable_by_their_owner_alone(machine: Machine, tmp_path: Path) -> None:
    from servers.kinds.base import Machine as Other

    other = Other.at(tmp_path / "cache", tmp_path / "other")
    assert machine.s3_secret_key == machine.s3_secret_key
    assert machine.s3_secret_key != other.s3_secret_key
    assert (machine.state / "secrets.json").stat().st_mode & 0o077 == 0


def test_the_store_keeps_its_address_for_servers_that_start_before_it(machine: Machine) -> None:
    assert machine.s3_endpoint == machine.s3_endpoint == f"http://127.0.0.1:{machine.ports.known('s3')}"


@pytest.mark.parametrize(("choice", "version"), [("moto", "moto 5.2.5"), ("versitygw", "versitygw 1.8.0")])
def test_the_store_can_be_chosen(machine: Machine, monkeypatch: pytest.MonkeyPatch, choice: str, version: str) -> None:
    monkeypatch.setenv("LANCE_NS_S3_SERVER", choice)
    assert SERVERS["s3"].version(machine) == version


def test_without_go_the_store_is_moto(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LANCE_NS_S3_SERVER", raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert SERVERS["s3"].version(machine) == "moto 5.2.5"


def test_a_store_that_does_not_exist_cannot_be_chosen(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANCE_NS_S3_SERVER", "minio")
    with pytest.raises(Missing, match="it can be `versitygw` or `moto`"):
        SERVERS["s3"].prepare(machine)


def test_a_store_without_moto_names_go_as_the_other_way(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    monkeypatch.setenv("LANCE_NS_S3_SERVER", "moto")
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "4.0.0")
    with pytest.raises(Missing, match="Or install Go, and versitygw is built instead"):
        SERVERS["s3"].prepare(machine)


def test_another_moto_than_the_pinned_one_is_a_message(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    monkeypatch.setattr(importlib.metadata, "version", lambda _: "4.0.0")
    with pytest.raises(Missing, match=r"glue needs moto 5\.2\.5, and 4.0.0 is installed"):
        SERVERS["glue"].prepare(machine)


def test_without_moto_the_message_says_how_to_install_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    def version(_: str) -> str:
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(Missing, match=r"pip install -r servers/requirements\.txt"):
        SERVERS["glue"].prepare(machine)


def test_without_anything_unity_says_what_could_be_had(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("UNITY_HOME", "UNITY_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(Missing, match=r"UNITY_HOME(.|\n)*UNITY_ENDPOINT(.|\n)*Cargo"):
        SERVERS["unity"].prepare(machine)


def test_a_unity_home_without_a_server_is_a_message(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("UNITY_HOME", str(tmp_path))
    with pytest.raises(Missing, match=r"there is no server in it"):
        SERVERS["unity"].prepare(machine)


def test_the_class_path_of_a_built_unity_is_what_its_build_wrote_down(tmp_path: Path) -> None:
    (tmp_path / "server/target/scala").mkdir(parents=True)
    (tmp_path / "server/target/scala/classpath").write_text("a.jar:b.jar\n")
    assert unity.class_path(tmp_path) == "a.jar:b.jar"


def test_an_official_unity_runs_from_the_jars_of_its_release(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars/unitycatalog-server-0.6.0.jar").write_text("")
    monkeypatch.setenv("UNITY_HOME", str(tmp_path))
    monkeypatch.delenv("UNITY_ENDPOINT", raising=False)
    assert SERVERS["unity"].version(machine) == "0.6.0"
    state = machine.server_state("unity")
    state.fresh()
    command = SERVERS["unity"].launch(machine, state, 4321).command
    assert command[-5:] == ["-cp", f"{tmp_path}/jars/*", "io.unitycatalog.server.UnityCatalogServer", "-p", "4321"]
    assert "server.authorization=disable" in (state.data / "etc/conf/server.properties").read_text()


def test_the_jars_of_a_unity_release_keep_the_order_that_it_was_built_with(tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    for name in ("guava-31.jar", "guava-33.jar", "unitycatalog-server-0.6.0.jar", "zzz.jar"):
        (tmp_path / "jars" / name).write_text("")
    order = (
        "/build/cache/guava-33.jar",
        "/build/cache/absent.jar",
        "/build/cache/guava-31.jar",
        "/build/cache/zzz.jar",
    )
    (tmp_path / "jars/classpath").write_text(":".join((*order, order[0])))
    names = [each.rpartition("/")[2] for each in unity.class_path(tmp_path).split(":")]
    assert names == ["guava-33.jar", "guava-31.jar", "zzz.jar", "unitycatalog-server-0.6.0.jar"]
    assert all(each.startswith(f"{tmp_path}/jars/") for each in unity.class_path(tmp_path).split(":"))


def test_without_anything_polaris_says_what_could_be_had(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("POLARIS_HOME", "POLARIS_ENDPOINT"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(Missing, match=r"POLARIS_HOME(.|\n)*quarkus-run.jar(.|\n)*POLARIS_ENDPOINT"):
        SERVERS["polaris"].prepare(machine)


def test_a_polaris_home_without_a_server_is_a_message(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POLARIS_HOME", str(tmp_path))
    with pytest.raises(Missing, match=r"there is no quarkus-run.jar in it"):
        SERVERS["polaris"].prepare(machine)


class Recorder(ThreadingHTTPServer):
    """Answers from a table, and remembers what was asked."""

    def __init__(self, answers: dict[str, tuple[int, Any]]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str, Any, str]] = []
        super().__init__(("127.0.0.1", 0), Answerer)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answerer(BaseHTTPRequestHandler):
    server: Recorder

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        self.server.asked.append((self.command, self.path, body, self.headers.get("Authorization", "")))
        status, document = self.server.answers.get(f"{self.command} {self.path}", (404, {}))
        self.send_response(status)
        self.end_headers()
        self.wfile.write(document if isinstance(document, bytes) else json.dumps(document).encode())

    do_GET = do_POST = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def recorder() -> Iterator[Callable[[dict[str, tuple[int, Any]]], Recorder]]:
    running: list[tuple[Recorder, threading.Thread]] = []

    def make(answers: dict[str, tuple[int, Any]]) -> Recorder:
        server = Recorder(answers)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        running.append((server, thread))
        return server

    yield make
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


def test_a_running_polaris_gets_a_catalog_on_files_and_a_principal_without_privileges(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, recorder: Callable[..., Recorder]
) -> None:
    server = recorder(
        {
            "POST /api/catalog/v1/oauth/tokens": (200, {"access_token": "abc"}),
            "POST /api/management/v1/catalogs": (409, {}),
            "POST /api/management/v1/principals": (201, {"credentials": {"clientId": "i", "clientSecret": "s"}}),
        }
    )
    monkeypatch.setenv("POLARIS_ENDPOINT", server.url)
    monkeypatch.setenv("POLARIS_CREDENTIAL", "root:toor")
    polaris = SERVERS["polaris"]
    facts = Facts("polaris", "1", 0, server.url, "", 0.0, external=True)
    polaris.check(machine, facts)
    polaris.settle(machine, facts)
    catalog = next(json.loads(body)["catalog"] for _, path, body, _ in server.asked if path.endswith("/catalogs"))
    assert catalog["storageConfigInfo"]["storageType"] == "FILE"
    assert {token for _, path, _, token in server.asked if "management" in path} == {"Bearer abc"}
    offered = polaris.profiles(machine, facts)
    assert offered["polaris-live"]["credential"] == "root:toor"
    assert offered["polaris-stranger-live"]["credential"] == "i:s"


@pytest.mark.parametrize("kept", ["i:s", None])
def test_a_running_polaris_that_has_a_stranger_keeps_ours_or_gets_another(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, recorder: Callable[..., Recorder], kept: str | None
) -> None:
    server = recorder(
        {
            "POST /api/catalog/v1/oauth/tokens": (200, {"access_token": "abc"}),
            "POST /api/management/v1/catalogs": (409, {}),
            "POST /api/management/v1/principals": (409, {}),
        }
    )
    monkeypatch.setenv("POLARIS_ENDPOINT", server.url)
    monkeypatch.setenv("POLARIS_CREDENTIAL", "root:toor")
    machine.secret("polaris-stranger", kept)
    facts = Facts("polaris", "1", 0, server.url, "", 0.0, external=True)
    with contextlib.nullcontext() if kept else pytest.raises(StartFailed, match="stranger"):
        SERVERS["polaris"].settle(machine, facts)
    asked = [json.loads(body)["principal"]["name"] for _, path, body, _ in server.asked if path.endswith("/principals")]
    assert asked[0] == "stranger"
    assert [name.startswith("stranger-") for name in asked[1:]] == ([] if kept else [True])


def test_a_running_polaris_without_a_credential_is_a_message(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLARIS_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.delenv("POLARIS_CREDENTIAL", raising=False)
    with pytest.raises(Missing, match="POLARIS_CREDENTIAL"):
        SERVERS["polaris"].check(machine, FACTS)


def test_a_running_unity_gets_its_catalog_and_keeps_the_users_token(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, recorder: Callable[..., Recorder]
) -> None:
    api = "/api/2.1/unity-catalog"
    exists = (400, {"error_code": "CATALOG_ALREADY_EXISTS"})
    server = recorder({f"GET {api}/catalogs": (200, {"catalogs": []}), f"POST {api}/catalogs": exists})
    monkeypatch.setenv("UNITY_ENDPOINT", f"{server.url}/")
    monkeypatch.setenv("UNITY_TOKEN", "abc")
    assert SERVERS["unity"].external() == server.url
    facts = Facts("unity", "1", 0, server.url, "", 0.0, external=True)
    SERVERS["unity"].check(machine, facts)
    SERVERS["unity"].settle(machine, facts)
    assert {token for *_, token in server.asked} == {"Bearer abc"}
    assert SERVERS["unity"].profiles(machine, facts)["unity-live"]["auth_token"] == "abc"


@pytest.mark.parametrize("answer", [(500, {}), (200, b"<html>"), (404, {})])
def test_an_http_check_wants_200_and_json(recorder: Callable[..., Recorder], answer: tuple[int, Any]) -> None:
    server = recorder({"GET /v1/config": answer})
    with pytest.raises(NotReady):
        expect_ok(f"{server.url}/v1/config")


def test_an_answer_that_is_not_http_is_not_ready() -> None:
    with pytest.raises(NotReady, match="did not answer in HTTP"):
        expect_ok(f"http://127.0.0.1:{thrift_server(b'SSH-2.0-x' + bytes(2))}")


def thrift_server(answer: bytes) -> int:
    """Answers one call with these bytes; ends by itself."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with listener, listener.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return int(listener.getsockname()[1])


def reply(kind: int, body: bytes) -> bytes:
    return struct.pack(">Ii", 0x80010000 | kind, 12) + b"get_catalogs" + struct.pack(">i", 1) + body


def test_catalogs_are_read_from_a_metastores_answer() -> None:
    names = b"".join(struct.pack(">i", len(name)) + name for name in (b"hive", b"two"))
    body = struct.pack(">bhbhbi", 12, 0, 15, 1, 11, 2) + names + b"\0\0"
    assert metastore_catalogs("127.0.0.1", thrift_server(reply(2, body))) == ["hive", "two"]


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 400", reply(3, b"\0"), reply(2, b"\0"), reply(2, struct.pack(">bh", 12, 1))[:-1]],
)
def test_anything_else_from_a_metastore_is_not_ready(answer: bytes) -> None:
    with pytest.raises(NotReady):
        metastore_catalogs("127.0.0.1", thrift_server(answer))


def test_a_metastore_that_does_not_listen_is_not_ready() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(NotReady, match="refused"):
        metastore_catalogs("127.0.0.1", port)
