"""Connections: shared, dropped, reset, slow, several servers; what is sent twice, and what never is."""

import logging
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest
from thrift.transport.TTransport import TFramedTransport

import lance_ns
from lance_ns_hive3.metastore import deadline, errors
from lance_ns_hive3.metastore import structs as s
from lance_ns_hive3.metastore.failover import Servers
from lance_ns_hive3.metastore.settings import Address
from lance_ns_hive3.metastore.transport import transports
from servers import faults
from servers.faults import FaultProxy

BIG = {"big": "x" * 8_000_000}


@pytest.fixture
def proxy(server):
    with FaultProxy("127.0.0.1", server.port, protocol="tcp") as made:
        yield made


@pytest.fixture
def through(proxy, connect):
    """A client behind the fault proxy."""
    return connect(Address(proxy.host, proxy.port))


def database_of(client, name="d"):
    return client.get_database("c", name).name


def create(client, **fields):
    client.create_database(s.Database(name="d", catalog_name="c", **fields))


def refusing_address():
    """An address of this machine where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return Address("127.0.0.1", listener.getsockname()[1])


# --- one connection --------------------------------------------------------------------------------------------------


def test_calls_one_after_the_other_use_one_connection(server, connect):
    client = connect(server.address)
    assert [database_of(client, f"d{number}") for number in range(3)] == ["@c#d0", "@c#d1", "@c#d2"]
    assert server.connections() == [1, 1, 1]


def test_an_exception_of_the_metastore_is_typed_with_its_first_line_and_the_connection_stays(answering, connect):
    def missing(name):
        raise errors.NoSuchObject("no such thing\n\tat org.apache.hadoop")

    server = answering({"get_database": missing})
    client = connect(server.address)
    for _ in range(2):
        with pytest.raises(errors.NoSuchObject) as caught:
            database_of(client)
    assert caught.value.native == "NoSuchObjectException: no such thing"
    assert caught.value.message == "the metastore answered get_database with NoSuchObjectException: no such thing"
    assert caught.value.code is lance_ns.ErrorCode.INTERNAL
    assert server.connections() == [1, 1]


def test_a_call_that_the_server_does_not_have_is_recognisable_and_the_connection_stays(server, connect):
    del server.answers["get_catalogs"]
    client = connect(server.address)
    with pytest.raises(errors.UnknownMethod, match=r"3\.1 or newer") as caught:
        client.get_catalogs()
    assert caught.value.native == "Invalid method name: 'get_catalogs'"
    assert caught.value.code is lance_ns.ErrorCode.UNSUPPORTED
    assert database_of(client) == "@c#d"
    assert server.connections() == [1, 1]


def test_an_answer_without_a_result_is_an_error_and_not_an_empty_list(answering, connect):
    client = connect(answering({"get_databases": lambda name: None, "get_catalogs": s.GetCatalogsResponse}).address)
    with pytest.raises(errors.ServerFailure):
        client.get_databases("c")
    with pytest.raises(errors.ServerFailure):
        client.get_catalogs()


ANSWER = b"\x80\x01\x00\x02\x00\x00\x00\x0cget_catalogs\x00\x00\x00\x00"
NO_ANSWERS = {
    "a page": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "TLS": b"\x15\x03\x03\x00\x02\x02\x50",
    "nothing": b"\0" * 64,
    "another answer": b"\x80\x01\x00\x02\x00\x00\x00\x03ask\x00\x00\x00\x00\x00",
    "a call": b"\x80\x01\x00\x01\x00\x00\x00\x0cget_catalogs\x00\x00\x00\x00\x00",
    "a broken struct": ANSWER + b"\x0c\x00\x00\x63\xff\xff\xff",
    "an endless list": ANSWER + b"\x0c\x00\x00\x0f\x00\x01\x0b\x7f\xff\xff\xff",
}


@pytest.mark.parametrize("banner", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_not_a_metastore_is_an_error_that_says_so(connect, banner):
    def serve(listener):
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(65536)
            accepted.sendall(banner)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        with pytest.raises(errors.MetastoreError, match="is it a Hive Metastore"):
            connect(Address("127.0.0.1", listener.getsockname()[1])).get_catalogs()
        thread.join()


def test_every_new_connection_says_on_whose_behalf_it_is(server, connect):
    client = connect(server.address, user="ann", groups=("staff", "science"))
    database_of(client)
    server.drop_connections()
    database_of(client)
    assert server.names() == ["set_ugi", "get_database", "set_ugi", "get_database"]
    assert server.calls[0][2] == ("ann", ["staff", "science"])


def test_a_name_that_is_not_unicode_is_refused_before_anything_is_sent(server, connect):
    with pytest.raises(lance_ns.InvalidInput, match="Unicode"):
        connect(server.address).get_catalog("a\ud800")
    assert server.calls == []


# --- dropped, reset, truncated ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [database_of, create])
def test_after_an_idle_drop_reads_and_writes_go_over_a_new_connection(server, connect, call):
    client = connect(server.address)
    call(client)
    server.drop_connections()
    call(client)
    assert server.connections() == [1, 2]


def test_a_connection_that_was_idle_for_long_is_not_used_again(server, connect):
    client = connect(server.address, idle_seconds=0.0)
    create(client)
    create(client)
    assert server.connections() == [1, 2]


def test_a_read_whose_connection_is_reset_is_sent_once_more(server, proxy, through):
    database_of(through)
    proxy.order(faults.reset_before())
    assert database_of(through) == "@c#d"
    proxy.order(faults.reset_after())
    assert database_of(through) == "@c#d"
    assert len(server.calls) == 4  # the answer of one was lost


def test_the_second_time_goes_over_a_new_connection_and_not_over_another_idle_one(server, proxy, through):
    together = threading.Barrier(2)

    def catalogs():
        together.wait(60)
        return s.GetCatalogsResponse(names=[])

    server.answers["get_catalogs"] = catalogs
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda _: through.get_catalogs(), range(2))) == [[], []]
    proxy.order(faults.reset_before())
    database_of(through)
    assert sorted(server.connections()) == [1, 2, 3]


def test_a_read_is_sent_once_more_and_not_for_ever(proxy, through):
    proxy.order(*[faults.reset_before()] * 3)
    with pytest.raises(lance_ns.ServiceUnavailable, match="get_database was not answered") as caught:
        database_of(through)
    assert caught.value.retryable
    assert proxy.pending == 1


@pytest.mark.parametrize("fault", [faults.reset_after(), faults.reset_before(), faults.half_closed()])
def test_a_write_that_may_have_been_done_is_not_sent_again_and_says_so(server, proxy, through, fault):
    create(through)
    proxy.order(fault)
    with pytest.raises(errors.OutcomeUnknown, match="look before trying again") as caught:
        create(through)
    assert caught.value.code is lance_ns.ErrorCode.SERVICE_UNAVAILABLE
    assert not caught.value.retryable
    assert len(proxy.seen) == 2
    create(through)


def test_a_write_that_cannot_have_arrived_whole_is_sent_once_more(server, proxy, through):
    create(through)
    proxy.order(faults.reset_before())
    create(through, parameters=BIG)
    assert [seen.forwarded for seen in proxy.seen] == [True, False, True]
    assert server.names() == ["create_database", "create_database"]


@pytest.mark.parametrize("keep", [1, 20, 30])
def test_an_answer_that_breaks_off_is_an_error_and_the_next_call_works(through, proxy, keep):
    proxy.order(faults.truncated(keep=keep), faults.truncated(keep=keep))
    with pytest.raises(lance_ns.ServiceUnavailable):
        database_of(through)
    proxy.clear()
    assert database_of(through) == "@c#d"


def test_a_large_answer_arrives_whole(answering, connect):
    server = answering({"get_database": lambda name: s.Database(name=name, parameters=BIG)})
    assert connect(server.address).get_database("c", "d").parameters == BIG


# --- time ------------------------------------------------------------------------------------------------------------


def test_a_read_without_an_answer_in_time_is_unavailable_and_not_sent_again(server, proxy, connect):
    client = connect(Address(proxy.host, proxy.port), call_seconds=0.1)
    proxy.order(faults.stalled())
    with pytest.raises(lance_ns.ServiceUnavailable, match="timed out"):
        database_of(client)
    assert len(proxy.seen) == 1
    assert server.calls == []


def test_a_write_without_an_answer_in_time_has_an_unknown_outcome(proxy, connect):
    client = connect(Address(proxy.host, proxy.port), call_seconds=0.1)
    proxy.order(faults.stalled(forward=True))
    with pytest.raises(errors.OutcomeUnknown, match="timed out"):
        create(client)


def test_the_time_of_a_call_is_not_prolonged_by_an_answer_that_trickles(connect):
    """Every byte comes in time, the whole never."""
    done = threading.Event()

    def trickle(listener):
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(65536)
            while not done.wait(0.02):
                try:
                    accepted.sendall(b"\x80")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=trickle, args=(listener,))
        thread.start()
        header = b"\x80\x01\x00\x02"
        client = connect(Address("127.0.0.1", listener.getsockname()[1]), call_seconds=0.3)
        with (
            transports(lambda inner: Prefixed(inner, header)),
            pytest.raises(lance_ns.ServiceUnavailable, match="timed out"),
        ):
            client.get_catalogs()
        done.set()
        thread.join()


class Prefixed:
    """A transport with some bytes before all others: the beginning of an answer whose name never ends."""

    def __init__(self, inner, prefix):
        self._inner, self._prefix = inner, prefix + (10_000_000).to_bytes(4, "big")

    def read(self, size):
        if self._prefix:
            taken, self._prefix = self._prefix[:size], self._prefix[size:]
            return taken
        return self._inner.read(size)

    def __getattr__(self, name):
        return getattr(self._inner, name)


def test_calls_of_one_operation_share_its_time(server, connect):
    client = connect(server.address)
    with deadline.within(60):
        database_of(client)
        with deadline.within(0), pytest.raises(lance_ns.ServiceUnavailable, match="took too long"):
            database_of(client)
        with deadline.within(0), deadline.within(60), pytest.raises(lance_ns.ServiceUnavailable, match="took too long"):
            database_of(client)
        with deadline.within(0), deadline.grace(60):
            database_of(client)
        database_of(client)
    assert len(server.calls) == 3


# --- threads and processes -------------------------------------------------------------------------------------------


def test_many_threads_share_a_few_connections_and_each_gets_its_own_answers(server, connect):
    client = connect(server.address, connections=3)
    names = [f"d{number}" for number in range(400)]
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda name: database_of(client, name), names))
    assert found == [f"@c#{name}" for name in names]
    assert server.most_connections <= 3
    assert max(server.connections()) <= 3


def test_a_thread_that_gets_no_connection_in_time_is_told_how_to_have_more(answering, connect):
    busy, free = threading.Event(), threading.Event()

    def slow(name):
        busy.set()
        free.wait(60)
        return s.Database(name=name)

    server = answering({"get_database": slow})
    client = connect(server.address, connections=1, wait_seconds=0.05)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(database_of, client)
        assert busy.wait(60)
        with pytest.raises(lance_ns.ServiceUnavailable, match=r"client\.pool-size"):
            client.get_catalogs()
        free.set()
        assert first.result() == "@c#d"
    assert client.get_catalogs() == ["hive"]


def test_a_failed_call_gives_its_place_back(server, proxy, connect):
    client = connect(Address(proxy.host, proxy.port), connections=1, wait_seconds=0.05)
    for fault in (faults.reset_after(), faults.truncated(keep=10)):
        proxy.order(fault)
        with pytest.raises(lance_ns.ServiceUnavailable):
            create(client)
    for _ in range(2):
        with pytest.raises(lance_ns.InvalidInput):
            client.get_catalog("a\ud800")
    create(client)


def test_an_interrupted_call_does_not_leave_its_answer_to_the_next_one(answering, connect):
    late = threading.Event()

    def answer(name):
        if name == "@c#first":
            late.wait(60)
        return s.Database(name=name)

    class Interrupting:
        def __init__(self, inner):
            self._inner = inner

        def read(self, size):
            if armed:
                armed.clear()
                raise KeyboardInterrupt
            return self._inner.read(size)

        def __getattr__(self, name):
            return getattr(self._inner, name)

    armed = [True]
    server = answering({"get_database": answer})
    client = connect(server.address, connections=1)
    with transports(Interrupting):
        with pytest.raises(KeyboardInterrupt):
            database_of(client, "first")
        assert database_of(client, "second") == "@c#second"
    late.set()
    assert sorted(server.connections()) == [1, 2]


def test_a_closed_client_has_no_connection_and_opens_one_when_it_is_used_again(server, connect):
    client = connect(server.address)
    database_of(client)
    client.close()
    client.close()
    database_of(client)
    assert server.connections() == [1, 2]


FORK = """
import os, sys
from lance_ns_hive3.metastore.client import Metastore
from lance_ns_hive3.metastore.settings import Address, Settings

client = Metastore(Settings(addresses=(Address("127.0.0.1", int(sys.argv[1])),)))
ask = lambda name: client.get_database("c", name).name
found = [ask("before")]
child = os.fork()
mine = [ask(f"{'child' if child == 0 else 'parent'}{number}") for number in range(50)]
if child == 0:
    os._exit(0 if mine == [f"@c#child{number}" for number in range(50)] else 1)
assert os.waitpid(child, 0)[1] == 0
assert mine == [f"@c#parent{number}" for number in range(50)]
ask("after")
client.close()
"""


def test_a_forked_child_has_connections_of_its_own(server):
    result = subprocess.run([sys.executable, "-c", FORK, str(server.port)], capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    users = {number: {arguments[0].strip("@c#0123456789") for n, _, arguments in server.calls if n == number}
             for number in set(server.connections())}  # fmt: skip
    assert sorted(map(sorted, users.values())) == [["after", "before", "parent"], ["hild"]]


# --- several servers -------------------------------------------------------------------------------------------------


def test_a_server_that_is_down_is_passed_over(server, connect):
    for _ in range(4):  # the order is random
        assert database_of(connect(refusing_address(), server.address, refusing_address())) == "@c#d"


def test_when_the_server_in_use_dies_another_one_takes_over_and_is_kept(answering, connect):
    pair = {each.address: each for each in (answering(), answering())}
    client = connect(*pair)
    for _ in range(3):
        database_of(client)
    used, other = sorted(pair.values(), key=lambda each: -len(each.calls))
    assert (len(used.calls), len(other.calls)) == (3, 0)
    used.close()
    for _ in range(3):
        database_of(client)
    create(client)
    assert len(other.calls) == 4


def test_a_call_that_one_server_does_not_answer_is_repeated_at_the_other(server, connect):
    with (
        FaultProxy("127.0.0.1", server.port, protocol="tcp") as one,
        FaultProxy("127.0.0.1", server.port, protocol="tcp") as two,
    ):
        client = connect(Address(one.host, one.port), Address(two.host, two.port))
        database_of(client)
        used, other = sorted((one, two), key=lambda each: -len(each.seen))
        used.order(faults.reset_before())
        assert database_of(client) == "@c#d"
        assert (len(used.seen), len(other.seen)) == (2, 1)


def test_when_no_server_can_be_reached_all_are_named(connect):
    addresses = [refusing_address(), refusing_address()]
    with pytest.raises(lance_ns.ServiceUnavailable) as caught:
        database_of(connect(*addresses))
    for address in addresses:
        assert str(address) in caught.value.message
    assert "connection refused" in caught.value.message
    assert "tried 2 servers" in str(caught.value)
    assert caught.value.retryable


def test_a_write_is_made_elsewhere_when_its_server_refuses_the_connection(server, connect):
    client = connect(refusing_address(), server.address)
    create(client)
    assert server.names() == ["create_database"]


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 70, ".", "-"])
def test_a_host_that_is_none_is_unavailable(connect, host):
    with pytest.raises(lance_ns.ServiceUnavailable):
        database_of(connect(Address(host)))


def test_a_server_that_failed_is_tried_last_for_a_while():
    a, b, c = (Address(name) for name in "abc")
    servers = Servers((a, b, c))
    servers.worked(b)
    assert servers.in_order()[0] == b
    servers.failed(b)
    assert servers.in_order()[-1] == b
    servers.worked(c)
    servers.failed(a)
    assert servers.in_order()[0] == c
    servers.worked(b)
    assert servers.in_order() == [b, c, a]


def test_clients_start_with_different_servers():
    addresses = tuple(Address(f"h{number}") for number in range(4))
    first = Counter(Servers(addresses).in_order()[0] for _ in range(400))
    assert len(first) == 4


def test_nothing_is_printed_or_logged_when_a_server_is_away(connect, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    with pytest.raises(lance_ns.ServiceUnavailable):
        database_of(connect(refusing_address()))
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


# --- the seams -------------------------------------------------------------------------------------------------------


def test_every_transport_can_be_replaced_and_none_outside_of_that(server, connect):
    made = []

    def wrap(inner):
        made.append(inner)
        return inner

    outside, inside = connect(server.address), connect(server.address, connections=2)
    with transports(wrap):
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda number: database_of(inside, f"d{number}"), range(40)))
        server.drop_connections()
        database_of(inside)
    opened = len(made)
    assert opened == len(set(server.connections()))
    database_of(outside)
    assert len(made) == opened


def test_a_replaced_transport_needs_no_network(connect):
    class Replayed:
        def __init__(self, inner):
            self._answer = b""

        def write(self, request):
            length = int.from_bytes(request[4:8], "big")
            header = b"\x80\x01\x00\x02" + request[4 : 8 + length] + b"\0" * 4
            self._answer = header + bytes.fromhex("0c0000" + "0f00010b00000001" + "00000004") + b"hive" + b"\0\0"

        def read(self, size):
            taken, self._answer = self._answer[:size], self._answer[size:]
            return taken

        def isOpen(self):  # noqa: N802
            return True

        open = close = flush = lambda self: None

    with transports(Replayed):
        client = connect(Address("nowhere.invalid"))
        assert client.get_catalogs() == ["hive"]
        assert client.get_catalogs() == ["hive"]


def framed(transport, address):
    assert address.host == "127.0.0.1"
    return TFramedTransport(transport)


def test_what_authenticates_goes_between_the_socket_and_the_messages(answering, connect):
    server = answering(layer=TFramedTransport)
    client = connect(server.address, negotiate=framed)
    assert database_of(client) == "@c#d"
    server.drop_connections()
    create(client)
    with pytest.raises(lance_ns.LanceNsError):
        database_of(connect(server.address, call_seconds=1.0))
