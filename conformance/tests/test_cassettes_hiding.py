"""What a cassette keeps in the place of values, and what it never keeps."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lance_ns.config import Secret
from lance_ns_conformance.cassettes import bodies
from lance_ns_conformance.cassettes.form import dumped
from lance_ns_conformance.cassettes.leaks import leaks
from lance_ns_conformance.cassettes.placeholders import hider, restorer
from lance_ns_conformance.cassettes.scrubbing import KEPT_OF_REQUESTS, KEPT_OF_RESPONSES, kept_headers, scrubbed
from lance_ns_conformance.subject import filled

LIVE, REPLAY = Path("/tmp/live room"), Path("/var/replayed")
PROPERTIES = {"endpoint": "http://catalog.invalid/api", "credential": "me:nothing", "warehouse": "lance",
              "root": "{scratch}/lake"}  # fmt: skip
GIVEN = {
    "endpoint": "http://127.0.0.1:20345/iceberg/",
    "credential": Secret("alice:wonderland"),
    "warehouse": "main",
    "root": "s3://bucket/lake/x1",
    "storage.aws_endpoint": "http://127.0.0.1:9000",
    "storage.aws_secret_access_key": "s3-secret",
    "storage.allow_http": "true",
    "timeout": 5,
}
hide = hider(GIVEN, PROPERTIES, LIVE, ["alice:wonderland", "s3-secret"], ("s3://bucket/lake", "/srv/warehouse"))
restore = restorer(filled(PROPERTIES, REPLAY), REPLAY)


@pytest.mark.parametrize(
    ("text", "kept", "replayed"),
    [
        (f"file://{LIVE}/t", "file://{{root}}/t", f"file://{REPLAY}/t"),
        ("s3://bucket/lake/other", "{{root}}/server0/other", f"{REPLAY}/server0/other"),
        ("file:/srv/warehouse/x.db", "file:{{root}}/server1/x.db", f"file:{REPLAY}/server1/x.db"),
        ("s3://bucket/lakes", "s3://bucket/lakes", "s3://bucket/lakes"),
        ("http://127.0.0.1:20345/iceberg/v1/config", "{{endpoint}}/v1/config", "http://catalog.invalid/api/v1/config"),
        ("http://127.0.0.1:20345/other", "{{endpoint.origin}}/other", "http://catalog.invalid/other"),
        ("http://127.0.0.1:203456/iceberg", "http://127.0.0.1:203456/iceberg", "http://127.0.0.1:203456/iceberg"),
        ("127.0.0.1:20345", "{{endpoint.host}}", "catalog.invalid"),
        ("s3://bucket/lake/x1/ns/t", "{{root}}/lake/ns/t", f"{REPLAY}/lake/ns/t"),
        ("main|warehouse domain mainly", "{{warehouse}}|warehouse domain mainly", "lance|warehouse domain mainly"),
        ("parent=main%1Fmain", "parent={{warehouse}}%1F{{warehouse}}", "parent=lance%1Flance"),
        ("xxalicexx", "xxalicexx", "xxalicexx"),
        ("client_id=alice", "client_id={{credential.0}}", "client_id=me"),
        ("alice:wonderland", "{{credential}}", "me:nothing"),
        ("xxs3-secretxx", "xx{{storage.aws_secret_access_key}}xx", "xx{{storage.aws_secret_access_key}}xx"),
        ("http://127.0.0.1:9000/b", "{{storage.aws_endpoint}}/b", "{{storage.aws_endpoint}}/b"),
        ("it is true", "it is true", "it is true"),
        ("{{unknown}} {{root|strange}}", "{{unknown}} {{root|strange}}", "{{unknown}} {{root|strange}}"),
    ],
)
def test_values_of_the_machine_are_placeholders_and_come_back_as_those_of_replay(text, kept, replayed):
    assert hide(text) == kept
    assert restore(kept) == replayed


@pytest.mark.parametrize("safe", ["", "/"])
def test_values_in_urls_are_found_and_come_back_encoded(safe):
    text = f"location={quote(str(LIVE), safe=safe)}%2Ft&x=1"
    kept = hide(text)
    assert "live" not in kept
    assert restore(kept) == f"location={quote(str(REPLAY), safe=safe)}%2Ft&x=1"


def test_a_root_in_a_url_comes_back_with_its_path_encoded():
    kept = hide(f"location={quote('s3://bucket/lake/x1/ns', safe='')}")
    assert restore(kept) == f"location={quote(f'{REPLAY}/lake/ns', safe='')}"


def test_values_in_texts_of_json_are_found():
    live = hider({"note": 'say "hello"\n'}, {"note": 'say "bye"'}, LIVE, [])
    kept = live(json.dumps({"note": 'say "hello"\n'}))
    assert json.loads(restorer({"note": 'say "bye"'}, REPLAY)(kept)) == {"note": 'say "bye"'}


@pytest.mark.parametrize("url", [False, True])
@pytest.mark.parametrize("bare", [False, True])
def test_values_inside_of_base64_are_found_and_come_back_in_base64(url, bare):
    encode = base64.urlsafe_b64encode if url else base64.b64encode

    def packed(room: Path) -> str:
        text = encode(json.dumps({"offset": 3, "path": f"{room}/t", "other": "??>>~~ÿÿ}}"}).encode()).decode()
        return text.rstrip("=") if bare else text

    kept = hide(f"token={packed(LIVE)}&x")
    assert "{{root}}/t" in kept
    assert restore(kept) == f"token={packed(REPLAY)}&x"


def test_base64_that_holds_nothing_of_the_machine_stays_as_it_is():
    text = base64.b64encode(b"just a long enough text of no interest").decode()
    assert hide(text) == text


@given(st.text())
def test_a_text_without_values_stays_as_it_is(text):
    plain = hider({}, {}, Path("/nowhere/at/all"), [])
    assert plain(text) == text


AUTHENTICATING = {
    "Authorization": "Bearer x", "Cookie": "x", "X-Amz-Date": "x", "X-Amz-Security-Token": "x",
    "amz-sdk-invocation-id": "x", "amz-sdk-request": "x", "User-Agent": "x", "Proxy-Authorization": "x",
}  # fmt: skip


def test_only_headers_that_matter_are_kept():
    assert kept_headers({**AUTHENTICATING, "X-Amz-Target": b"Glue.Get"}, KEPT_OF_REQUESTS) == {
        "X-Amz-Target": "Glue.Get"
    }
    noise = {"Set-Cookie": ["x"], "Date": ["x"], "Server": ["x"], "x-amzn-RequestId": ["x"], "Content-Length": ["5"]}
    assert kept_headers({**noise, "Retry-After": ["120"], "ETag": ["e"]}, KEPT_OF_RESPONSES) == {
        "Retry-After": "0",
        "ETag": "e",
    }


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ({"client_secret": "s", "scope": "a"}, {"client_secret": "{{hidden}}", "scope": "a"}),
        ({"a": [{"access_token": "s"}]}, {"a": [{"access_token": "{{hidden}}"}]}),
        ({"refresh_token": "s"}, {"refresh_token": "{{hidden}}"}),
        ({"s3.secret-access-key": "s"}, {"s3.secret-access-key": "{{hidden}}"}),
        ({"s3.session-token": "s"}, {"s3.session-token": "{{hidden}}"}),
        ({"clientSecret": "s"}, {"clientSecret": "{{hidden}}"}),
        ({"NextToken": "t", "page_token": "t", "key": "k"}, {"NextToken": "t", "page_token": "t", "key": "k"}),
        ("grant=x&client_secret=s&y=1", "grant=x&client_secret={{hidden}}&y=1"),
        ('{"access_token": "s"', '{"access_token": "{{hidden}}"'),
        ("<SecretAccessKey>s</SecretAccessKey>", "<SecretAccessKey>{{hidden}}</SecretAccessKey>"),
        ("arn:aws:glue:eu-west-1:123456789012:table/d/t", "arn:aws:glue:eu-west-1:000000000000:table/d/t"),
        ({"CatalogId": "123456789012"}, {"CatalogId": "000000000000"}),
        ({"number": "123456789012"}, {"number": "123456789012"}),
        ("<Account>123456789012</Account>", "<Account>000000000000</Account>"),
        ({"stack": ["first", "second"]}, {"stack": ["first"]}),
        ({"stack_trace": "first\nsecond", "stackTrace": "a\nb"}, {"stack_trace": "first", "stackTrace": "a"}),
        ({"access_token": ""}, {"access_token": ""}),
    ],
)  # fmt: skip
def test_what_must_not_be_kept_is_scrubbed_once_and_for_all(data, kept):
    assert scrubbed(data) == kept
    assert scrubbed(kept) == kept
    assert leaks(kept) == []


@pytest.mark.parametrize(
    "text",
    [
        'Bearer realm="catalog"',
        "Bearer authentication is needed",
        "Basic authentication is needed",
        "the access_token is missing",
        "client_secret: {{hidden}}",
        "d3d3LmV4YW1wbGUuY29tL2Fib3V0",
        "{{base64:{{credential}}:base64}}",
    ],
)
def test_ordinary_words_are_no_leak(text):
    assert leaks({"message": text}) == []


def test_a_secret_that_is_known_is_found_wherever_it_is():
    assert leaks({"a": ["xx-wonderland-xx"]}, ["wonderland"]) == ["a secret of the connection"]
    packed = base64.b64encode(b"it is wonderland here").decode()
    assert leaks({"a": packed}, ["wonderland"]) == ["a secret of the connection, in base64"]


@pytest.mark.parametrize(
    ("body", "kind", "shown"),
    [
        (b'{"b": [1, null, "x"]}', "application/json", {"json": {"b": [1, None, "x"]}}),
        (b'{"b": 1}', "application/x-amz-json-1.1", {"json": {"b": 1}}),
        (b'{"b": 1}', "", {"json": {"b": 1}}),
        (b"null", "application/json", {"json": None}),
        (b"{broken", "application/json", {"text": "{broken"}),
        (b'{"x": NaN}', "application/json", {"text": '{"x": NaN}'}),
        (rb'{"x": "\ud800"}', "application/json", {"text": r'{"x": "\ud800"}'}),
        (b"<html>", "text/html", {"text": "<html>"}),
        (b"a=1&b=", "application/x-www-form-urlencoded", {"form": {"a": "1", "b": ""}}),
        (b"\xff\xfe", "application/json", {"base64": "//4="}),
        (b"", "application/json", {}),
    ],
)
def test_bodies_are_kept_as_something_to_read(body, kind, shown):
    assert bodies.shown(body, kind) == shown
    stored = yaml.safe_load(dumped(shown))
    assert stored == shown
    if "form" not in shown:
        sent = bodies.sent(stored)
        assert json.loads(sent) == json.loads(body) if "json" in shown else sent == body


plain = st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"))
numbers = st.floats(allow_nan=False, allow_infinity=False)
keys = st.text(st.characters(codec="utf-8"), max_size=5)
nested = st.recursive(
    plain | numbers, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3)
)


@given(nested)
def test_any_json_survives_in_a_file(data):
    shown = bodies.shown(json.dumps(data).encode(), "application/json")
    assert json.loads(bodies.sent(yaml.safe_load(dumped(shown)))) == data
