"""While a recording is played there is no network."""

import socket
import ssl
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lance_ns_conformance.cassettes.network import NetworkBlocked, blocked
from lance_ns_conformance.stand_in import Reply, StandIn


def connect(port: int) -> None:
    with socket.socket() as own:
        own.connect(("127.0.0.1", port))


def connect_ex(port: int) -> None:
    with socket.socket() as own:
        own.connect_ex(("127.0.0.1", port))


def create_connection(port: int) -> None:
    socket.create_connection(("127.0.0.1", port)).close()


def by_name(port: int) -> None:
    socket.create_connection(("catalog.invalid", port)).close()


def by_udp(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
        own.connect(("127.0.0.1", port))


def with_tls(port: int) -> None:
    with socket.socket() as plain, ssl.create_default_context().wrap_socket(plain, server_hostname="x") as secure:
        secure.connect(("127.0.0.1", port))


def by_urllib(port: int) -> None:
    urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/keys").close()


WAYS = [connect, connect_ex, create_connection, by_name, by_udp, with_tls, by_urllib]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_nobody_connects_and_the_error_says_why(service, way):
    noted: list[Exception] = []
    with blocked(noted.append), pytest.raises(NetworkBlocked, match="while a recording is played"):
        way(service.server_address[1])
    assert len(noted) == 1


@pytest.mark.parametrize("name", ["getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr"])
def test_no_name_is_looked_up(name):
    arguments: tuple[Any, ...] = ("catalog.example", 80) if name == "getaddrinfo" else ("catalog.example",)
    with blocked(), pytest.raises(NetworkBlocked, match=r"looking up 'catalog\.example'"):
        getattr(socket, name)(*arguments)


def test_threads_do_not_connect_either(service):
    port = service.server_address[1]
    gate = threading.Barrier(4)

    def attempt(_: int) -> str:
        gate.wait()
        try:
            create_connection(port)
        except NetworkBlocked as error:
            return str(error)
        return "connected"

    noted: list[Exception] = []
    with blocked(noted.append), ThreadPoolExecutor(4) as pool:
        found = set(pool.map(attempt, range(4)))
    assert found == {f"connecting to ('127.0.0.1', {port}) while a recording is played, where there is no network"}
    assert len(noted) == 4


def test_sockets_without_a_network_stay_usable(tmp_path):
    with blocked():
        one, other = socket.socketpair()
        with one, other:
            one.sendall(b"hello")
            assert other.recv(5) == b"hello"
        with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as client:
            listening.bind(str(tmp_path / "s"))
            listening.listen()
            client.connect(str(tmp_path / "s"))


def test_afterwards_everything_is_as_before(service):
    before = (socket.getaddrinfo, socket.socket.connect)
    with blocked():
        pass
    assert (socket.getaddrinfo, socket.socket.connect) == before
    create_connection(service.server_address[1])


def test_the_kits_own_stand_in_answers_although_the_network_is_blocked():
    with (
        blocked(),
        StandIn(lambda asked: Reply(body={"path": asked.path})) as stand_in,
        urllib.request.urlopen(f"{stand_in.url}/here") as answer,
    ):
        assert answer.read() == b'{"path": "/here"}'
