"""Thrift through the recorder, with thrift's own server and processor behind a socket."""

import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from thrift.protocol.TBase import TBase
from thrift.protocol.TBinaryProtocol import (
    TBinaryProtocol,
    TBinaryProtocolAccelerated,
    TBinaryProtocolFactory,
)
from thrift.Thrift import TApplicationException, TMessageType, TProcessor, TType
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TMemoryBuffer, TTransportException

from lance_ns_conformance.cassettes import thrift as wire
from lance_ns_conformance.cassettes.binary import REPLY, Message, decoded, encoded
from lance_ns_conformance.cassettes.form import CassetteError, dumped
from lance_ns_conformance.cassettes.network import blocked
from lance_ns_conformance.cassettes.scrubbing import scrubbed
from lance_ns_conformance.cassettes.tape import Player, Recorder
from lance_ns_conformance.subject import Description


def spec(*fields: Any) -> tuple[Any, ...]:
    """A hand-made thrift_spec: the number of a field is its place."""
    return tuple((number, *field, None) if field else None for number, field in enumerate(fields))


class Field(TBase):
    thrift_spec = spec(None, (TType.STRING, "name", "UTF8"), (TType.DOUBLE, "weight", None))

    def __init__(self, name: Any = None, weight: Any = None) -> None:
        self.name, self.weight = name, weight


class Table(TBase):
    thrift_spec = spec(
        None,
        (TType.STRING, "name", "UTF8"),
        (TType.I64, "size", None),
        (TType.LIST, "columns", (TType.STRUCT, [Field, Field.thrift_spec], False)),
        (TType.MAP, "parameters", (TType.STRING, "UTF8", TType.STRING, "UTF8", False)),
        (TType.BOOL, "external", None),
        (TType.SET, "numbers", (TType.I32, None, False)),
        (TType.STRING, "raw", "BINARY"),
        (TType.LIST, "nested", (TType.LIST, (TType.I16, None, False), False)),
        (TType.MAP, "keyed", (TType.I32, None, TType.MAP, (TType.STRING, "UTF8", TType.BYTE, None, False), False)),
    )

    def __init__(self, **fields: Any) -> None:
        for each in self.thrift_spec[1:]:
            setattr(self, each[2], fields.get(each[2]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and vars(other) == vars(self)

    __hash__ = None


class Missing(TBase):
    thrift_spec = spec(None, (TType.STRING, "message", "UTF8"))

    def __init__(self, message: Any = None) -> None:
        self.message = message


class Arguments(TBase):
    thrift_spec = spec(None, (TType.STRUCT, "table", [Table, Table.thrift_spec]))

    def __init__(self, table: Any = None) -> None:
        self.table = table


class Result(TBase):
    thrift_spec = spec(
        (TType.STRUCT, "success", [Table, Table.thrift_spec]), (TType.STRUCT, "missing", [Missing, Missing.thrift_spec])
    )

    def __init__(self, success: Any = None, missing: Any = None) -> None:
        self.success, self.missing = success, missing


class Processor(TProcessor):
    """Answers `echo` with the table or an exception, knows no other call, and hangs up on `hang_up`."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def process(self, iprot: Any, oprot: Any) -> None:
        name, kind, number = iprot.readMessageBegin()
        arguments = Arguments()
        arguments.read(iprot)
        iprot.readMessageEnd()
        self.asked.append(name)
        if name == "hang_up":
            raise EOFError
        if kind == TMessageType.ONEWAY:
            return
        if name == "echo":
            named = arguments.table.name
            result = Result(missing=Missing("no such table")) if named == "absent" else Result(arguments.table)
            oprot.writeMessageBegin(name, TMessageType.REPLY, number)
            result.write(oprot)
        else:
            oprot.writeMessageBegin(name, TMessageType.EXCEPTION, number)
            unknown = TApplicationException(TApplicationException.UNKNOWN_METHOD, f"Invalid method name: '{name}'")
            unknown.write(oprot)
        oprot.writeMessageEnd()
        oprot.trans.flush()


class Server:
    """Thrift's processor and protocols on a listening socket."""

    def __init__(self) -> None:
        self.processor = Processor()
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        transport = TSocket()
        transport.setHandle(connection)
        protocol = TBinaryProtocolFactory().getProtocol(TBufferedTransport(transport))
        try:
            while True:
                self.processor.process(protocol, protocol)
        except (EOFError, OSError, TTransportException):
            connection.close()


class Client:
    """A client as a plugin has one: every transport is made in one place, which can be replaced."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.wrap: Any = lambda transport: transport

    @contextmanager
    def transports(self, wrap: Any) -> Iterator[None]:
        before, self.wrap = self.wrap, wrap
        try:
            yield
        finally:
            self.wrap = before

    @contextmanager
    def connected(self, protocol: Any = TBinaryProtocolAccelerated, *, buffered: bool = False) -> Iterator[Any]:
        inner = TSocket("127.0.0.1", self.port)
        inner.setTimeout(20_000)
        transport = self.wrap(TBufferedTransport(inner))
        transport.open()
        try:
            yield protocol(TBufferedTransport(transport) if buffered else transport)
        finally:
            transport.close()

    def description(self) -> Description:
        return Description(backend="any", records="thrift", transports=self.transports)


def call(protocol: Any, name: str, table: Table, number: int = 0, kind: int = TMessageType.CALL) -> Any:
    protocol.writeMessageBegin(name, kind, number)
    Arguments(table).write(protocol)
    protocol.writeMessageEnd()
    protocol.trans.flush()
    if kind == TMessageType.ONEWAY:
        return None
    answered, kind, same = protocol.readMessageBegin()
    assert (answered, same) == (name, number)
    found = TApplicationException() if kind == TMessageType.EXCEPTION else Result()
    found.read(protocol)
    protocol.readMessageEnd()
    return found


FULL = Table(
    name="größe 日本",
    size=-(2**40),
    columns=[Field("a", 1.5), Field("b")],
    parameters={"EXTERNAL": "TRUE", "table_type": "lance"},
    external=True,
    numbers={1, 2, 3},
    raw=b"\xff\xfe",
    nested=[[1, 2], [], [3]],
    keyed={1: {"x": 1}, 2: {}},
)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.listening.close()


@pytest.fixture
def client(server: Server) -> Client:
    return Client(server.port)


def recorder() -> Recorder:
    return Recorder(scrubbed, wire.line)


def player(kept: Recorder) -> Player:
    """Plays what was kept, after it has been in a file."""
    interactions = yaml.safe_load(dumped(kept.interactions()))
    assert not [wrong for each in interactions if (wrong := wire.fault(each))]
    return Player(interactions, wire.comparable, wire.line, name="x.yaml", hint="record it again")


@contextmanager
def playing(kept: Recorder, client: Client) -> Iterator[None]:
    played = player(kept)
    with blocked(played.note), wire.intercepted(played, client.description()):
        yield
    played.check()


@pytest.mark.parametrize("buffered", [False, True], ids=["direct", "buffered"])
@pytest.mark.parametrize("protocol", [TBinaryProtocolAccelerated, TBinaryProtocol])
def test_calls_are_recorded_and_replayed_without_the_server(client, server, protocol, buffered):
    def talk() -> Any:
        with client.connected(protocol, buffered=buffered) as connection:
            return [
                call(connection, "echo", FULL, number=7).success,
                call(connection, "echo", Table(name="absent")).missing.message,
                call(connection, "get_table", Table()).message,
                call(connection, "notify", Table(name="x"), kind=TMessageType.ONEWAY),
                call(connection, "echo", Table(name="again"), number=8).success,
            ]

    kept = recorder()
    with wire.intercepted(kept, client.description()):
        live = talk()
    assert live == [FULL, "no such table", "Invalid method name: 'get_table'", None, Table(name="again")]
    assert len(kept.interactions()) == 5
    asked = len(server.processor.asked)
    with playing(kept, client):
        assert talk() == live
    assert len(server.processor.asked) == asked


def test_a_cassette_of_thrift_is_readable(client):
    kept = recorder()
    with wire.intercepted(kept, client.description()), client.connected() as connection:
        call(connection, "echo", Table(name="t", parameters={"a": "b"}, columns=[Field("c")]))
    (interaction,) = kept.interactions()
    fields = {
        1: ["string", "t"],
        3: ["list<struct>", [{1: ["string", "c"]}]],
        4: ["map<string,string>", {"a": "b"}],
    }
    assert interaction == {
        "request": {"call": "echo", "arguments": {1: ["struct", fields]}},
        "response": {"reply": {0: ["struct", fields]}},
    }
    assert wire.line(interaction).startswith('echo {"1": ["struct"')


def test_several_connections_of_threads_are_recorded_and_replayed_exactly(client):
    def talk(thread: int) -> list[str]:
        with client.connected() as connection:
            return [call(connection, "echo", Table(name=f"{thread}.{each}")).success.name for each in range(10)]

    kept = recorder()
    with wire.intercepted(kept, client.description()), ThreadPoolExecutor(8) as pool:
        live = list(pool.map(talk, range(8)))
    assert len(kept.interactions()) == 80
    with playing(kept, client), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(talk, range(8))) == live


def test_a_connection_that_fails_is_replayed_as_a_failure(client):
    def talk() -> int:
        with client.connected() as connection, pytest.raises(TTransportException) as caught:
            call(connection, "hang_up", Table())
        return caught.value.type

    kept = recorder()
    with wire.intercepted(kept, client.description()):
        assert talk() == TTransportException.END_OF_FILE
    with playing(kept, client):
        assert talk() == TTransportException.END_OF_FILE


@pytest.mark.parametrize(
    ("name", "table", "difference"),
    [
        ("echo", Table(name="other"), 'arguments.1[1].1[1]: recorded "t", sent "other"'),
        ("echoes", Table(name="t"), 'call: recorded "echo", sent "echoes"'),
        ("echo", Table(name="t", size=1), 'arguments.1[1].2: not recorded, sent ["i64", 1]'),
    ],
)
def test_a_call_that_was_not_recorded_tells_what_differs(client, name, table, difference):
    kept = recorder()
    with wire.intercepted(kept, client.description()), client.connected() as connection:
        call(connection, "echo", Table(name="t"))
    played = player(kept)
    with (
        blocked(),
        wire.intercepted(played, client.description()),
        client.connected() as connection,
        pytest.raises(CassetteError) as caught,
    ):
        call(connection, name, table)
    assert "x.yaml: a request was not recorded" in str(caught.value)
    assert difference in str(caught.value)


def test_a_call_on_a_transport_that_is_not_open_fails(client):
    played = player(recorder())
    transport = wire.replaying_transport(TSocket("127.0.0.1", client.port), played)
    assert not transport.isOpen()
    with pytest.raises(TTransportException):
        call(TBinaryProtocolAccelerated(transport), "echo", Table())


def test_other_settings_of_a_transport_reach_it(client):
    inner = TSocket("127.0.0.1", client.port)
    wire.replaying_transport(inner, player(recorder())).setTimeout(1500)
    assert inner._timeout == 1.5


def test_a_plugin_without_the_seam_is_told_so():
    with (
        pytest.raises(CassetteError, match="has no `transports`"),
        wire.intercepted(recorder(), Description(backend="any", records="thrift")),
    ):
        pass


@pytest.mark.parametrize(
    "spoil",
    [
        {"request": {"call": 5, "arguments": {}}},
        {"request": {"arguments": {}}},
        {"request": {"call": "echo", "arguments": {1: ["strange", 1]}}},
        {"request": {"call": "echo", "arguments": {1: ["i32", "text"]}}},
        {"response": {"answer": {}}},
        {"response": {"reply": {}, "exception": {}}},
        {"response": {"reply": {0: ["i32"]}}},
        {"response": {"fails": {"at": "read", "kind": "SystemExit"}}},
        {"response": {"fails": {"at": "read"}}},
    ],
)
def test_a_stored_interaction_that_is_nonsense_is_noticed(spoil):
    right = {"request": {"call": "echo", "arguments": {}}, "response": {"reply": {0: ["i32", 1]}}}
    assert wire.fault(right) is None
    assert wire.fault({**right, **spoil})


texts = st.text(st.characters(codec="utf-8"), max_size=20)
tables = st.builds(
    Table,
    name=st.none() | texts,
    size=st.none() | st.integers(-(2**63), 2**63 - 1),
    columns=st.none() | st.lists(st.builds(Field, texts, st.none() | st.floats(allow_nan=False)), max_size=3),
    parameters=st.none() | st.dictionaries(texts, texts, max_size=4),
    external=st.none() | st.booleans(),
    numbers=st.none() | st.sets(st.integers(-(2**31), 2**31 - 1), max_size=4),
    raw=st.none() | st.binary(max_size=20),
    nested=st.none() | st.lists(st.lists(st.integers(-(2**15), 2**15 - 1), max_size=3), max_size=3),
)


@given(tables, st.integers(-(2**31), 2**31 - 1))
def test_every_message_survives_being_decoded_stored_and_encoded(table, number):
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocolAccelerated(buffer)
    protocol.writeMessageBegin("echo", TMessageType.REPLY, number)
    Result(table).write(protocol)
    reading = TMemoryBuffer(buffer.getvalue())
    message = decoded(reading.readAll)
    assert reading.read(1) == b"", "the whole message was read"
    again = Message(message.name, REPLY, message.number, yaml.safe_load(dumped(message.fields)))
    protocol = TBinaryProtocolAccelerated(TMemoryBuffer(encoded(again)))
    assert protocol.readMessageBegin() == ("echo", REPLY, number)
    found = Result()
    found.read(protocol)
    assert vars(found.success) == vars(table)


def test_what_is_no_message_of_the_binary_protocol_is_said_so():
    with pytest.raises(ValueError, match="does not begin a message"):
        decoded(TMemoryBuffer(b"GET / HTTP/1.1\r\n").readAll)


def test_messages_without_a_version_are_read_too():
    buffer = TMemoryBuffer()
    protocol = TBinaryProtocol(buffer, strictWrite=False)
    protocol.writeMessageBegin("echo", TMessageType.CALL, 5)
    Arguments(Table(name="t")).write(protocol)
    message = decoded(TMemoryBuffer(buffer.getvalue()).readAll)
    assert (message.name, message.kind, message.number) == ("echo", TMessageType.CALL, 5)
