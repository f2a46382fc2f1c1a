"""A right backend to derive wrong ones from: the third party's key-value store, embedded and behind a real service."""

import gzip
import json
import secrets
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import attrs
import pytest

from lance_ns import REQUIRED, StorageProperties, prop, properties, registry
from lance_ns.config import Secret
from lance_ns_conformance.subject import Expectations, Subject, subject_of

KV = Path(__file__).resolve().parents[2] / "tests" / "third_party" / "kv" / "src"
PROPERTIES = {"file": "{scratch}/store", "root": "{scratch}/data", "storage.option": "value"}


@pytest.fixture(scope="session")
def kv() -> Any:
    sys.path.insert(0, str(KV))
    import acme_kv

    return acme_kv


@pytest.fixture
def subject_with(kv: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes a subject whose backend is the right one, or a class derived from it."""

    def make(factory: Any = None) -> Subject:
        backend = kv.lance_ns_backend()
        if factory is not None:
            backend = attrs.evolve(backend, factory=factory)
        monkeypatch.setitem(registry._loaded, "kv", backend)
        return Subject(backend="kv", properties=PROPERTIES, expectations=Expectations(tables_at_base=True))

    return make


class Handler(BaseHTTPRequestHandler):
    """A key-value store over HTTP: tokens for clients with a secret, JSON, packed answers, and noise in the headers."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/v1/oauth/tokens":
            form = dict(parse_qsl(body.decode()))
            allowed = (form["client_id"], form["client_secret"]) == tuple(CREDENTIAL.split(":"))
            token = f"eyJhbGciOiJub25lIn0.{secrets.token_hex(12)}.signed"
            self.server.tokens.add(token)
            self.answer(200 if allowed else 401, {"access_token": token, "expires_in": 3600})
        elif self.headers.get("Authorization", "").removeprefix("Bearer ") not in self.server.tokens:
            self.answer(401, {"error": "who are you?"})
        else:
            self.answer(*self.server.store.serve(self.path, json.loads(body)))

    def do_GET(self) -> None:
        self.server.store.asked += 1
        address = urlsplit(self.path)
        self.answer(200, {"path": address.path, "query": address.query, "number": self.server.store.asked})

    def answer(self, status: int, content: Any) -> None:
        body = gzip.compress(json.dumps(content).encode())
        self.send_response(status)
        for name, value in {
            "Content-Type": "application/json",
            "Content-Encoding": "gzip",
            "Content-Length": str(len(body)),
            "Set-Cookie": f"session={secrets.token_hex(8)}",
            "Retry-After": "7",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


class Values:
    """What the service holds."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.lock = threading.Lock()
        self.asked = 0

    def serve(self, path: str, content: dict[str, Any]) -> tuple[int, Any]:
        key, value = content.get("key"), content.get("value")
        with self.lock:
            if path == "/v1/keys":
                return 200, sorted(self.values)
            if path == "/v1/insert" and key in self.values:
                return 409, {"error": "taken", "stack": ["Taken: it is", "  at line 7 of a machine"]}
            if path in ("/v1/insert", "/v1/put"):
                self.values[key] = value
                return 200, {"value": value, "owner": "arn:aws:iam::123456789012:role/store"}
            if key not in self.values:
                return 404, {"error": "no such key", "stack_trace": "Missing: it is\n  at line 9 of a machine"}
            return 200, {"value": self.values.pop(key) if path == "/v1/delete" else self.values[key]}


CREDENTIAL = "alice:wonderland-0815"


@pytest.fixture(scope="session")
def service() -> Iterator[Any]:
    """A real service on this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads, server.tokens, server.store = True, set(), Values()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


class RemoteStore:
    """A client of the service, in the place of the third party's own store."""

    def __init__(self, endpoint: str, credential: str) -> None:
        import urllib3

        self.endpoint, self.credential = endpoint, credential
        self.pool = urllib3.PoolManager(maxsize=8, retries=False, timeout=30)
        self.headers: dict[str, str] = {}

    def log_in(self) -> None:
        client, secret = self.credential.split(":")
        fields = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
        url = f"{self.endpoint}/v1/oauth/tokens"
        answer = self.pool.request_encode_body("POST", url, fields=fields, encode_multipart=False)
        self.headers = {"Authorization": f"Bearer {answer.json()['access_token']}", "User-Agent": "test/1"}

    def ask(self, call: str, **content: Any) -> tuple[int, Any]:
        if not self.headers:
            self.log_in()
        answer = self.pool.request("POST", f"{self.endpoint}/v1/{call}", json=content, headers=self.headers)
        if answer.status not in (200, 404, 409):
            raise RuntimeError(f"{call}: {answer.status}")
        return answer.status, answer.json()

    def get(self, key: str) -> Any:
        return self.ask("get", key=key)[1].get("value")

    def insert(self, key: str, value: Any) -> bool:
        return self.ask("insert", key=key, value=value)[0] == 200

    def put(self, key: str, value: Any) -> None:
        self.ask("put", key=key, value=value)

    def delete(self, key: str) -> bool:
        return self.ask("delete", key=key)[0] == 200

    def keys(self) -> list[str]:
        return self.ask("keys")[1]


class Remote:
    """A backend whose store is the service, as a plugin describes it."""

    RECORDS = "http"
    ENDPOINT = "endpoint"
    PROPERTIES = {"endpoint": "http://store.invalid", "credential": "replay:nothing", "root": "{scratch}/lake"}  # noqa: RUF012
    EXPECTATIONS = {"tables_at_base": True}  # noqa: RUF012
    SERVERS = {"store-1.0": {}, "store-0.9": {"scope": "dialect"}}  # noqa: RUF012

    def __init__(self, url: str, cassettes: Path) -> None:
        self.live = {"endpoint": url, "credential": CREDENTIAL}
        self.cassettes = cassettes

    def subject(self, mode: Any, server: str = "store-1.0") -> Subject:
        given = {} if mode == "replay" else self.live
        return subject_of("remote", given, mode=mode, server=server, cassettes=self.cassettes)

    def cassette(self, scenario: str) -> Path:
        return self.cassettes / "store-1.0" / f"{scenario}.yaml"


@pytest.fixture
def remote(kv: Any, service: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Remote:
    """The backend `remote`, installed, with its service live."""

    @properties
    class Config(StorageProperties):
        endpoint: str = prop(REQUIRED, "Where it is")
        credential: Secret = prop(REQUIRED, "Who we are")
        root: str = prop(REQUIRED, "Where tables are written", location=True)

    class RemoteNamespace(kv.KvNamespace):
        def __init__(self, config: Any) -> None:
            self.config = config
            self.store = RemoteStore(config.endpoint, config.credential.reveal())

    found = Remote(service.url, tmp_path / "cassettes")
    backend = attrs.evolve(kv.lance_ns_backend(), name="remote", config=Config, factory=RemoteNamespace)
    monkeypatch.setitem(registry._loaded, "remote", backend)
    monkeypatch.setattr(registry, "names", lambda group: ["remote"])
    monkeypatch.setattr(registry, "named_object", lambda group, name: found)
    return found
