"""Calls whose answer was lost: what became of them is read back before anything is reported."""

from contextlib import ExitStack

import pytest
from small_server import HANG_UP, RESET, Reply, SmallServer, Truncated

from lance_ns.errors import ErrorCode, TableAlreadyExists, TableNotFound
from lance_ns.rest import retrying

LOST = [
    RESET,
    HANG_UP,
    Truncated(Reply(body={"made": True}), keep=4),
    Reply(503),
    Reply(502),
    Reply(504),
    Reply(200, "<html>"),
]


@pytest.fixture
def settled(connect):
    """A create whose outcome is looked up at the same server, and how often it was."""

    def create(server, *, found=True, **settings):
        client = connect(server, retries=3, **settings)
        looks = []

        def look():
            looks.append(1)
            return {"found": True} if found else None

        return lambda **keywords: client.call("POST", "/t", json_body={}, settle=look, **keywords), looks

    return create


@pytest.mark.parametrize("lost", LOST)
def test_a_create_whose_answer_was_lost_succeeds_if_it_is_found_done(start, settled, pauses, lost):
    server = start(lost)
    create, looks = settled(server)

    assert create().body == {"found": True}
    assert (len(looks), len(server.asked)) == (1, 1)


@pytest.mark.parametrize("lost", LOST)
def test_a_create_whose_answer_was_lost_fails_if_it_is_found_undone(start, settled, failure, pauses, lost):
    server = start(lost)
    create, looks = settled(server, found=False)

    error = failure(create)

    assert error.code in {ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.INTERNAL}
    assert (len(looks), len(server.asked)) == (1, 1)


@pytest.mark.parametrize("lost", LOST)
def test_a_create_with_a_key_is_repeated_before_it_is_looked_up(start, settled, pauses, lost):
    server = start(lost, Reply(body={"made": True}))
    create, looks = settled(server)

    assert create(idempotency_key="k").body == {"made": True}
    assert (len(looks), len(server.asked)) == (0, 2)


def test_a_create_with_a_key_is_looked_up_when_all_repetitions_are_lost(start, settled, pauses):
    server = start(RESET)
    create, looks = settled(server)

    assert create(idempotency_key="k").body == {"found": True}
    assert (len(looks), len(server.asked)) == (1, 4)


def test_a_create_that_meets_its_own_earlier_work_succeeds(start, settled, pauses):
    exists = Reply(409, {"error": {"type": "AlreadyExists", "message": "there already"}})
    server = start(RESET, exists)
    create, looks = settled(server)

    assert create(idempotency_key="k", meaning={409: TableAlreadyExists}).body == {"found": True}
    assert (len(looks), len(server.asked)) == (1, 2)


def test_a_create_that_meets_the_work_of_others_fails_as_the_server_says(start, settled, failure, pauses):
    exists = Reply(409, {"error": {"type": "AlreadyExists", "message": "there already"}})
    for first, found in (([], True), ([RESET], False)):
        create, looks = settled(start(*first, exists), found=found)

        error = failure(create, idempotency_key="k", meaning={409: TableAlreadyExists})

        assert error.code is ErrorCode.TABLE_ALREADY_EXISTS
        assert len(looks) == len(first)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 429, 500])
def test_an_answer_leaves_nothing_to_look_up(start, settled, failure, pauses, status):
    create, looks = settled(start(Reply(status)))

    failure(create)

    assert looks == []


def test_a_connection_that_was_never_made_leaves_nothing_to_look_up(start, settled, failure, pauses):
    server = start()
    server.close()
    create, looks = settled(server)

    assert failure(create).code is ErrorCode.SERVICE_UNAVAILABLE
    assert looks == []


def test_what_looking_up_fails_with_is_reported(start, connect, failure, pauses):
    def look():
        raise TableNotFound("gone meanwhile")

    error = failure(connect(start(RESET)).call, "POST", "/t", json_body={}, settle=look)

    assert error.code is ErrorCode.TABLE_NOT_FOUND


def test_a_lost_answer_that_nobody_can_look_up_is_a_failure(start, connect, failure, pauses):
    server = start(RESET)

    error = failure(connect(server, retries=3).call, "POST", "/t", json_body={})

    assert error.code is ErrorCode.SERVICE_UNAVAILABLE
    assert len(server.asked) == 1


# --- deletions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lost", LOST)
def test_a_deletion_that_finds_nothing_the_second_time_has_succeeded(start, connect, pauses, lost):
    server = start(lost, Reply(404, {"error": {"message": "no such table"}}))

    connect(server, retries=1).call("DELETE", "/t", meaning={404: TableNotFound}, answers=False)

    assert len(server.asked) == 2


@pytest.mark.parametrize("before", [[], [Reply(429)]])
def test_a_deletion_that_finds_nothing_at_once_has_not(start, connect, failure, pauses, before):
    server = start(*before, Reply(404, {"error": {"message": "no such table"}}))

    error = failure(connect(server, retries=3).call, "DELETE", "/t", meaning={404: TableNotFound}, answers=False)

    assert error.code is ErrorCode.TABLE_NOT_FOUND


def test_a_deletion_that_was_never_sent_has_not_done_what_it_does_not_find(connect, failure, monkeypatch):
    with ExitStack() as stack:
        server = SmallServer(lambda _: Reply(404))
        monkeypatch.setattr(retrying, "sleep", lambda _: stack.enter_context(server))

        error = failure(connect(server, retries=1).call, "DELETE", "/t", meaning={404: TableNotFound})

    assert error.code is ErrorCode.TABLE_NOT_FOUND


def test_reading_finds_nothing_whether_or_not_it_was_repeated(start, connect, failure, pauses):
    server = start(RESET, Reply(404))

    error = failure(connect(server, retries=1).call, "GET", "/t", meaning={404: TableNotFound})

    assert error.code is ErrorCode.TABLE_NOT_FOUND
