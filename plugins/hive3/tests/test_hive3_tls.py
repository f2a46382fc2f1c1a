"""TLS: whom we trust, who we are, and that neither is optional."""

import datetime as dt
import ipaddress
import ssl
from pathlib import Path

import attrs
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import lance_ns
from lance_ns.tls import Tls
from lance_ns_hive3.metastore.settings import Address


@attrs.frozen
class Pair:
    """A certificate and its key, in files."""

    certificate: Path
    key: Path
    _issuer: x509.Certificate
    _secret: ec.EllipticCurvePrivateKey


def certified(folder: Path, name: str, by: Pair | None = None, host: str | None = None) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by._issuer.subject if by else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
    )
    if host:
        address = x509.IPAddress(ipaddress.ip_address(host)) if host[0].isdigit() else x509.DNSName(host)
        builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
    certificate = builder.sign(by._secret if by else key, hashes.SHA256())
    pair = Pair(folder / f"{name}.pem", folder / f"{name}.key", certificate, key)
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair


@pytest.fixture
def authority(tmp_path):
    return certified(tmp_path, "authority")


def context_of(pair: Pair, clients: Pair | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients.certificate)
    return context


@pytest.fixture
def server(answering, authority, tmp_path):
    return answering(tls=context_of(certified(tmp_path, "server", authority, "127.0.0.1")))


def trusting(authority: Pair, client: Pair | None = None) -> Tls:
    return Tls(
        ca_bundle=str(authority.certificate),
        client_certificate=str(client.certificate) if client else None,
        client_key=str(client.key) if client else None,
    )


def test_calls_go_over_tls_and_so_do_those_after_an_idle_drop(server, authority, connect):
    client = connect(server.address, tls=trusting(authority))
    names = [client.get_database("c", f"d{number}").name for number in range(3)]
    server.drop_connections()
    names.append(client.get_database("c", "d3").name)
    assert names == ["@c#d0", "@c#d1", "@c#d2", "@c#d3"]
    assert server.connections() == [1, 1, 1, 2]


def test_a_certificate_of_an_unknown_authority_is_refused(server, tmp_path, connect):
    with pytest.raises(
        lance_ns.ServiceUnavailable, match=r"certificate is not trusted .*which certificates are trusted"
    ):
        connect(server.address, tls=trusting(certified(tmp_path, "stranger"))).get_catalogs()
    with pytest.raises(lance_ns.ServiceUnavailable, match="certificate is not trusted"):
        connect(server.address, tls=Tls()).get_catalogs()
    assert server.calls == []


def test_a_certificate_of_another_host_is_refused(answering, authority, tmp_path, connect):
    server = answering(tls=context_of(certified(tmp_path, "other", authority, "elsewhere.example")))
    with pytest.raises(lance_ns.ServiceUnavailable, match="certificate is not trusted"):
        connect(server.address, tls=trusting(authority)).get_catalogs()
    assert server.calls == []


def test_a_server_that_asks_who_we_are_is_shown_our_certificate(answering, authority, tmp_path, connect):
    server = answering(tls=context_of(certified(tmp_path, "server", authority, "127.0.0.1"), clients=authority))
    ours = certified(tmp_path, "ours", authority)
    assert connect(server.address, tls=trusting(authority, ours)).get_catalogs() == ["hive"]
    with pytest.raises(lance_ns.ServiceUnavailable):
        connect(server.address, tls=trusting(authority)).get_catalogs()


def test_tls_at_one_end_only_is_an_error_at_either(answering, server, authority, connect):
    with pytest.raises(lance_ns.LanceNsError):
        connect(server.address).get_catalogs()
    plain = answering()
    with pytest.raises(lance_ns.ServiceUnavailable):
        connect(plain.address, tls=trusting(authority), connect_seconds=1.0).get_catalogs()


@pytest.mark.parametrize("missing", ["ca_bundle", "client_certificate", "client_key"])
def test_a_file_of_certificates_that_cannot_be_read_is_named(server, authority, tmp_path, connect, missing):
    ours = certified(tmp_path, "ours", authority)
    tls = attrs.evolve(trusting(authority, ours), **{missing: str(tmp_path / "nowhere.pem")})
    with pytest.raises(lance_ns.InvalidInput, match="certificates for TLS cannot be read"):
        connect(server.address, tls=tls).get_catalogs()


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(server, authority, tmp_path, connect):
    ours = certified(tmp_path, "ours", authority)
    ours.key.write_bytes(
        ours._secret.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"canary"),
        )
    )
    with pytest.raises(lance_ns.InvalidInput, match="certificates for TLS cannot be read"):
        connect(server.address, tls=trusting(authority, ours)).get_catalogs()


def test_nothing_but_the_address_is_taken_for_the_servers_name(server, authority, connect):
    """The certificate is for 127.0.0.1; the same server by another name is another one."""
    with pytest.raises(lance_ns.ServiceUnavailable, match="certificate is not trusted"):
        connect(Address("localhost", server.port), tls=trusting(authority)).get_catalogs()
