"""What the tests of `hive3` share: a small Thrift server that answers as a metastore would."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from lance_ns_hive3.metastore import client
from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.call import SET_UGI, Call
from lance_ns_hive3.metastore.client import Metastore
from lance_ns_hive3.metastore.errors import MetastoreError
from lance_ns_hive3.metastore.settings import Address, Settings

CALLS: dict[str, Call[Any]] = {each.name: each for each in [SET_UGI, *vars(client).values()] if isinstance(each, Call)}
REPLY, EXCEPTION = 2, 3


class Answering:
    """A server on loopback: one thread and one number for each connection, and a note of every call."""

    def __init__(
        self,
        answers: dict[str, Callable[..., Any]] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        layer: Callable[[Any], Any] = TBufferedTransport,
    ) -> None:
        self.answers: dict[str, Callable[..., Any]] = {
            "get_database": lambda name: s.Database(name=name),
            "get_catalogs": lambda: s.GetCatalogsResponse(names=["hive"]),
            "create_database": lambda database: None,
            "set_ugi": lambda user, groups: [user],
            **(answers or {}),
        }
        self.calls: list[tuple[int, str, tuple[Any, ...]]] = []
        self.most_connections = 0
        self._tls = tls
        self._layer = layer
        self._lock = threading.Lock()
        self._open: dict[int, socket.socket] = {}
        self._threads: list[threading.Thread] = []
        self._accepted = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._run(self._accept)

    @property
    def address(self) -> Address:
        return Address("127.0.0.1", self.port)

    def names(self) -> list[str]:
        return [name for _, name, _ in self.calls]

    def connections(self) -> list[int]:
        """The numbers of the connections that calls came on, in order."""
        return [number for number, _, _ in self.calls]

    def drop_connections(self) -> None:
        """End all connections, as a server does with those that are idle."""
        with self._lock:
            found = list(self._open.values())
        for each in found:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._threads[0].join()
        self.drop_connections()
        for each in self._threads:
            each.join()

    def _run(self, target: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._listener.accept()
            except OSError:
                return
            self._accepted += 1
            with self._lock:
                self._open[self._accepted] = accepted
                self.most_connections = max(self.most_connections, len(self._open))
            self._run(self._serve, self._accepted, accepted)

    def _serve(self, number: int, accepted: socket.socket) -> None:
        try:
            with accepted:
                channel = self._tls.wrap_socket(accepted, server_side=True) if self._tls else accepted
                with channel:
                    with self._lock:
                        self._open[number] = channel
                    below = TSocket()
                    below.setHandle(channel)
                    transport = self._layer(below)
                    protocol = TBinaryProtocolAccelerated(transport)
                    while True:
                        self._answer(number, protocol, transport)
        except Exception:  # noqa: BLE001  # the client has left, or was refused
            pass
        finally:
            with self._lock:
                del self._open[number]

    def _answer(self, number: int, protocol: Any, transport: Any) -> None:
        name, _, sequence = protocol.readMessageBegin()
        call = CALLS[name]
        arguments = call.arguments()
        arguments.read(protocol)
        values = tuple(getattr(arguments, each[2]) for each in arguments.thrift_spec[1:])
        with self._lock:
            self.calls.append((number, name, values))
        kind, content = REPLY, None
        if name not in self.answers:
            kind, content = EXCEPTION, TApplicationException(1, f"Invalid method name: '{name}'")
        else:
            content = self._result(call, values)
        protocol.writeMessageBegin(name, kind, sequence)
        content.write(protocol)
        protocol.writeMessageEnd()
        transport.flush()

    def _result(self, call: Call[Any], values: tuple[Any, ...]) -> s.Struct:
        try:
            returned = self.answers[call.name](*values)
        except MetastoreError as error:
            number = next(number for number, kind in call._raises.items() if kind is type(error))
            return call.empty_result(**{f"f{number}": s.Raised(message=error.message)})
        return call.empty_result() if returned is None else call.empty_result(f0=returned)


@pytest.fixture
def answering() -> Iterator[Callable[..., Answering]]:
    """Makes servers that are closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(*arguments: Any, **settings: Any) -> Answering:
            return stack.enter_context(contextlib.closing(Answering(*arguments, **settings)))

        yield make


@pytest.fixture
def server(answering: Callable[..., Answering]) -> Answering:
    return answering()


@pytest.fixture
def connect() -> Iterator[Callable[..., Metastore]]:
    """Makes clients, with short times, that are closed at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(*addresses: Address, **settings: Any) -> Metastore:
            made = Metastore(Settings(addresses=addresses, **settings))
            return stack.enter_context(contextlib.closing(made))

        yield make
