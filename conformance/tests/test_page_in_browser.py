"""The page's filter, driven by keys in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from headless import CHROMIUM, Browser, assert_that_it_fits_and_can_be_read

from lance_ns_conformance import page, report
from lance_ns_conformance.run import Result, applicable
from lance_ns_conformance.scenario import every_scenario
from lance_ns_conformance.subject import Server

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
SHOWN = """
(kind => [...document.querySelectorAll(`[id^="${kind}:"]`)]
    .filter(each => each.getClientRects().length).map(each => each.id.slice(kind.length + 1)))
"""


class OnPage(Browser):
    """A browser that knows the page's parts."""

    def shown(self, kind: str) -> set[str]:
        """The clauses, scenarios or failures that can be seen."""
        return set(self.value(f"{SHOWN}({kind!r})"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnPage]:
    opened = OnPage(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture
def address(subject_with, tmp_path: Path) -> str:
    """A page of two reports; the second has one failure and one deviation."""
    subject = subject_with()
    chosen = [each for each in every_scenario() if each.id.startswith(("paging.", "namespaces.drop"))]
    others = applicable(subject)[1]
    good = [Result(scenario=each, passed=True, seconds=0.1) for each in chosen]
    changed = {
        "paging.table_pages": {"passed": False, "reason": "one is missing", "exchange": ("GET /pages", "  200")},
        "namespaces.drop_missing": {"passed": False, "deviation": "it has its own mind"},
    }
    bad = [attrs.evolve(each, **changed.get(each.scenario.id, {})) for each in good]
    served = attrs.evolve(subject, server=Server(name="store-1.0"), mode="replay")
    path = tmp_path / "index.html"
    path.write_text(
        page.html(report.content(subject, good, others), report.content(served, bad, others)), encoding="utf-8"
    )
    return path.as_uri()


def test_typing_filters_everything_at_once_and_escape_shows_it_again(browser: OnPage, address: str):
    browser.open(address)
    everything, clauses = browser.shown("scenario"), browser.shown("clause")
    assert "namespaces.drop_missing" in everything
    assert browser.shown("failure") == {"kv@store-1.0:paging.table_pages"}
    browser.press("/", *"pages of tables")
    assert "paging.table_pages" in browser.shown("scenario") < everything
    assert "namespaces.drop_missing" not in browser.shown("scenario")
    assert "contract.paging.1" in browser.shown("clause") < clauses
    assert browser.value("document.activeElement.id") == "text"
    assert browser.value("location.hash") == "#text=pages+of+tables"
    assert browser.value("document.getElementById('shown').textContent").startswith(
        f"{len(browser.shown('clause'))} clauses, {len(browser.shown('scenario'))} scenarios"
    )
    browser.press("Escape")
    assert browser.shown("scenario") == everything
    assert browser.value("location.hash") == ""


def test_a_state_is_chosen_by_keys_together_with_a_backend(browser: OnPage, address: str):
    browser.open(address)
    browser.value("document.getElementById('state').focus()")
    browser.press(*"fail")
    assert browser.value("document.getElementById('state').value") == "failed"
    assert browser.shown("scenario") == {"paging.table_pages"}
    browser.value("document.getElementById('backend').focus()")
    browser.press(*"kv")
    assert browser.value("document.getElementById('backend').value") == "kv"
    assert browser.shown("scenario") == set(), "nothing failed there"
    assert browser.shown("failure") == set()


def test_an_address_brings_its_filter_along(browser: OnPage, address: str):
    browser.open(f"{address}#state=deviation&backend=kv%40store-1.0")
    assert browser.shown("scenario") == {"namespaces.drop_missing"}
    browser.open(f"{address}#operation=drop_namespace")
    dropping = browser.shown("scenario")
    assert "namespaces.drop_missing" in dropping
    assert "paging.table_pages" not in dropping
    browser.open(f"{address}#state=nonsense")
    assert "paging.table_pages" in browser.shown("scenario")


def test_a_square_of_the_matrix_leads_to_its_clause_also_past_a_filter(browser: OnPage, address: str):
    browser.open(f"{address}#text=nothing+is+called+so")
    assert browser.shown("clause") == set()
    target = browser.value("document.querySelector('a.mark.failed').hash")
    browser.value("document.querySelector('a.mark.failed').click()")
    browser.value("new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert browser.value("document.querySelector('tr:target').id") == target.removeprefix("#")
    assert target.removeprefix("#clause:") in browser.shown("clause")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_sticks_out_of_the_page_and_text_can_be_read(browser: OnPage, address: str, width: int, colours: str):
    assert_that_it_fits_and_can_be_read(browser, address, width, colours)
