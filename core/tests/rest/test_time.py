"""Nothing takes for ever: time-outs of a call, and one deadline for all calls of an operation."""

import socket
import threading
from collections.abc import Iterator

import pytest
from small_server import RESET, STALL, Drip, Reply

from lance_ns import models as m
from lance_ns.errors import ErrorCode
from lance_ns.paging import side_by_side
from lance_ns.rest.retrying import Deadline

LATE = "did not end within"


@pytest.fixture
def full() -> Iterator[str]:
    """The address of a server that takes no further connection and refuses none: its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        try:
            for _ in range(64):
                each = socket.socket()
                each.settimeout(0.2)
                waiting.append(each)
                try:
                    each.connect(listener.getsockname())
                except TimeoutError:
                    break
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            for each in waiting:
                each.close()


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_server_that_takes_no_connection_is_unreachable_and_got_nothing(full, connect, pauses, failure, method):
    error = failure(connect(full, connect_seconds=0.1, retries=2).call, method, "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "connect timeout=0.1)" in error.message
    assert len(pauses) == 2


def test_a_server_that_does_not_answer_is_given_up(start, connect, failure):
    error = failure(connect(start(STALL), read_seconds=0.1).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "did not answer in time" in error.message
    assert "read timeout=0.1)" in error.message


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_that_drips_ends_with_the_deadline(start, connect, failure, chunked, method):
    drip = Drip(b'{"some": "%s"}' % (b"x" * 2000), pause=0.01, chunked=chunked)  # which would take 20 seconds
    server = start(drip)

    error = failure(connect(server, operation_seconds=0.5, retries=3).call, method, "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert LATE in error.message
    assert len(server.asked) == 1
    assert server.drops < 1500


def test_an_answer_that_comes_in_small_pieces_is_whole(start, connect):
    server = start(Drip(b'{"some": "thing"}', pause=0.0), Drip(b'{"other": "thing"}', pause=0.0, chunked=True))
    client = connect(server)

    assert [client.call("GET", "/x").body for _ in range(2)] == [{"some": "thing"}, {"other": "thing"}]
    assert server.accepted == 1


def test_the_deadline_is_shorter_than_the_time_outs_of_a_call(start, connect, failure):
    error = failure(connect(start(STALL), operation_seconds=0.2, retries=3).call, "GET", "/x")

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert "read timeout=0." in error.message


def test_all_calls_of_an_operation_share_one_deadline(start, connect, clock, failure):
    def slow(_):
        clock.sleep(4)
        return Reply(body={})

    server = start(slow)
    client = connect(server, operation_seconds=10)

    with client.operation(m.DescribeTableRequest(id=["t"])):
        client.call("GET", "/1")
        client.call("GET", "/2")
        assert LATE in failure(client.call, "GET", "/3").message
        assert LATE in failure(client.call, "GET", "/4").message

    assert [each.target for each in server.asked] == ["/1", "/2", "/3"]


def test_the_next_operation_has_a_deadline_of_its_own(start, connect, clock, failure):
    client = connect(start(), operation_seconds=10)
    with client.operation(m.DescribeTableRequest(id=["t"])):
        clock.sleep(11)
        failure(client.call, "GET", "/1")

    with client.operation(m.DescribeTableRequest(id=["t"])):
        assert client.call("GET", "/2").body == {"ok": True}
    assert client.call("GET", "/3").body == {"ok": True}


def test_calls_side_by_side_share_the_deadline_of_their_operation(start, connect, clock, failure):
    server = start()
    client = connect(server, operation_seconds=10)

    with client.operation(m.ListTablesRequest(id=["n"])):
        clock.sleep(11)
        error = failure(side_by_side, lambda name: client.call("GET", f"/{name}"), ["a", "b", "c"])

    assert LATE in error.message
    assert server.asked == []


def test_there_is_no_pause_that_the_deadline_does_not_leave_time_for(start, connect, clock, failure):
    server = start(Reply(503, "busy", {"Retry-After": "20"}))

    error = failure(connect(server, operation_seconds=10, retries=3).call, "GET", "/x")

    assert (error.code, error.message) == (ErrorCode.SERVICE_UNAVAILABLE, "busy")
    assert len(server.asked) == 1


def test_repetitions_end_with_the_deadline(start, connect, clock, failure):
    server = start(Reply(503, "busy", {"Retry-After": "4"}))

    error = failure(connect(server, operation_seconds=10, retries=100).call, "GET", "/x")

    assert error.message == "busy"
    assert len(server.asked) == 3


def test_reading_back_has_no_more_time_than_the_operation(start, connect, clock, failure):
    def lost(_):
        clock.sleep(11)
        return RESET

    server = start(lost, Reply(body={"there": True}))
    client = connect(server, operation_seconds=10)

    with client.operation(m.DeclareTableRequest(id=["t"])):
        error = failure(client.call, "POST", "/x", json_body={}, settle=lambda: client.call("GET", "/x").body)

    assert LATE in error.message
    assert [each.method for each in server.asked] == ["POST"]


def test_waiting_for_a_free_connection_ends_with_the_deadline(start, connect, failure):
    leave = threading.Event()

    def held(asked):
        leave.wait(30)
        return Reply(body={})

    server = start(held)
    patient, hasty = connect(server, connections=1), connect(server, connections=1, operation_seconds=0.2)
    hasty._line = patient._line
    holder = threading.Thread(target=patient.call, args=("GET", "/held"))
    holder.start()
    server.seen(1)

    error = failure(hasty.call, "GET", "/waiting")
    leave.set()
    holder.join()

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert [each.target for each in server.asked] == ["/held"]


def test_a_deadline_may_be_endless(start, connect):
    assert connect(start(), operation_seconds=float("inf")).call("GET", "/x").body == {"ok": True}
    assert Deadline.after(float("inf")).left() > 86400
