"""Who is trusted: certificates are made for the tests, and every connection is a real one."""

import socket
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from small_server import HANG_UP, RESET, Reply, Truncated

from lance_ns.errors import ErrorCode, InvalidInput
from lance_ns.tls import Tls


def test_a_server_whose_authority_is_named_is_trusted(start, connect, ours, speaking):
    server = start(context=speaking(ours))

    assert connect(server, tls=Tls(ca_bundle=ours.bundle)).call("GET", "/x").body == {"ok": True}


@pytest.mark.parametrize("bundle", ["none", "another"])
def test_a_server_of_an_unknown_authority_is_refused(start, connect, ours, foreign, speaking, failure, pauses, bundle):
    server = start(context=speaking(ours))
    tls = Tls(ca_bundle=foreign.bundle) if bundle == "another" else Tls()

    error = failure(connect(server, tls=tls, tokens="t0ken", retries=3).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "certificate verify failed" in error.message
    assert "ca_bundle" in error.hint
    assert not error.retryable
    assert (server.asked, pauses) == ([], [])


def test_a_server_with_another_name_is_refused(start, connect, ours, speaking, failure):
    server = start(context=speaking(ours, "elsewhere"))

    error = failure(connect(server, tls=Tls(ca_bundle=ours.bundle)).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "localhost" in error.message
    assert server.asked == []


def test_a_server_that_demands_a_certificate_gets_ours(start, connect, ours, foreign, speaking):
    server = start(context=speaking(ours, demands=foreign))
    certificate, key = foreign.certificate("client")
    together = Path(certificate).with_name("together.pem")
    together.write_text(Path(certificate).read_text() + Path(key).read_text())

    apart = Tls(ca_bundle=ours.bundle, client_certificate=certificate, client_key=key)
    in_one = Tls(ca_bundle=ours.bundle, client_certificate=str(together))

    assert connect(server, tls=apart).call("GET", "/x").body == {"ok": True}
    assert connect(server, tls=in_one).call("GET", "/x").body == {"ok": True}


@pytest.mark.parametrize("shows", ["nothing", "one of another authority"])
def test_a_server_that_demands_a_certificate_refuses_who_has_none(
    start, connect, ours, foreign, speaking, failure, shows
):
    server = start(context=speaking(ours, demands=ours))
    certificate, key = foreign.certificate("stranger") if shows != "nothing" else (None, None)
    tls = Tls(ca_bundle=ours.bundle, client_certificate=certificate, client_key=key)

    error = failure(connect(server, tls=tls).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert server.asked == []


def test_files_that_cannot_be_used_are_refused_before_the_first_call(connect, ours, tmp_path):
    certificate, key = ours.certificate("client")
    garbage = tmp_path / "garbage.pem"
    garbage.write_text("no certificate")
    locked = ours.key_file(
        "locked.key", ec.generate_private_key(ec.SECP256R1()), serialization.BestAvailableEncryption(b"open sesame")
    )
    missing = str(tmp_path / "missing.pem")

    for tls in (
        Tls(ca_bundle=missing),
        Tls(ca_bundle=str(garbage)),
        Tls(ca_bundle=str(tmp_path)),
        Tls(client_certificate=missing),
        Tls(client_certificate=certificate),
        Tls(client_certificate=certificate, client_key=missing),
        Tls(client_certificate=certificate, client_key=locked),
        Tls(client_key=key),
    ):
        with pytest.raises(InvalidInput, match="certificate"):
            connect("https://localhost:1", tls=tls)


def test_a_server_without_tls_is_not_spoken_to(start, connect, failure):
    server = start()
    url = f"https://localhost:{server.port}"

    error = failure(connect(url, tokens="t0ken", connect_seconds=0.5).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert all("t0ken" not in str(each) for each in server.asked)


@pytest.mark.parametrize("fault", [RESET, HANG_UP, Truncated(Reply(body={"ok": True}), keep=3)])
def test_an_encrypted_connection_that_ends_is_a_fault_like_any_other(
    start, connect, ours, speaking, failure, pauses, fault
):
    server = start(fault, Reply(body={"ok": True}), context=speaking(ours))
    client = connect(server, tls=Tls(ca_bundle=ours.bundle), retries=1)
    assert client.call("GET", "/x").body == {"ok": True}

    server = start(fault, context=speaking(ours))
    client = connect(server, tls=Tls(ca_bundle=ours.bundle), retries=1)
    assert client.call("POST", "/x", json_body={}, settle=lambda: {"read": "back"}).body == {"read": "back"}
    assert failure(client.call, "POST", "/x", json_body={}).retryable


def test_a_server_that_leaves_before_it_is_trusted_may_come_back(connect, failure, pauses):
    def leave() -> None:
        for _ in range(3):
            talk, _ = listener.accept()
            with talk:
                talk.recv(65536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=leave)
        thread.start()
        error = failure(connect(f"https://localhost:{listener.getsockname()[1]}", retries=2).call, "GET", "/x")
        thread.join()

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert error.retryable
    assert len(pauses) == 2
