"""The report, in all its forms."""

import json
from xml.etree import ElementTree as ET

import attrs
import pytest

from lance_ns import hookimpl
from lance_ns_conformance import page, report
from lance_ns_conformance.run import applicable, run


@pytest.fixture
def failing(subject_with, kv):
    """The report of a backend that forgets the token of the next page."""

    class Forgetful(kv.KvNamespace):
        @hookimpl
        def list_tables(self, request):
            return attrs.evolve(super().list_tables(request), page_token=None)

    subject = subject_with(Forgetful)
    fitting, others = applicable(subject)
    chosen = [each for each in fitting if each.id in ("paging.table_pages", "tables.describe_missing")]
    return report.content(subject, list(run(subject, chosen)), others)


def test_a_failure_is_named_with_its_reason_and_denies_the_level(failing):
    assert failing["levels"]["basic"] == {"run": 2, "passed": 1, "certified": False}
    (failed,) = [each for each in failing["scenarios"] if not each["passed"]]
    assert failed["id"] == "paging.table_pages"
    assert "pages of 1" in failed["reason"]
    assert "Traceback" in failed["details"]
    assert "not certified" in report.summary(failing)
    json.dumps(failing)


def test_the_page_shows_failures_first_with_what_led_to_them(failing):
    shown = page.html(failing)
    assert shown.index("pages of tables of every size") < shown.index("describing a missing table")
    assert "what led to it" in shown
    assert "{{" not in shown
    assert "http" not in shown.replace("http://www.w3.org/2000/svg", ""), "the page must need nothing from elsewhere"


def test_hostile_text_in_a_report_stays_text(failing):
    failing["scenarios"][0]["reason"] = "<script>alert(1)</script>"
    failing["scenarios"][0]["passed"] = False
    assert "<script>alert" not in page.html(failing)


def test_junit_counts_failures_and_the_badge_says_so(failing):
    suite = ET.fromstring(page.junit(failing))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "not certified" in page.badge(failing)


def test_clauses_are_shown_with_their_proofs_and_counted():
    lines = report.clause_lines().splitlines()
    assert "clauses:" in lines[-1]
    assert any("namespaces.create_existing" in line for line in lines)
