"""The report, in all its forms."""

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import attrs
import jsonschema
import pytest
from click.testing import CliRunner

from lance_ns import hookimpl, registry
from lance_ns.errors import InvalidInput
from lance_ns_conformance import formats, page, report
from lance_ns_conformance.cli import certify
from lance_ns_conformance.matrix import conformance_matrix
from lance_ns_conformance.run import Result, applicable, run
from lance_ns_conformance.scenario import every_scenario
from lance_ns_conformance.subject import Server

CHECK = jsonschema.Draft202012Validator(report.schema())
SCENARIOS = {each.id: each for each in every_scenario()}
FAILING, PASSING, OTHER = "paging.table_pages", "tables.describe_missing", "namespaces.drop_missing"


@pytest.fixture
def failing(subject_with, kv):
    """The report of a backend that forgets the token of the next page."""

    class Forgetful(kv.KvNamespace):
        @hookimpl
        def list_tables(self, request):
            return attrs.evolve(super().list_tables(request), page_token=None)

    subject = subject_with(Forgetful)
    fitting, others = applicable(subject)
    chosen = [each for each in fitting if each.id in (FAILING, PASSING)]
    return report.content(subject, list(run(subject, chosen)), others)


def result(id, **said):
    return Result(scenario=SCENARIOS[id], passed=not said, seconds=0.25, **said)


@pytest.fixture
def eventful(subject_with):
    """The report of a server with everything that there can be."""
    subject = attrs.evolve(subject_with(), server=Server(name="store-1.0"), mode="replay")
    results = [
        result(FAILING, reason="wrong", details="Traceback \ud800", exchange=("GET /v1", "  500 <oops>")),
        result(PASSING),
        result(OTHER, deviation="the server has its own mind"),
        result("tables.not_the_childs", applicable=False, why="namespaces of this catalog do not nest"),
    ]
    return report.content(subject, results, applicable(subject)[1])


@pytest.fixture
def robust(subject_with):
    """The report of a run with faults."""
    faults = [each for each in SCENARIOS.values() if each.level == "robust"][:2]
    assert faults
    results = [result(PASSING), *(Result(scenario=each, passed=True, seconds=1.5) for each in faults)]
    return report.content(subject_with(), results, [])


@pytest.fixture
def empty(subject_with):
    return report.content(subject_with(), [], [], "basic")


@pytest.fixture(params=["failing", "eventful", "robust", "empty"])
def any_report(request):
    return request.getfixturevalue(request.param)


def outcomes(content):
    return {each["id"]: each["outcome"] for each in content["scenarios"]}


def test_every_report_is_valid_by_the_published_schema(any_report):
    CHECK.validate(json.loads(json.dumps(any_report)))


def test_the_schema_is_itself_valid_and_describes_every_field():
    jsonschema.Draft202012Validator.check_schema(report.schema())
    assert all("description" in about for about in report.schema()["properties"].values())


@pytest.mark.parametrize("field", report.schema()["required"])
def test_the_manual_describes_every_field_of_a_report(field):
    manual = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
    assert f"| `{field}` |" in manual.read_text(encoding="utf-8")


def test_a_failure_is_named_with_its_reason_and_denies_the_level(failing):
    assert failing["levels"]["basic"] == {"run": 2, "passed": 1, "failed": 1, "certified": False}
    (failed,) = [each for each in failing["scenarios"] if each["outcome"] == "failed"]
    assert failed["id"] == FAILING
    assert "pages of 1" in failed["reason"]
    assert "Traceback" in failed["details"]
    shown = formats.summary(failing)
    assert "not certified" in shown
    assert f"✗ {FAILING}" in shown


def test_the_report_names_versions_server_and_mode(failing, eventful):
    assert failing["server"] is None
    assert failing["mode"] == "live"
    assert eventful["server"] == {"name": "store-1.0", "version": ""}
    assert eventful["mode"] == "replay"
    assert failing["kit"]
    assert failing["core"]
    assert "kv ? · kit" in formats.summary(failing)
    assert "replay · store-1.0" in formats.summary(eventful)


def test_a_live_servers_own_version_is_named_and_one_that_cannot_be_asked_is_not(subject_with, monkeypatch):
    class Native:
        def version(self):
            return "Store 1.0.7"

        def close(self):
            pass

    def refuse(*_):
        raise OSError("nobody there")

    subject = attrs.evolve(subject_with(), server=Server(name="store-1.0"))
    monkeypatch.setattr(type(subject), "native", lambda *_: Native())
    assert report.content(subject, [], [])["server"]["version"] == "Store 1.0.7"
    assert "server Store 1.0.7" in formats.summary(report.content(subject, [], []))
    monkeypatch.setattr(type(subject), "native", refuse)
    assert report.content(subject, [], [])["server"]["version"] == ""


def test_a_deviation_is_shown_by_name_and_reason_and_does_not_deny_the_level(subject_with):
    results = [result(PASSING), result(OTHER, deviation="the server has its own mind")]
    content = report.content(subject_with(), results, [])
    assert content["deviations"] == {OTHER: "the server has its own mind"}
    assert content["levels"]["full"] == {"run": 2, "passed": 1, "failed": 0, "certified": True}
    assert f"deviates: {OTHER}: the server has its own mind" in formats.summary(content)
    assert "the server has its own mind" in page.html(content)


def test_what_does_not_apply_is_listed_with_the_reason_and_not_counted(eventful):
    reasons = {each["reason"] for each in eventful["scenarios"] if each["outcome"] == "not-applicable"}
    assert "namespaces of this catalog do not nest" in reasons
    assert "needs rename_table" in reasons
    assert eventful["levels"]["full"]["run"] == 3
    assert "× needs rename_table" in formats.summary(eventful)


def test_only_levels_that_were_asked_for_or_tried_are_shown(failing, robust, empty):
    assert list(failing["levels"]) == ["basic", "full"]
    assert list(robust["levels"]) == ["basic", "full", "robust"]
    assert robust["levels"]["robust"]["run"] == 3
    assert robust["levels"]["full"]["run"] == 1
    assert list(empty["levels"]) == ["basic"]
    assert not empty["levels"]["basic"]["certified"], "nothing ran"


def test_a_clause_is_what_its_scenarios_showed(eventful):
    states = {each["id"]: each["state"] for each in eventful["clauses"]}
    assert states["contract.paging.1"] == "failed"
    assert states["contract.drop-modes.2"] == "deviation"
    assert states["contract.create-modes.1"] == "not-run"
    assert states["contract.rename.1"] == "not-applicable"
    assert "iceberg.namespace.1" not in states, "that is a clause of another backend"
    assert "clauses:" in formats.summary(eventful)


def test_the_slowest_ten_are_named_the_slowest_first(subject_with):
    chosen = list(SCENARIOS.values())[:12]
    results = [Result(scenario=each, passed=True, seconds=float(at)) for at, each in enumerate(chosen)]
    content = report.content(subject_with(), results, [])
    assert [each["seconds"] for each in content["slowest"]] == [float(at) for at in range(11, 1, -1)]
    assert content["seconds"] == 66.0
    assert chosen[-1].id in formats.summary(content)


class Outline(HTMLParser):
    """The elements of a page, and whether each was closed."""

    VOID = frozenset({"meta", "input", "br", "wbr"})

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.addresses, self.outside = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.ids.append(found["id"])
        self.addresses += [found["href"]] if "href" in found else []
        self.outside += [found[name] for name in ("src", "action") if name in found] + [tag] * (tag == "link")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_from_elsewhere(any_report, failing):
    for shown in (page.html(any_report), page.html(any_report, failing)):
        outline = Outline(shown)
        assert outline.open == []
        assert outline.outside == []
        assert len(outline.ids) == len(set(outline.ids))
        assert {each.removeprefix("#") for each in outline.addresses} <= set(outline.ids), "a link leads nowhere"
        assert "{{" not in shown
        assert "url(" not in shown
        assert "@import" not in shown


def test_the_page_shows_a_failure_with_what_was_sent_and_answered(eventful):
    shown = page.html(eventful)
    assert "GET /v1\n  500 &lt;oops&gt;" in shown
    assert "Traceback" in shown


def test_several_backends_stand_side_by_side_also_two_servers_of_one(failing, eventful):
    shown = page.html(failing, eventful, eventful)
    for key in ("kv", "kv@store-1.0", "kv@store-1.0~2"):
        assert f'<option value="{key}">' in shown
        assert f'id="report:{key}"' in shown
    assert 'data-states="kv=passed kv@store-1.0=passed kv@store-1.0~2=passed" ' in shown


def test_hostile_text_in_a_report_stays_text(failing):
    evil = "<script>alert(1)</script>\" onload='x' {{rows}} {{title}} \x00\x1b[31m"
    for each in failing["scenarios"]:
        each.update(outcome="failed", reason=evil, details=evil, exchange=[evil], title=evil)
    for each in failing["clauses"]:
        each.update(text=evil, reference=evil)
    failing.update(backend=evil, server={"name": evil, "version": evil}, deviations={evil: evil})
    shown = page.html(failing)
    assert "<script>alert" not in shown
    assert shown.count("<script>") == 1
    assert Outline(shown).open == []
    ET.fromstring(formats.junit(failing))


def test_junit_counts_failures_and_what_was_left_out(eventful):
    suite = ET.fromstring(formats.junit(eventful))
    total, left_out = len(eventful["scenarios"]), list(outcomes(eventful).values()).count("not-applicable")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (str(total), "1", str(left_out + 1))
    assert len(suite.findall("testcase/skipped")) == left_out + 1
    (failure,) = suite.findall("testcase/failure")
    assert failure.get("message") == "wrong"
    assert "500 <oops>" in failure.text


def test_every_form_can_be_written_whatever_an_error_quotes(eventful):
    assert "Traceback \\ud800" in page.html(eventful)
    for text in (page.html(eventful), formats.junit(eventful), json.dumps(eventful, ensure_ascii=False)):
        text.encode()


def test_the_badge_says_the_highest_level_that_was_reached(failing, robust):
    assert "not certified" in formats.badge(failing)
    assert ">robust<" in formats.badge(robust)
    robust["levels"]["robust"]["certified"] = False
    assert ">full<" in formats.badge(robust)
    ET.fromstring(formats.badge(failing))


@pytest.fixture
def certified(subject_with, tmp_path):
    """Runs `lance-ns certify` on the key-value store, and gives what it printed."""
    subject_with()

    def call(*arguments):
        properties = ["-p", "file={scratch}/store", "-p", "root={scratch}/data"]
        return CliRunner().invoke(certify, ["kv", *properties, *arguments], catch_exceptions=False)

    return call


def test_certify_writes_every_form_and_they_are_combined_again(certified, monkeypatch, tmp_path):
    monkeypatch.setattr("lance_ns_conformance.cli.applicable", lambda subject: ([SCENARIOS[PASSING]], []))
    target = tmp_path / "report"
    assert certified("--report", str(target)).exit_code == 0
    assert {path.name for path in target.iterdir()} == {"report.json", "index.html", "junit.xml", "badge.svg"}
    CHECK.validate(json.loads((target / "report.json").read_text()))
    again = CliRunner().invoke(
        conformance_matrix, [*[str(target / "report.json")] * 2, "--report", str(tmp_path / "both")]
    )
    assert again.exit_code == 0, again.output
    assert 'id="report:kv~2"' in (tmp_path / "both" / "index.html").read_text()
    assert "1/1 certified" in again.stdout
    shown = CliRunner().invoke(conformance_matrix, [str(target / "report.json"), "--json"])
    assert json.loads(shown.stdout)[0]["levels"]["basic"]["certified"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be read as a report"),
        ("{", "cannot be read as a report"),
        ("[]", "no report of format 1"),
        ('{"format": 2}', "no report of format 1"),
        ('{"format": 1}', "backend is missing"),
    ],
)
def test_what_is_no_report_is_refused_by_its_name(tmp_path, text, complaint):
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidInput, match=complaint) as caught:
        report.read(path)
    assert str(path) in str(caught.value)


def test_a_report_that_lacks_something_inside_is_refused(failing, tmp_path):
    del failing["scenarios"][0]["outcome"]
    path = tmp_path / "report.json"
    path.write_text(json.dumps(failing))
    with pytest.raises(InvalidInput, match=r"scenarios\.outcome is missing"):
        report.read(path)


def test_a_report_names_the_operations_that_are_not_declared(failing):
    assert "rename_table" in failing["undeclared"]
    assert not set(failing["undeclared"]) & registry.find("kv").capabilities
