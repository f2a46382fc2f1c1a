"""What the tests of the client share: servers that answer as they are told, clients of them, and a clock to turn."""

import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from small_server import Answer, Asked, Reply, SmallServer

import lance_ns
from lance_ns import registry
from lance_ns.config import Secret, properties
from lance_ns.errors import LanceNsError, NamespaceNotFound, TableNotFound
from lance_ns.hookspecs import Backend
from lance_ns.identifiers import Levels
from lance_ns.namespace import Namespace
from lance_ns.rest import retrying
from lance_ns.rest.backend import RestNamespace, client_of
from lance_ns.rest.client import RestClient, Settings, segment
from lance_ns.rest.config import OAuthProperties
from lance_ns.rest.dialect import Dialect, iceberg_error
from lance_ns.rest.tokens import Fixed, TokenSource

DIALECT = Dialect(read=iceberg_error, kinds={"NoSuchThing": TableNotFound, 410: NamespaceNotFound})


@pytest.fixture(autouse=True)
def no_proxy_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of whoever runs the tests has a say in them."""
    for name in os.environ:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


class Start(Protocol):
    def __call__(self, *answers: Answer | Callable[[Asked], Answer], **options: Any) -> SmallServer: ...


class Connect(Protocol):
    def __call__(self, server: SmallServer | str, **settings: Any) -> RestClient: ...


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts servers. They answer in turn what they are given, and the last of it for ever."""
    with ExitStack() as stack:

        def server(*answers: Answer | Callable[[Asked], Answer], **options: Any) -> SmallServer:
            rest = list(answers or [Reply(body={"ok": True})])

            def answer(asked: Asked) -> Answer:
                now = rest.pop(0) if len(rest) > 1 else rest[0]
                return now(asked) if callable(now) else now

            return stack.enter_context(SmallServer(answer, **options))

        yield server


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Makes clients with generous times, unless told, and closes them."""
    with ExitStack() as stack:

        def client(
            server: SmallServer | str,
            *,
            tokens: TokenSource | str | None = None,
            dialect: Dialect = DIALECT,
            path: str = "",
            **settings: Any,
        ) -> RestClient:
            usual = {"connect_seconds": 30.0, "read_seconds": 30.0, "operation_seconds": 60.0, "retries": 0}
            made = RestClient(
                (server if isinstance(server, str) else server.url) + path,
                dialect,
                Settings(**{**usual, **settings}),
                Fixed(Secret(tokens)) if isinstance(tokens, str) else tokens,
            )
            stack.callback(made.close)
            return made

        yield client


@dataclass
class Clock:
    """A clock that only moves when it is told to, or by pauses."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of all deadlines and pauses."""
    clock = Clock()
    monkeypatch.setattr(retrying, "time", clock)
    monkeypatch.setattr(retrying, "sleep", clock.sleep)
    return clock


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses before repetitions, which nobody waits for."""
    taken: list[float] = []
    monkeypatch.setattr(retrying, "sleep", taken.append)
    return taken


@pytest.fixture
def failure() -> Callable[..., LanceNsError]:
    """The error that a call ends with."""

    def of(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> LanceNsError:
        with pytest.raises(LanceNsError) as caught:
            call(*arguments, **keywords)
        return caught.value

    return of


class Authority:
    """Signs certificates, and keeps all in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, folder.name)])
        self.bundle = self._written("ca.pem", self._signed(self._name, self._key.public_key(), None))

    def certificate(self, name: str) -> tuple[str, str]:
        """The files of a certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return (
            self._written(f"{name}.pem", self._signed(subject, key.public_key(), name)),
            self.key_file(f"{name}.key", key, serialization.NoEncryption()),
        )

    def key_file(
        self, name: str, key: ec.EllipticCurvePrivateKey, lock: serialization.KeySerializationEncryption
    ) -> str:
        path = self._folder / name
        form = serialization.PrivateFormat.PKCS8
        path.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, lock))
        return str(path)

    def _written(self, name: str, certificate: x509.Certificate) -> str:
        path = self._folder / name
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        return str(path)

    def _signed(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, host: str | None) -> x509.Certificate:
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=host is None, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(True, False, False, False, False, host is None, host is None, False, False), critical=True
            )
        )
        if host is not None:
            made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        return made.sign(self._key, hashes.SHA256())


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """The authority that clients trust."""
    return Authority(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Another one."""
    return Authority(tmp_path_factory.mktemp("foreign"))


@pytest.fixture
def speaking() -> Callable[..., ssl.SSLContext]:
    """What a server shows, and whom it lets in."""

    def context(authority: Authority, name: str = "localhost", *, demands: Authority | None = None) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(*authority.certificate(name))
        if demands is not None:
            made.verify_mode = ssl.CERT_REQUIRED
            made.load_verify_locations(demands.bundle)
        return made

    return context


# --- a backend on the client ---------------------------------------------------------------------------------------


@properties
class SmallConfig(OAuthProperties):
    """What every backend on HTTP takes, and nothing else."""


class SmallNamespace(RestNamespace):
    """Namespaces that are documents of a server."""

    def __init__(self, config: SmallConfig) -> None:
        self.client = client_of(
            config, DIALECT, connect_seconds=30.0, read_seconds=30.0, token_path="/oauth/tokens", scope="catalog"
        )

    def create_entry(self, id: Levels, properties: Mapping[str, str]) -> None:
        self.client.call("POST", f"/n/{segment(id[-1])}", json_body=dict(properties), answers=False)

    def find_entry(self, id: Levels) -> Mapping[str, str] | None:
        found: Mapping[str, str] = self.client.call("GET", f"/n/{segment(id[-1])}").body
        return found

    def remove_entry(self, id: Levels) -> None:
        self.client.call("DELETE", f"/n/{segment(id[-1])}", answers=False)

    def is_empty(self, id: Levels) -> bool:
        return True


SMALL = Backend(
    name="small",
    summary="Namespaces that are documents of a server",
    hookspec=1,
    config=SmallConfig,
    factory=SmallNamespace,
    capabilities=frozenset({"create_namespace", "describe_namespace", "drop_namespace", "identity"}),
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Namespace]]:
    """Connects to servers by the backend `small`, which is found by its name, and closes what it made."""
    monkeypatch.setitem(registry._loaded, "small", SMALL)
    with ExitStack() as stack:

        def connection(server: SmallServer, **given: Any) -> Namespace:
            return stack.enter_context(lance_ns.connect("small", {"endpoint": server.url, "max_retries": 0, **given}))

        yield connection
