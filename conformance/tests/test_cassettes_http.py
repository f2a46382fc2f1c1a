"""HTTP through the recorder: exact with many threads, over http and https, for several clients."""

import http.client
import json
import logging
import ssl
import threading
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import urllib3

from lance_ns_conformance.cassettes import http as wire
from lance_ns_conformance.cassettes.form import CassetteError
from lance_ns_conformance.cassettes.network import blocked
from lance_ns_conformance.cassettes.scrubbing import scrubbed
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.subject import Description

THREADS, EACH = 8, 25
ANY = Description(backend="any", records="http")


def recorder() -> Recorder:
    return Recorder(scrubbed, wire.line)


def player(recorded: Recorder) -> Player:
    return Player(recorded.interactions(), wire.comparable, wire.line, name="x.yaml", hint="record it again")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The same kind of service with TLS, and the certificate to trust."""
    certificate, key = _certificate(tmp_path_factory.mktemp("tls"))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = json.dumps({"path": self.path}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}", certificate
    server.shutdown()
    server.server_close()
    thread.join()


def _certificate(directory: Any) -> tuple[str, str]:
    import datetime as dt
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (directory / "cert.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (directory / "key.pem").write_bytes(key.private_bytes(pem, *plain))
    return str(directory / "cert.pem"), str(directory / "key.pem")


def from_threads(url: str, **options: Any) -> list[Any]:
    """What each of many requests of several threads is answered, each thread with pools of its own, too."""
    shared = urllib3.PoolManager(maxsize=THREADS, retries=False, **options)
    gate = threading.Barrier(THREADS)

    def ask(thread: int) -> list[Any]:
        own = urllib3.PoolManager(retries=False, **options)
        gate.wait()
        return [
            (own if number % 5 else shared)
            .request("GET", f"{url}/t{thread}/n{number}?blank=&x={number}")
            .json()["path"]
            for number in range(EACH)
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        return [path for paths in pool.map(ask, range(THREADS)) for path in paths]


def test_many_threads_are_recorded_and_replayed_exactly(service):
    kept = recorder()
    with wire.intercepted(kept, ANY):
        live = from_threads(service.url)
    assert len(set(live)) == THREADS * EACH
    assert len(kept.interactions()) == THREADS * EACH, "requests went past the recorder"
    asked = service.store.asked
    played = player(kept)
    with blocked(played.note), wire.intercepted(played, ANY):
        assert from_threads("http://elsewhere.invalid") == live
    played.check()
    assert service.store.asked == asked


def test_many_threads_are_recorded_and_replayed_exactly_with_tls(secure):
    url, certificate = secure
    kept = recorder()
    with wire.intercepted(kept, ANY):
        live = from_threads(url, ca_certs=certificate)
    assert len(kept.interactions()) == THREADS * EACH
    played = player(kept)
    with blocked(played.note), wire.intercepted(played, ANY):
        assert from_threads(url, ca_certs=certificate) == live
    played.check()


def test_the_same_request_from_many_threads_gets_every_answer_once(service):
    def numbers(url: str) -> Counter[int]:
        pool = urllib3.PoolManager(maxsize=THREADS, retries=False)
        with ThreadPoolExecutor(THREADS) as threads:
            return Counter(
                threads.map(lambda _: pool.request("GET", f"{url}/same").json()["number"], range(THREADS * EACH))
            )

    kept = recorder()
    with wire.intercepted(kept, ANY):
        live = numbers(service.url)
    played = player(kept)
    with blocked(played.note), wire.intercepted(played, ANY):
        assert numbers(service.url) == live
    played.check()


def test_nothing_stays_patched(service):
    import vcr.patch

    before = (
        vcr.patch.force_reset,
        urllib3.connectionpool.HTTPConnectionPool.ConnectionCls,
        http.client.HTTPConnection,
    )
    for tape in (recorder(), player(recorder())):
        with wire.intercepted(tape, ANY):
            assert vcr.patch.force_reset is not before[0]
    after = (vcr.patch.force_reset, urllib3.connectionpool.HTTPConnectionPool.ConnectionCls, http.client.HTTPConnection)
    assert after == before
    assert urllib3.request("GET", f"{service.url}/after").status == 200


def by_urllib(url: str) -> Any:
    with urllib.request.urlopen(url) as answer:
        return answer.read()


def by_http_client(url: str) -> Any:
    connection = http.client.HTTPConnection(url.split("/")[2])
    try:
        connection.request("GET", "/" + url.split("/", 3)[3])
        return connection.getresponse().read()
    finally:
        connection.close()


def by_urllib3(url: str) -> Any:
    return urllib3.request("GET", url).data


@pytest.mark.parametrize("client", [by_urllib, by_http_client, by_urllib3], ids=lambda client: client.__name__[3:])
def test_packed_answers_are_kept_unpacked_for_every_client(service, client):
    kept = recorder()
    with wire.intercepted(kept, ANY):
        client(f"{service.url}/packed?x=1")
    (interaction,) = kept.interactions()
    assert interaction["response"]["json"]["path"] == "/packed"
    assert set(interaction["response"]["headers"]) == {"Content-Type", "Retry-After"}
    played = player(kept)
    with blocked(), wire.intercepted(played, ANY):
        assert json.loads(client("http://elsewhere/packed?x=1")) == interaction["response"]["json"]


def test_botocore_is_recorded_and_told_apart_by_its_target(service):
    import botocore.session
    from botocore.config import Config

    def call() -> None:
        session = botocore.session.get_session()
        session.set_credentials("AKIAIOSFODNN7EXAMPLE", "secret-of-nobody", "token-of-nobody")
        glue = session.create_client(
            "glue", region_name="us-east-1", endpoint_url=service.url, config=Config(retries={"total_max_attempts": 1})
        )
        for ask in (glue.get_databases, lambda: glue.get_tables(DatabaseName="d")):
            with pytest.raises(glue.exceptions.ClientError):
                ask()

    kept = recorder()
    with wire.intercepted(kept, ANY):
        call()
    shown = json.dumps(kept.interactions())
    targets = [each["request"]["headers"]["X-Amz-Target"] for each in kept.interactions()]
    assert targets == ["AWSGlue.GetDatabases", "AWSGlue.GetTables"]
    for secret in ("AKIA", "nobody", "Signature", "amz-sdk"):
        assert secret not in shown
    played = player(kept)
    with blocked(played.note), wire.intercepted(played, ANY):
        call()
    played.check()


REQUEST = {
    "method": "POST",
    "uri": "http://a/v1/x?b=&a=1",
    "headers": {"X-Amz-Target": "T"},
    "json": {"k": [1, {"z": 2}]},
}


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"method": "PUT"}, 'method: recorded "POST", sent "PUT"'),
        ({"uri": "http://a/v1/y?b=&a=1"}, 'path: recorded "/v1/x", sent "/v1/y"'),
        ({"uri": "http://a/v1/x?a=1"}, 'query.b: recorded [""], not sent'),
        ({"uri": "http://a/v1/x?a=1&b=&c="}, 'query.c: not recorded, sent [""]'),
        ({"headers": {"X-Amz-Target": "U"}}, 'target: recorded "T", sent "U"'),
        ({"json": {"k": [1, {"z": 3}]}}, "body.json.k[1].z: recorded 2, sent 3"),
        ({"json": {"k": [1, {"z": True}]}}, "body.json.k[1].z: recorded 2, sent true"),
        ({"json": {"k": [1]}}, 'body.json.k: recorded [1, {"z": 2}], sent [1]'),
        ({"json": {}}, 'body.json.k: recorded [1, {"z": 2}], not sent'),
    ],
)
def test_a_request_that_differs_is_not_played_and_the_difference_is_told(change, difference):
    played = Player([{"request": REQUEST, "response": {"status": 200}}], wire.comparable, wire.line, name="x", hint="h")
    with pytest.raises(CassetteError) as caught:
        played.play({**REQUEST, **change})
    assert difference in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"uri": "https://b:1234/v1/x?a=1&b="},
        {"headers": {"x-amz-target": "T", "If-Match": "other"}},
        {"json": {"k": [1, {"z": 2}]}},
    ],
    ids=["another host and order of parameters", "other headers", "the same data"],
)
def test_what_does_not_matter_is_not_compared(change):
    played = Player([{"request": REQUEST, "response": {"status": 200}}], wire.comparable, wire.line, name="x", hint="h")
    assert played.play({**REQUEST, **change}) == {"status": 200}


def test_the_recorder_logs_nothing(service, caplog):
    caplog.set_level(logging.DEBUG)
    with wire.intercepted(recorder(), ANY):
        urllib3.request("GET", f"{service.url}/quiet", headers={"Authorization": "Bearer of-nobody"})
    assert not [record for record in caplog.records if record.name.startswith("vcr")]


def test_an_error_of_the_network_reaches_the_client_as_it_is(unused_port):
    with wire.intercepted(recorder(), ANY), pytest.raises(urllib3.exceptions.NewConnectionError):
        urllib3.PoolManager(retries=False).request("GET", f"http://127.0.0.1:{unused_port}/")


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])
