"""The page of an inventory as people use it: in a real browser, with a thousand tables."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from headless import CHROMIUM, Browser, assert_that_it_fits_and_can_be_read

from lance_ns_spark.facts import Column, Facts, Index
from lance_ns_spark.jobs.inventory import Entry, as_arrow
from lance_ns_spark.report import html

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine"),
]
NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
HOSTILE = "<img src=x onerror=\"document.title='owned'\">' \" & </td>"
SHOWN = "[...document.querySelectorAll('#all tbody tr')].filter(each => each.getClientRects().length)"


def entry(number: int) -> Entry:
    catalog = ("prod", "lab", HOSTILE)[number % 3]
    name = HOSTILE if number == 5 else f"team{number % 17}.events_{number:04}"
    fragments = 1 + number * 7 % 90
    rows = (number * 7919 % 1000) ** 3
    facts = Facts(
        state="data",
        location=f"s3://lake/{number}",
        version=1 + number % 40,
        versions=1 + number % 40,
        created=NOW - timedelta(days=800),
        changed=NOW - timedelta(hours=(number * 37) % 9000),
        rows=rows,
        deleted_rows=rows // 50,
        fragments=fragments,
        small_fragments=fragments // 2,
        bytes=rows * 96,
        bytes_stored=rows * 130,
        storage_version="2.2",
        columns=(Column(name="id", type="int64"), Column(name="v", type="vector", dimension=768)),
        indexes=(
            Index(
                name="id_idx",
                type="BTREE",
                columns=("id",),
                rows=rows // 2,
                coverage=(number % 101) / 100,
                segments=1,
                bytes=1,
            ),
        )
        if number % 2
        else (),
    )
    if number % 97 == 3:
        facts = Facts(state="broken", location="s3://lake/broken", error=f"cannot be read: {HOSTILE}")
    if number % 50 == 7:
        facts = Facts(state="declared", location="s3://lake/declared")
    return Entry(catalog=catalog, backend="dir", identifier=name, levels=("team", name), facts=facts)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    unreachable = Facts(state="unreachable", error="the catalog does not answer")
    entries = [
        *(entry(number) for number in range(1000)),
        Entry(catalog="gone", backend="glue", identifier=None, facts=unreachable),
    ]
    path: Path = tmp_path_factory.mktemp("page") / "inventory.html"
    path.write_text(html(as_arrow(entries, job="nightly", taken=NOW).to_pylist()), encoding="utf-8")
    return path.as_uri()


def names(browser: Browser, count: int = 5) -> list[str]:
    return browser.value(f"{SHOWN}.slice(0, {count}).map(each => each.cells[1].dataset.key)")


def column(browser: Browser, number: int, count: int = 1000) -> list[str]:
    return browser.value(f"{SHOWN}.slice(0, {count}).map(each => each.cells[{number}].dataset.key)")


def test_typing_filters_the_tables_and_escape_shows_all_again(browser: Browser, address: str):
    browser.open(address)
    assert browser.value("document.getElementById('shown').textContent") == "1001 of 1001"
    browser.press("/", *"team3. events_05")
    assert browser.value("document.activeElement.id") == "text"
    assert names(browser, 3) == ["team3.events_0513", "team3.events_0530", "team3.events_0547"]
    assert browser.value("location.hash") == "#text=team3.+events_05"
    browser.press("Escape")
    assert browser.value("document.getElementById('shown').textContent") == "1001 of 1001"
    assert browser.value("location.hash") == ""


def test_a_click_on_a_head_sorts_by_value_and_what_is_unknown_stays_last(browser: Browser, address: str):
    browser.open(address)
    browser.value("document.querySelectorAll('#all th button')[3].click()")
    keys = column(browser, 3)
    known = [int(each) for each in keys if each]
    assert known == sorted(known, reverse=True)
    assert keys[-1] == ""
    assert browser.value("document.querySelectorAll('#all th')[3].ariaSort") == "descending"
    browser.value("document.querySelectorAll('#all th button')[3].click()")
    assert [int(each) for each in column(browser, 3) if each] == sorted(known)
    assert column(browser, 3)[-1] == ""
    assert browser.value("location.hash") == "#sort=rows"
    browser.value("document.querySelectorAll('#all th button')[1].click()")
    assert names(browser, 3)[1] == "team0.events_0000"


def test_an_address_brings_filter_and_order_along(browser: Browser, address: str):
    browser.open(f"{address}#state=broken&catalog=prod&sort=-age")
    assert set(column(browser, 2)) == {"broken"}
    assert set(column(browser, 0)) == {"prod"}
    browser.open(f"{address}#state=nonsense&sort=-age")
    ages = [float(each) for each in column(browser, 11) if each]
    assert ages == sorted(ages, reverse=True)
    assert len(column(browser, 11, 2000)) == 1001


def test_a_bar_leads_to_its_table(browser: Browser, address: str):
    browser.open(address)
    wanted = browser.value("document.querySelector('g[data-find]').dataset.find")
    browser.value("document.querySelector('g[data-find]').focus()")
    browser.press("Enter")
    assert names(browser) == [wanted]


def test_names_and_errors_are_text_wherever_they_stand(browser: Browser, address: str):
    browser.open(address)
    assert browser.value("document.title") == "Inventory"
    assert browser.value("document.querySelectorAll('img').length") == 0
    browser.value("document.getElementById('catalog').selectedIndex = 3")
    browser.value("document.querySelector('form').dispatchEvent(new Event('input'))")
    assert set(column(browser, 0)) == {HOSTILE}


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_sticks_out_of_the_page_and_text_can_be_read(browser: Browser, address: str, width: int, colours: str):
    assert_that_it_fits_and_can_be_read(browser, address, width, colours)
