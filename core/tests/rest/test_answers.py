"""What a server's answer means: errors by name, then by status, and successes that are none."""

import gzip
import json

import pytest
from small_server import Reply

from lance_ns.errors import ErrorCode, Internal, InvalidInput, LanceNsError, TableAlreadyExists, TableNotFound
from lance_ns.rest import transport as module
from lance_ns.rest.dialect import Dialect, Said, iceberg_error


def said(name: str, message: str = "so it is") -> dict[str, object]:
    return {"error": {"type": name, "message": message, "code": 400}}


# --- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "body", "meaning", "code"),
    [
        # by name, of the call and of the dialect; then by status, of the call, of the dialect and of everybody
        (500, said("NoSuchThing"), {}, 4),
        (403, said("NoSuchThing"), {}, 4),
        (404, said("NoSuchThing"), {404: InvalidInput}, 4),
        (404, said("NoSuchThing"), {"NoSuchThing": TableAlreadyExists}, 5),
        (404, said("Unheard"), {404: InvalidInput}, 13),
        (410, said("Unheard"), {}, 1),
        (410, said("Unheard"), {410: InvalidInput}, 13),
        (404, said(""), {404: TableNotFound}, 4),
        (404, {"error": {}}, {404: TableNotFound}, 4),
        (401, said("Unheard"), {}, 16),
        (419, said("Unheard"), {}, 16),
        (403, said("Unheard"), {}, 15),
        (406, said("Unheard"), {}, 0),
        (501, said("Unheard"), {}, 0),
        (429, said("Unheard"), {}, 21),
        (502, said("Unheard"), {}, 17),
        (503, said("Unheard"), {}, 17),
        (504, said("Unheard"), {}, 17),
        # whatever nobody has a meaning for
        (400, said("Unheard"), {}, 18),
        (404, said("Unheard"), {}, 18),
        (405, said("Unheard"), {}, 18),
        (409, said("Unheard"), {}, 18),
        (418, said("Unheard"), {}, 18),
        (500, said("Unheard"), {}, 18),
        (599, said("Unheard"), {}, 18),
        (300, {}, {}, 18),
        (304, b"", {}, 18),
        # bodies that are not what they should be
        (404, b"", {404: TableNotFound}, 4),
        (404, "plain words", {404: TableNotFound}, 4),
        (400, "<html>no</html>", {}, 18),
        (400, '["NoSuchThing"]', {}, 18),
        (400, '"NoSuchThing"', {}, 18),
        (400, '{"error": ["NoSuchThing"]}', {}, 18),
        (400, '{"error": {"type": {"NoSuchThing": 1}, "message": 7}}', {}, 18),
        (400, "[" * 100_000, {}, 18),
        (400, b"\xff\xfe\xfd", {}, 18),
        (400, '{"error": {"type": "NoSuchThing"', {}, 18),
    ],
)
def test_an_error_is_what_its_name_says_then_what_its_status_says(start, connect, failure, status, body, meaning, code):
    error = failure(connect(start(Reply(status, body))).call, "GET", "/x", meaning=meaning)

    assert error.code == code
    assert error.native.startswith(f"HTTP {status}")
    assert error.message


def test_a_name_of_oauth2_is_one_too(start, connect, failure):
    server = start(Reply(400, {"error": "NoSuchThing", "error_description": "it is gone"}))

    error = failure(connect(server).call, "GET", "/x")

    assert (error.code, error.message) == (ErrorCode.TABLE_NOT_FOUND, "it is gone")


def test_a_dialect_reads_its_own_bodies(start, connect, failure):
    dialect = Dialect(read=lambda body: Said(body["error_code"], body["message"]), kinds={"GONE": TableNotFound})
    server = start(Reply(400, {"error_code": "GONE", "message": "it is gone"}))

    error = failure(connect(server, dialect=dialect).call, "GET", "/x")

    assert (error.code, error.message, error.native) == (ErrorCode.TABLE_NOT_FOUND, "it is gone", "HTTP 400 GONE")


def test_an_error_shows_the_first_line_of_what_the_server_says(start, connect, failure):
    server = start(Reply(400, said("Unheard", "\n  The first line\nat java.lang.Thread.run(Thread.java)\n")))

    error = failure(connect(server).call, "GET", "/x")

    assert (error.message, error.native) == ("The first line", "HTTP 400 Unheard")


@pytest.mark.parametrize("body", ["x" * 5_000_000, json.dumps(said("y" * 5_000_000, "x" * 5_000_000))])
def test_long_messages_are_cut(start, connect, failure, body):
    error = failure(connect(start(Reply(400, body))).call, "GET", "/x")

    assert len(error.message) < 500
    assert len(error.native) < 500
    assert error.message.startswith("x")
    assert error.message.endswith("…")


def test_nothing_that_a_terminal_would_obey_is_shown(start, connect, failure):
    server = start(Reply(400, said("\x1b[2J\x07", "red \x1b[31malert\x9b2J\r\u202egnp.exe")))

    error = failure(connect(server).call, "GET", "/x")

    assert str(error).isprintable()
    assert error.native.isprintable()
    assert "alert" in error.message


def test_a_page_for_people_is_not_repeated_to_them(start, connect, failure):
    error = failure(connect(start(Reply(404, "<html><h1>Not here</h1></html>"))).call, "GET", "/x")

    assert "<" not in error.message


def test_errors_of_people_have_a_hint(start, connect, failure):
    for status in (401, 403, 429, 503):
        assert failure(connect(start(Reply(status))).call, "GET", "/x").hint


def test_what_is_read_of_a_body_never_fails():
    for body in (
        {},
        {"error": None},
        {"error": 1},
        {"error": {"type": None, "message": None}},
        {"error": {"type": []}},
    ):
        assert iceberg_error(body) == Said()


# --- successes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 203])
@pytest.mark.parametrize("body", [{"a": [1, None]}, [], {}, "null", " [1] \n"])
def test_a_success_is_decoded(start, connect, status, body):
    answer = connect(start(Reply(status, body))).call("GET", "/x")

    assert answer.status == status
    assert answer.body == (json.loads(body) if isinstance(body, str) else body)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(200, b""),
        Reply(204),
        Reply(200, "fine"),
        Reply(200, "<html></html>"),
        Reply(200, "  \n<!DOCTYPE html>"),
        Reply(200, '{"looks": "like JSON"}', {"Content-Type": "text/html"}),
        Reply(200, '{"cut": '),
        Reply(200, "[" * 100_000),
        Reply(200, b"\xff\xfe\xfd"),
        Reply(200, "9" * 10_000),
    ],
)
def test_a_success_that_is_not_json_is_an_error_not_an_empty_answer(start, connect, failure, reply):
    error = failure(connect(start(reply)).call, "GET", "/x")

    assert error.code is ErrorCode.INTERNAL
    assert "endpoint" in error.hint


@pytest.mark.parametrize("reply", [Reply(204), Reply(200), Reply(200, "200 OK"), Reply(200, {"ignored": True})])
def test_a_call_that_has_no_answer_takes_any_success(start, connect, reply):
    assert connect(start(reply)).call("DELETE", "/x", answers=False).body is None


@pytest.mark.parametrize("method", ["DELETE", "HEAD", "POST"])
def test_a_page_for_people_is_no_success_even_where_no_answer_is_needed(start, connect, failure, method):
    server = start(Reply(200, "<html>Please sign in</html>", {"Content-Type": "text/html"}))

    assert failure(connect(server).call, method, "/x", answers=False).code is ErrorCode.INTERNAL


def test_an_answer_that_is_compressed_without_being_asked_is_read(start, connect):
    packed = gzip.compress(json.dumps({"a": "b" * 10_000}).encode())

    answer = connect(start(Reply(200, packed, {"Content-Encoding": "gzip"}))).call("GET", "/x")

    assert answer.body == {"a": "b" * 10_000}


# --- size ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [200, 400])
@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_that_is_too_large_is_given_up(start, connect, failure, monkeypatch, pauses, status, packed):
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1_000_000)
    content = json.dumps(["x" * 3_000_000]).encode()
    reply = Reply(status, gzip.compress(content), {"Content-Encoding": "gzip"}) if packed else Reply(status, content)
    server = start(reply, Reply(body={}))
    client = connect(server, retries=3)

    error = failure(client.call, "GET", "/x")

    assert error.code is ErrorCode.INTERNAL
    assert "larger than" in error.message
    assert len(server.asked) == 1
    assert client.call("GET", "/x").body == {}  # not what is left of the first answer


def test_an_answer_that_is_just_small_enough_is_read(start, connect, monkeypatch):
    content = json.dumps(["x" * 1000]).encode()
    monkeypatch.setattr(module, "LARGEST_ANSWER", len(content))

    assert connect(start(Reply(200, content))).call("GET", "/x").body == ["x" * 1000]


# --- redirects -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("form", ["absolute", "path", "relative"])
def test_a_redirect_on_the_same_server_is_followed(start, connect, status, method, form):
    where = {"absolute": "{}/api/v1/there?a=b%2Fc", "path": "/api/v1/there?a=b%2Fc", "relative": "there?a=b%2Fc"}[form]
    server = start(lambda _: Reply(status, headers={"Location": where.format(server.url)}), Reply(body={"ok": True}))

    connect(server, path="/api", tokens="t0ken").call(method, "/v1/here")

    assert [(each.method, each.target, each.token) for each in server.asked] == [
        (method, "/api/v1/here", "t0ken"),
        (method, "/api/v1/there?a=b%2Fc", "t0ken"),
    ]


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST"])
@pytest.mark.parametrize("to", ["http://localhost:{other}/x", "http://127.0.0.1:{other}/x", "//127.0.0.1:{other}/x"])
def test_a_redirect_to_another_server_is_never_followed(start, connect, failure, method, to):
    other = start()
    server = start(Reply(307, headers={"Location": to.format(other=other.port)}))

    error = failure(connect(server, tokens="t0ken", retries=3).call, method, "/x")

    assert error.code is ErrorCode.INTERNAL
    assert str(other.port) in error.message
    assert len(server.asked) == 1
    assert (other.asked, other.accepted) == ([], 0)


@pytest.mark.parametrize(
    "to", ["https://127.0.0.1:{}/x", "http://localhost:{}/x", "ftp://127.0.0.1/x", "http://[::1/x", "javascript:x"]
)
def test_a_redirect_to_another_scheme_or_name_of_the_same_port_is_never_followed(start, connect, failure, to):
    server = start(lambda _: Reply(302, headers={"Location": to.format(server.port)}))

    error = failure(connect(server, tokens="t0ken").call, "GET", "/x")

    assert error.code is ErrorCode.INTERNAL
    assert len(server.asked) == 1


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH"])
def test_a_call_that_changes_something_is_not_redirected(start, connect, failure, method):
    server = start(Reply(308, headers={"Location": "/there"}))

    assert failure(connect(server, retries=3).call, method, "/x").code is ErrorCode.INTERNAL
    assert [each.target for each in server.asked] == ["/x"]


@pytest.mark.parametrize("headers", [{"Location": "/x"}, {"Location": "?again"}, {}])
def test_redirects_that_lead_nowhere_end(start, connect, failure, headers):
    server = start(Reply(302, headers=headers))

    error = failure(connect(server, retries=3).call, "GET", "/x")

    assert error.code is ErrorCode.INTERNAL
    assert 1 < len(server.asked) < 10


def test_a_refused_redirect_does_not_show_the_token(start, connect, failure):
    server = start(lambda asked: Reply(302, headers={"Location": f"http://elsewhere.example/?t={asked.token}"}))

    error = failure(connect(server, tokens="t0ken").call, "GET", "/x")

    assert "elsewhere.example" in str(error)
    assert "t0ken" not in str(error)


def test_only_errors_of_ours_leave_the_client(start, connect):
    server = start(Reply(200, b"not gzip at all", {"Content-Encoding": "gzip"}), Reply(599, b"", {"Retry-After": "x"}))
    client = connect(server)

    for _ in range(2):
        with pytest.raises(LanceNsError):
            client.call("GET", "/x")
    with pytest.raises(Internal):
        connect(start(Reply(200, "")), retries=0).call("GET", "/x")
