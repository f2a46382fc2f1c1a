"""The kit's pytest suite and command in every mode, on a backend with a real service."""

import json
import sys

import pytest
import vcr.patch  # noqa: F401  # pytester forgets what is first imported inside of it, and yaml's C code does not bear it
import yaml  # noqa: F401
from click.testing import CliRunner

from lance_ns_conformance.cli import certify
from lance_ns_conformance.scenario import every_scenario

pytest_plugins = ("pytester",)

SOME = ("namespaces.create_existing", "namespaces.nested", "tables.given_location", "capabilities.undeclared_location")
SUITE = """
import pathlib
from lance_ns_conformance import ConformanceSuite

class TestStore(ConformanceSuite):
    backend = "remote"
    server = "store-1.0"
    cassettes = pathlib.Path("CASSETTES")
"""
LIVE = """
    import pytest
    @pytest.fixture
    def conformance_properties(self):
        return {"endpoint": "ENDPOINT", "credential": "alice:wonderland-0815"}
"""


@pytest.fixture(autouse=True)
def few_scenarios(monkeypatch):
    """The real scenarios, some of them."""
    chosen = tuple(each for each in every_scenario() if each.id in SOME)
    assert len(chosen) == len(SOME)
    for module in ("run", "scenario"):
        monkeypatch.setattr(sys.modules[f"lance_ns_conformance.{module}"], "every_scenario", lambda: chosen)


@pytest.fixture
def suite(pytester, remote, service):
    """Runs a suite on the service, with options."""

    def run(*options: str, text: str = SUITE + LIVE):
        text = text.replace("CASSETTES", str(remote.cassettes)).replace("ENDPOINT", service.url)
        pytester.makepyfile(text)
        return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-rsxX", *options)

    return run


def test_a_suite_is_recorded_then_replayed_by_default(suite, remote, service):
    suite("--conformance-mode=record").assert_outcomes(passed=4, skipped=1)
    assert sorted(path.stem for path in (remote.cassettes / "store-1.0").iterdir()) == sorted(SOME[:3])
    tokens = len(service.tokens)
    shown = suite(text=SUITE)
    shown.assert_outcomes(passed=4, skipped=1)
    shown.stdout.fnmatch_lines(["*declare_table.location is declared*"])
    assert len(service.tokens) == tokens


def test_a_suite_runs_live_when_asked(suite, remote, service):
    tokens = len(service.tokens)
    suite("--conformance-mode=live").assert_outcomes(passed=4, skipped=1)
    assert len(service.tokens) > tokens
    assert not remote.cassettes.exists()


def test_a_suite_that_says_its_mode_keeps_it(suite, remote):
    suite(text=f"{SUITE}\n    mode = 'live'\n{LIVE}").assert_outcomes(passed=4, skipped=1)
    assert not remote.cassettes.exists()


def test_a_suite_without_recordings_fails_and_names_them(suite, remote):
    shown = suite()
    shown.assert_outcomes(failed=3, passed=1, skipped=1)
    shown.stdout.fnmatch_lines(["*tables.given_location.yaml: a request was not recorded*"])


def test_a_suite_fails_on_a_recording_that_nothing_uses(suite, remote):
    suite("--conformance-mode=record")
    (remote.cassettes / "store-1.0" / "tables.of_the_past.yaml").write_text("x")
    shown = suite()
    shown.assert_outcomes(failed=1, passed=3, skipped=1)
    shown.stdout.fnmatch_lines(["*no scenario uses *tables.of_the_past.yaml: delete them*"])


def test_a_deviation_is_an_expected_failure_of_the_suite(suite, remote, monkeypatch):
    monkeypatch.setitem(remote.SERVERS["store-1.0"], "deviations", {"tables.given_location": "it chooses itself"})
    shown = suite("--conformance-mode=live")
    shown.assert_outcomes(failed=1, passed=3, skipped=1)
    shown.stdout.fnmatch_lines(["*is said to fail (it chooses itself), and passes*"])


def test_an_embedded_backend_needs_a_name_and_properties_alone(suite, subject_with):
    subject_with()
    text = """
        from lance_ns_conformance import ConformanceSuite, Expectations

        class TestKv(ConformanceSuite):
            backend = "kv"
            properties = {"file": "{scratch}/store", "root": "{scratch}/data"}
            expectations = Expectations(tables_at_base=True)
        """
    suite(text=text).assert_outcomes(passed=3, skipped=1)
    suite("--conformance-mode=replay", text=text).assert_outcomes(passed=3, skipped=1)


@pytest.fixture
def command(remote):
    """Runs `certify remote` with options."""

    def run(*options: str):
        return CliRunner().invoke(certify, ["remote", "--cassettes", str(remote.cassettes), *options])

    return run


def live(remote):
    return [part for name, value in remote.live.items() for part in ("-p", f"{name}={value}")]


def test_the_command_records_and_replays_what_it_recorded_without_being_told(command, remote, service):
    stale = remote.cassettes / "store-1.0" / "tables.of_the_past.yaml"
    notes = remote.cassettes / "store-1.0" / "notes.txt"
    stale.parent.mkdir(parents=True)
    for path in (stale, notes):
        path.write_text("x")
    recorded = command("--mode", "record", *live(remote))
    assert recorded.exit_code == 0, recorded.output
    assert not stale.exists()
    assert notes.exists(), "only recordings are removed"
    assert len(list((remote.cassettes / "store-1.0").glob("*.yaml"))) == 3
    tokens = len(service.tokens)
    replayed = command()
    assert replayed.exit_code == 0, replayed.output
    assert "does not apply: declare_table.location is declared" in replayed.output
    assert len(service.tokens) == tokens


def test_the_command_runs_live_with_properties(command, remote, service):
    tokens = len(service.tokens)
    assert command(*live(remote)).exit_code == 0
    assert len(service.tokens) > tokens
    assert not remote.cassettes.exists()


def test_the_command_fails_where_a_recording_is_missing(command, remote):
    command("--mode", "record", *live(remote))
    (remote.cassettes / "store-1.0" / "tables.given_location.yaml").unlink()
    failed = command("--mode", "replay")
    assert failed.exit_code == 1
    assert "tables.given_location.yaml: a request was not recorded" in failed.output


def test_the_command_takes_one_of_the_servers(command, remote):
    recorded = command("--mode", "record", "--server", "store-0.9", *live(remote))
    assert recorded.exit_code == 0, recorded.output
    assert sorted(path.name for path in remote.cassettes.iterdir()) == ["store-0.9"]
    answer = command("--mode", "replay", "--server", "store-0.9", "--json")
    report = json.loads(answer.stdout)
    assert {each["id"] for each in report["scenarios"] if each["outcome"] == "passed"} == set(SOME[:3])
    assert report["server"]["name"] == "store-0.9"
