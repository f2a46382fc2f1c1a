"""Scenarios that are recorded from a real service, and replayed without it."""

import base64
import contextlib
import re
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from lance_ns.config import Secret
from lance_ns.errors import InvalidInput, LanceNsError
from lance_ns_conformance.cassettes.form import CassetteError
from lance_ns_conformance.run import Deviates, applicable, perform, run
from lance_ns_conformance.scenario import NotApplicable, Scenario, every_scenario
from lance_ns_conformance.subject import Server, read_description, subject_of
from lance_ns_conformance.suite import unused_cassettes

CREDENTIAL = "alice:wonderland-0815"
SOME = [
    "bridge.pages",
    "connections.pickles",
    "data.declared_or_with_data",
    "everything.pages",
    "identifiers.hostile_tables",
    "namespaces.create_existing",
    "paging.token_survives",
    "redaction.logs",
    "tables.given_location",
    "writing.unusual_names",
]


def named(id: str) -> Scenario:
    return next(each for each in every_scenario() if each.id == id)


def made(body: Any, id: str = "made.here", **more: Any) -> Scenario:
    return Scenario(id, "made here", body, (), frozenset(), False, **more)


def meet(remote: Any, mode: Any, scenario: Scenario, scratch: Path) -> None:
    scratch.mkdir(parents=True, exist_ok=True)
    perform(scenario, remote.subject(mode), scratch)


@pytest.fixture
def recorded(remote: Any, tmp_path: Path) -> Any:
    """A scenario's cassette, to be spoiled: `change(text)` writes it anew, `replay()` plays it."""
    scenario = named("tables.given_location")
    meet(remote, "record", scenario, tmp_path / "recorded")
    path = remote.cassette(scenario.id)

    class Recorded:
        file = path
        text = path.read_text()

        def change(self, text: str) -> None:
            path.write_text(text)

        def edit(self, change: Any) -> None:
            content = yaml.safe_load(self.text)
            change(content)
            path.write_text(yaml.safe_dump(content))

        def replay(self) -> None:
            meet(remote, "replay", scenario, tmp_path / "replayed")

    return Recorded()


@pytest.mark.parametrize("id", SOME)
def test_what_is_recorded_replays_without_the_service(remote, tmp_path, service, id):
    meet(remote, "record", named(id), tmp_path / "live")
    asked = len(service.tokens)
    meet(remote, "replay", named(id), tmp_path / "elsewhere")
    assert len(service.tokens) == asked, "the service was asked while a recording was played"


def test_a_cassette_holds_neither_secrets_nor_anything_of_the_machine(recorded, remote, tmp_path):
    for part in (*CREDENTIAL.split(":"), "eyJ", "Bearer", "session=", "test/1", str(tmp_path), "127.0.0.1"):
        assert part not in recorded.text
    for account in re.findall(r"arn:aws:iam::(\d+)", recorded.text):
        assert account == "000000000000"
    content = yaml.safe_load(recorded.text)
    assert list(content) == sorted(content)
    assert content["format"] == 1
    assert (content["backend"], content["server"]) == ("remote", "store-1.0")
    login, first = content["interactions"][0], content["interactions"][1]
    assert login["request"]["uri"] == "{{endpoint}}/v1/oauth/tokens"
    assert login["request"]["form"]["client_id"] == "{{credential.0}}"
    assert login["request"]["form"]["client_secret"] == "{{hidden}}"
    assert login["response"]["json"]["access_token"] == "{{hidden}}"
    assert login["response"]["headers"] == {"Content-Type": "application/json", "Retry-After": "0"}
    assert "json" in first["request"], "a JSON body is data, not text"
    assert "{{root}}/somewhere/else" in recorded.text


def test_the_stack_of_a_server_is_cut_to_its_first_line(remote, tmp_path):
    meet(remote, "record", named("namespaces.create_existing"), tmp_path / "live")
    text = remote.cassette("namespaces.create_existing").read_text()
    assert "Taken: it is" in text
    assert "of a machine" not in text


def test_a_request_that_was_not_recorded_names_file_field_and_difference(recorded):
    recorded.change(recorded.text.replace("{{root}}/somewhere/else", "{{root}}/somewhere/before"))
    with pytest.raises(CassetteError) as caught:
        recorded.replay()
    message = str(caught.value)
    assert str(recorded.file) in message
    assert "/v1/insert" in message
    assert re.search(r"body\.json\.value\[0\]: recorded \".*/somewhere/before\", sent \".*/somewhere/else\"", message)
    assert "record it again" in message
    assert "the last requests and answers" in "".join(caught.value.__notes__)


def test_a_request_sent_more_often_than_recorded_says_so(remote, tmp_path):
    times = [2]

    def body(ns: Any, world: Any) -> None:
        for _ in range(times[0]):
            assert not ns.namespace_exists(world.namespace())

    meet(remote, "record", made(body), tmp_path / "live")
    times[0] = 3
    with pytest.raises(CassetteError, match="it was recorded 2 times, and is sent once more"):
        meet(remote, "replay", made(body), tmp_path / "replayed")


def test_a_missing_cassette_is_named(recorded):
    recorded.file.unlink()
    with pytest.raises(CassetteError, match="nothing was recorded") as caught:
        recorded.replay()
    assert str(recorded.file) in str(caught.value)
    assert "there is no such file" in str(caught.value)


def test_an_interaction_that_is_never_asked_for_is_a_failure(recorded):
    recorded.edit(lambda content: content["interactions"].append(content["interactions"][-1]))
    with pytest.raises(CassetteError, match=r"1 of \d+ recorded requests were never sent") as caught:
        recorded.replay()
    assert "/v1/get" in str(caught.value)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda content: content.update(format=2), "has format 2, and this kit reads format 1"),
        (lambda content: content.pop("format"), "has no format"),
        (lambda content: content.update(extra=1), "missing or unknown: extra"),
        (lambda content: content.update(scenario="tables.other"), "is a recording of scenario 'tables.other'"),
        (lambda content: content.update(server="store-0.9"), "is a recording of server 'store-0.9'"),
        (lambda content: content.update(interactions={}), "its interactions are no list"),
        (lambda content: content["interactions"].insert(0, 5), "interaction 1 is not a request and a response"),
        (lambda content: content["interactions"][0].update(request=[]), "a part of interaction 1 is no mapping"),
        (lambda content: content["interactions"][1]["response"].pop("status"), "its response has no status"),
        (lambda content: content["interactions"][1]["request"].pop("method"), "its request has no method"),
        (lambda content: content["interactions"][1]["request"].update(verb="GET"), "unknown fields: verb"),
        (lambda content: content["interactions"][1]["response"].update(text="more"), "has several bodies: json, text"),
        (lambda content: content["interactions"][0]["request"].update(headers={"a": 1}), "headers that are no texts"),
    ],
)
def test_a_cassette_edited_into_nonsense_says_what_is_wrong(recorded, spoil, complaint):
    recorded.edit(spoil)
    with pytest.raises(CassetteError, match=re.escape(complaint)) as caught:
        recorded.replay()
    assert recorded.file.name in str(caught.value)


@pytest.mark.parametrize("text", ["{{{", "", "- a list", "format: 1\n\tx", "\x00"])
def test_a_file_that_is_no_cassette_says_so(recorded, text):
    recorded.change(text)
    with pytest.raises(CassetteError, match=r"cannot be read|is no cassette"):
        recorded.replay()


LEAKS = {
    "a bearer token": "Authorization: Bearer 9fd0c3a1b7e24f",
    "a user and password": f"Basic {base64.b64encode(b'alice:wonderland').decode()}",
    "a JSON web token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmVk",
    "an AWS access key": "AKIAIOSFODNN7EXAMPLE",
    "a private key": "-----BEGIN RSA PRIVATE KEY-----",
    "a value of client_secret": "grant_type=x&client_secret=wonderland",
    "a value of access_token": '{"access_token": "wonderland"}',
}


@pytest.mark.parametrize("what", LEAKS)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "in base64"])
def test_a_cassette_with_a_secret_in_it_is_refused(recorded, what, packed):
    value = base64.b64encode(f"xx {LEAKS[what]} xx".encode()).decode() if packed else LEAKS[what]
    recorded.edit(lambda content: content["interactions"][1]["response"]["json"].update(note=value))
    with pytest.raises(CassetteError, match="holds what looks like a secret") as caught:
        recorded.replay()
    assert what in str(caught.value)
    assert "wonderland" not in str(caught.value), "the complaint shows the secret"


def test_a_secret_under_its_own_name_is_refused(recorded):
    recorded.edit(lambda content: content["interactions"][0]["response"]["json"].update(access_token="short"))
    with pytest.raises(CassetteError, match="a value of access_token"):
        recorded.replay()


def test_a_secret_of_the_connection_that_a_server_repeats_is_not_kept(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        secret = world.properties()["credential"].partition(":")[2]
        ns.create_namespace(world.namespace(), properties={"note": f"by {secret} herself", "within": f"x{secret}x"})

    meet(remote, "record", made(body), tmp_path / "live")
    text = remote.cassette("made.here").read_text()
    assert "by {{credential.1}} herself" in text
    assert "x{{credential.1}}x" in text
    assert "wonderland" not in text


def test_what_a_scenario_swallows_is_a_failure_all_the_same(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        with contextlib.suppress(LanceNsError):
            ns.describe_namespace(world.namespace())

    with pytest.raises(CassetteError, match="nothing was recorded"):
        meet(remote, "replay", made(body), tmp_path / "replayed")


def test_a_scenario_that_fails_is_not_blamed_for_what_it_did_not_reach(remote, tmp_path):
    ends = [False]

    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        assert not ends[0], "it is not so"
        ns.describe_namespace(world.namespace())

    meet(remote, "record", made(body), tmp_path / "live")
    ends[0] = True
    with pytest.raises(AssertionError, match="it is not so"):
        meet(remote, "replay", made(body), tmp_path / "replayed")


def test_a_scenario_that_fails_shows_what_was_sent_and_answered_without_secrets(remote, service):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        raise AssertionError("it is not so")

    (result,) = run(remote.subject("live"), [made(body)])
    assert result.failed
    assert result.reason == "it is not so"
    assert any("/v1/insert" in line and "→ 200" in line for line in result.exchange)
    told = "\n".join([*result.exchange, result.details])
    assert "the last requests and answers" in result.details
    for secret in (*service.tokens, "wonderland"):
        assert secret not in told


def test_a_scenario_that_fails_is_not_recorded_and_leaves_the_old_recording(recorded, remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        raise AssertionError("it is not so")

    with pytest.raises(AssertionError):
        meet(remote, "record", made(body, "tables.given_location"), tmp_path / "again")
    assert recorded.file.read_text() == recorded.text


def test_recording_anew_replaces_the_old_recording(recorded, remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)

    meet(remote, "record", made(body, "tables.given_location"), tmp_path / "again")
    assert len(yaml.safe_load(recorded.file.read_text())["interactions"]) == 2
    with pytest.raises(NotApplicable):
        meet(
            remote, "record", made(lambda ns, world: world.skip("why not"), "tables.given_location"), tmp_path / "third"
        )
    assert not recorded.file.exists(), "of a scenario that sends nothing no recording is left"


def test_what_cannot_be_replayed_is_not_kept(remote, tmp_path):
    number = iter(range(100))

    def body(ns: Any, world: Any) -> None:
        world.created(ns, f"n{next(number)}")

    with pytest.raises(CassetteError, match=r"what was recorded cannot be replayed: .*a request was not recorded"):
        meet(remote, "record", made(body), tmp_path / "live")
    assert not remote.cassette("made.here").exists()


def test_what_ends_otherwise_when_it_is_replayed_is_not_kept(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        assert world.subject.mode == "record", "it looks at something that is not recorded"

    with pytest.raises(CassetteError, match="what was recorded cannot be replayed: it looks at something"):
        meet(remote, "record", made(body), tmp_path / "live")
    assert not remote.cassette("made.here").exists()


def test_a_scenario_that_does_not_apply_is_neither_passed_nor_failed_and_has_no_cassette(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.skip("the moon is full")

    for mode in ("live", "record", "replay"):
        with pytest.raises(NotApplicable, match="the moon is full"):
            meet(remote, mode, made(body), tmp_path / mode)
    assert not remote.cassette("made.here").exists()
    (result,) = run(remote.subject("live"), [made(body)])
    assert (result.passed, result.failed, result.applicable, result.why) == (False, False, False, "the moon is full")


def test_a_scenario_that_finds_out_late_that_it_does_not_apply_replays_so(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        world.skip("the moon is full")

    for mode in ("record", "replay"):
        with pytest.raises(NotApplicable, match="the moon is full"):
            meet(remote, mode, made(body), tmp_path / mode)
    remote.cassette("made.here").unlink()
    with pytest.raises(CassetteError):
        meet(remote, "replay", made(body), tmp_path / "again")


def deviating(remote: Any, mode: Any) -> Any:
    server = Server(name="store-1.0", deviations={"made.here": "it cannot do that"})
    return attrs.evolve(remote.subject(mode), server=server)


def test_a_deviation_fails_as_said_in_every_mode(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        world.created(ns)
        raise AssertionError("it is not so")

    for mode in ("live", "record", "replay"):
        with pytest.raises(Deviates, match="it cannot do that"):
            perform(made(body), deviating(remote, mode), tmp_path)
        (result,) = run(deviating(remote, mode), [made(body)])
        assert (result.passed, result.failed, result.deviation) == (False, False, "it cannot do that")
    remote.cassette("made.here").unlink()
    (result,) = run(deviating(remote, "replay"), [made(body)])
    assert result.failed, "without a recording nothing is shown"


def test_a_deviation_that_passes_after_all_is_a_failure(remote):
    (result,) = run(deviating(remote, "live"), [made(lambda ns, world: None)])
    assert result.failed
    assert "passes: take it off the deviations" in result.reason


def test_only_scenarios_in_which_servers_differ_are_asked_of_a_server_of_that_scope(remote):
    full, dialect = (
        {each.id for each in applicable(remote.subject("replay", name))[0]} for name in ("store-1.0", "store-0.9")
    )
    assert dialect < full
    assert "namespaces.create_existing" in dialect
    assert "connections.pickles" not in dialect
    assert "namespaces.racing_creators" not in full, "what depends on timing is not replayed"
    assert "namespaces.racing_creators" in {each.id for each in applicable(remote.subject("live"))[0]}


def test_cassettes_that_no_scenario_uses_are_found(remote, recorded):
    assert unused_cassettes("remote", remote.cassettes) == []
    others = [
        remote.cassettes / "store-1.0" / "tables.forgotten.yaml",
        remote.cassettes / "store-1.0" / "notes.txt",
        remote.cassettes / "store-0.8" / "tables.given_location.yaml",
        remote.cassettes / "store-0.9" / "connections.pickles.yaml",
    ]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    assert unused_cassettes("remote", remote.cassettes) == sorted(others)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({"RECORDS": "smoke"}, "RECORDS of x is 'smoke'"),
        ({"EXPECTATIONS": {"folds_cases": True}}, "unknown expectations of x: folds_cases"),
        ({"SERVERS": {"s": {"start": "y"}}}, "unknown server 's' of x: start"),
        ({"SERVERS": {"s": {"name": "y"}}}, "unknown server 's' of x: name"),
        ({"SERVERS": {"s": {"scope": "some"}}}, "server 's' of x: 'scope' must be in"),
        ({"SERVERS": {"s": {"expectations": {"deep": 1}}}}, "unknown expectations of server 's' of x: deep"),
        ({"SERVERS": {"s": {"deviations": {"a.b": "no"}}}}, "server 's' of x deviates in unknown scenarios: a.b"),
    ],
)
def test_a_description_that_says_what_nobody_knows_is_refused(said, complaint):
    with pytest.raises(InvalidInput, match=re.escape(complaint)):
        read_description("x", type("Module", (), said))


def test_a_server_that_nobody_described_is_refused_with_those_that_are(remote):
    with pytest.raises(InvalidInput, match="no server 'store-2'") as caught:
        remote.subject("live", "store-2")
    assert "store-1.0, store-0.9" in str(caught.value)


def test_an_embedded_backend_has_nothing_to_replay():
    with pytest.raises(InvalidInput, match="nothing of dir can be recorded or replayed"):
        subject_of("dir", {}, mode="replay")


def test_a_root_of_the_live_server_holds_a_directory_for_each_scenario(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        assert world.scratch.is_relative_to(tmp_path / "ground") is (world.subject.mode == "record")
        location = ns.declare_table((*world.created(ns), "t")).location
        assert location.startswith(f"{world.scratch}/lake/")

    remote.live["root"] = str(tmp_path / "ground")
    meet(remote, "record", made(body), tmp_path / "live")
    assert str(tmp_path) not in remote.cassette("made.here").read_text()
    assert list((tmp_path / "ground").iterdir()) == []


def test_a_root_elsewhere_gets_a_part_of_its_own_for_each_scenario(remote, tmp_path):
    remote.live["root"] = "s3://bucket/lake"
    subject = remote.subject("live")
    roots = {subject.connect(scratch).__reduce__()[1][1]["root"] for scratch in (tmp_path / "a", tmp_path / "b")}
    assert len(roots) == 2
    assert all(root.startswith("s3://bucket/lake/") for root in roots)


def test_data_that_lies_elsewhere_lies_in_the_scenarios_directory_when_it_is_replayed(remote, tmp_path):
    def body(ns: Any, world: Any) -> None:
        location = ns.declare_table((*world.created(ns), "t")).location
        assert location.startswith("s3://bucket/lake/" if world.subject.mode == "record" else f"{world.scratch}/lake/")

    remote.live["root"] = "s3://bucket/lake/"
    for mode in ("record", "replay"):
        meet(remote, mode, made(body), tmp_path / mode)


def test_secret_properties_are_taken_for_what_they_are(remote, tmp_path):
    remote.live["credential"] = Secret(CREDENTIAL)
    meet(remote, "record", named("namespaces.create_existing"), tmp_path / "live")
    meet(remote, "replay", named("namespaces.create_existing"), tmp_path / "replayed")
