"""What is sent again, how often, and after how long."""

from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from small_server import HANG_UP, RESET, STALL, Answer, Reply, SmallServer, Truncated

from lance_ns.errors import ErrorCode
from lance_ns.rest import retrying
from lance_ns.rest.retrying import LONGEST_ASKED, LONGEST_PAUSE, Deadline, asked_to_wait, fresh_key, pause

UNAVAILABLE, INTERNAL, THROTTLING = ErrorCode.SERVICE_UNAVAILABLE, ErrorCode.INTERNAL, ErrorCode.THROTTLING
PAGE = "<!DOCTYPE html><html><body>Please sign in.</body></html>"

FAULTS: dict[str, tuple[Answer, ErrorCode]] = {
    "reset": (RESET, UNAVAILABLE),
    "hang up": (HANG_UP, UNAVAILABLE),
    "stall": (STALL, UNAVAILABLE),
    "truncated": (Truncated(Reply(body={"ok": True}), keep=5), UNAVAILABLE),
    "429": (Reply(429, "slower"), THROTTLING),
    "429 with Retry-After": (Reply(429, "slower", {"Retry-After": "1"}), THROTTLING),
    "502": (Reply(502, "no route"), UNAVAILABLE),
    "503": (Reply(503, "busy"), UNAVAILABLE),
    "504": (Reply(504, "late"), UNAVAILABLE),
    "html": (Reply(200, PAGE, {"Content-Type": "text/html"}), INTERNAL),
    "not json": (Reply(200, "fine"), INTERNAL),
}
NEVER_DONE = {"429", "429 with Retry-After"}
WITHOUT_A_BODY = {"truncated", "not json"}
"""Faults that an answer to HEAD cannot have."""

CALLS: dict[str, dict[str, Any]] = {
    "GET": {"method": "GET"},
    "HEAD": {"method": "HEAD"},
    "DELETE": {"method": "DELETE"},
    "POST": {"method": "POST", "json_body": {"name": "x"}},
    "PUT": {"method": "PUT", "json_body": {"name": "x"}},
    "PATCH": {"method": "PATCH", "json_body": {"name": "x"}},
    "POST with a key": {"method": "POST", "json_body": {"name": "x"}, "idempotency_key": "k"},
    "POST that may be repeated": {"method": "POST", "json_body": {"name": "x"}, "repeatable": True},
}
REPEATABLE = {"GET", "HEAD", "DELETE", "POST with a key", "POST that may be repeated"}


@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_sent_again_only_where_that_is_safe(start, connect, pauses, failure, call, fault, retries):
    answer, code = FAULTS[fault]
    if call == "HEAD" and fault in WITHOUT_A_BODY:
        return
    server = start(answer)
    client = connect(server, retries=retries, read_seconds=0.2 if fault == "stall" else 30.0)

    error = failure(client.call, path="/x", **CALLS[call])

    again = retries if call in REPEATABLE or fault in NEVER_DONE else 0
    assert error.code is code
    assert len(server.seen(1 + again)) == 1 + again
    assert len(pauses) == again
    assert {each.body for each in server.asked} == {server.asked[0].body}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("call", sorted(REPEATABLE))
def test_one_fault_is_overcome_by_one_repetition(start, connect, pauses, call, fault):
    if call == "HEAD" and fault in WITHOUT_A_BODY:
        return
    server = start(FAULTS[fault][0], Reply(body={"ok": True}))

    answer = connect(server, retries=1, read_seconds=0.5 if fault == "stall" else 30.0).call(path="/x", **CALLS[call])

    assert answer.body == (None if call == "HEAD" else {"ok": True})
    assert len(server.seen(2)) == 2


def test_an_idempotency_key_is_the_same_in_every_repetition(start, connect, pauses):
    server = start(RESET, Reply(503), Reply(body={}))

    connect(server, retries=3).call("POST", "/x", json_body={}, idempotency_key="the-key")

    assert [each.headers["idempotency-key"] for each in server.asked] == ["the-key"] * 3


@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("call", CALLS)
def test_a_refused_connection_is_tried_again_whatever_the_method(start, connect, pauses, failure, call, retries):
    server = start()
    server.close()

    error = failure(connect(server, retries=retries).call, path="/x", **CALLS[call])

    assert error.code is UNAVAILABLE
    assert error.retryable
    assert "refused" in error.message
    assert len(pauses) == retries


def test_a_name_that_does_not_resolve_is_unreachable(connect, failure, pauses):
    error = failure(connect("http://catalog.invalid", retries=1).call, "GET", "/x")

    assert error.code is UNAVAILABLE
    assert len(pauses) == 1


def test_a_post_is_sent_once_the_server_is_there(connect, monkeypatch):
    with ExitStack() as stack:
        server = SmallServer(lambda _: Reply(body={"ok": True}))
        monkeypatch.setattr(retrying, "sleep", lambda _: stack.enter_context(server))

        assert connect(server, retries=1).call("POST", "/x", json_body={}).body == {"ok": True}
        assert len(server.asked) == 1


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 501])
@pytest.mark.parametrize("call", CALLS)
def test_an_answer_that_is_an_error_is_final(start, connect, pauses, failure, call, status):
    server = start(Reply(status, {"error": {"message": "no", "type": "No"}}))

    failure(connect(server, retries=3).call, path="/x", **CALLS[call])

    assert len(server.asked) == 1


# --- pauses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7", 7.0), ("1.5", 1.5), ("0", 0.0), ("-3", 0.0), ("1e9", LONGEST_ASKED), ("inf", LONGEST_ASKED), ("nan", 0.0)],
)
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_is_given_the_time_it_asks_for_up_to_a_cap(start, connect, pauses, header, seconds, status):
    server = start(Reply(status, "wait", {"Retry-After": header}), Reply(body={}))

    connect(server, retries=1).call("GET", "/x")

    assert pauses == [seconds]


@pytest.mark.parametrize("ahead", [-3600, 20, 86400])
def test_a_date_is_a_time_to_wait_until(start, connect, pauses, ahead):
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=ahead), usegmt=True)
    server = start(Reply(503, "wait", {"Retry-After": when}), Reply(body={}))

    connect(server, retries=1).call("GET", "/x")

    assert 0 <= pauses[0] <= min(max(0, ahead), LONGEST_ASKED)
    assert (pauses[0] > 0) is (ahead > 0)


@pytest.mark.parametrize(
    "garbage",
    [
        "soon",
        "",
        "1 hour",
        "Mon, 99 Foo 2026 25:61:61 GMT",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2029 00:00:00 -0000",
    ],
)
def test_what_is_no_time_is_no_wish(start, connect, pauses, garbage):
    server = start(Reply(503, "wait", {"Retry-After": garbage}), Reply(body={}))

    connect(server, retries=1).call("GET", "/x")

    assert asked_to_wait(garbage) is None
    assert len(pauses) == 1
    assert pauses[0] <= retrying.FIRST_PAUSE


def test_an_error_says_how_long_the_server_asked_to_wait(start, connect, pauses, failure):
    server = start(Reply(429, "wait", {"Retry-After": "120"}))

    assert failure(connect(server).call, "GET", "/x").retry_after == 120.0


def test_pauses_grow_vary_and_stay_below_a_cap(pauses):
    for attempt in range(20):
        for _ in range(50):
            assert pause(attempt, None, Deadline.after(3600))

    rounds = [pauses[start : start + 50] for start in range(0, len(pauses), 50)]
    caps = [min(LONGEST_PAUSE, retrying.FIRST_PAUSE * 2**attempt) for attempt in range(20)]
    assert all(0 <= each <= cap for taken, cap in zip(rounds, caps, strict=True) for each in taken)
    assert all(len(set(taken)) > 1 for taken in rounds)
    assert max(rounds[-1]) > retrying.FIRST_PAUSE


def test_keys_are_uuids_of_version_7_that_differ(monkeypatch):
    from uuid import UUID

    keys = [UUID(fresh_key()) for _ in range(100)]

    assert len(set(keys)) == 100
    assert {(key.version, key.variant) for key in keys} == {(7, "specified in RFC 4122")}
    assert all(abs((key.int >> 80) / 1000 - datetime.now(UTC).timestamp()) < 3600 for key in keys)
