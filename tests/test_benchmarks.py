"""How the benchmarks count, and that what they publish is what was measured."""

import itertools
import json
from collections import Counter

import pytest

from benchmarks import page, results
from benchmarks.backends import ADAPTERS
from benchmarks.children import CLIENTS, Failed, Fresh, Worker, here
from benchmarks.measure import at_least, at_most, enough, figure, in_turns, not_measured


def test_a_ratio_compares_what_was_measured_in_the_same_round():
    slowness = itertools.chain.from_iterable((each, each) for each in (1.0, 50.0, 2.0))

    costs = in_turns({"base": lambda: next(slowness), "ours": lambda: 3 * next(slowness)}, rounds=3)

    assert costs.ratio("ours", "base") == (3.0, 0.0)
    assert costs.others("base", "ours", "base") == {"ours": 3.0, "base": 1.0}


def test_slow_candidates_take_fewer_turns_and_the_first_is_among_them():
    turns: list[str] = []
    candidates = {name: lambda name=name: turns.append(name) or 1.0 for name in ("base", "slow")}

    in_turns(candidates, rounds=9, seldom={"slow": 3})

    assert Counter(turns) == {"base": 9, "slow": 3}
    assert "slow" in turns[:2]


def test_after_its_time_no_more_than_the_least_rounds_are_made():
    turns: list[str] = []

    in_turns({"base": lambda: turns.append("base") or 1.0}, rounds=9, seconds=0, least=2)

    assert len(turns) == 2


def test_a_base_is_repeated_until_it_is_long_enough():
    assert enough(lambda times: times * 0.001, 0.25) * 0.001 >= 0.25
    assert enough(lambda _: 1.0, 0.25) == 1


@pytest.mark.parametrize(
    ("goal", "value", "met"), [(at_most(1.2), 1.2, True), (at_most(1.2), 1.21, False), (at_least(2), 1.9, False)]
)
def test_a_goal_is_met_on_its_own_side_only(goal, value, met):
    costs = in_turns({"base": lambda: 1.0, "ours": lambda: value}, rounds=2)

    assert figure("f", "b", costs.ratio("ours", "base"), goal, "base").met is met


def test_every_backend_has_a_raw_client_of_its_own():
    assert {path.stem for path in CLIENTS.glob("raw_*.py")} == {f"raw_{name}" for name in ADAPTERS}


def test_a_worker_tells_what_went_wrong():
    with Worker("python3", {"client": "nobody"}) as worker, pytest.raises(Failed, match="No module named 'nobody'"):
        worker.answer("describe")


def test_a_fresh_process_costs_what_it_does_and_its_failure_is_said():
    assert here("pass")() > 0
    with pytest.raises(Failed, match="ZeroDivisionError"):
        Fresh("python3", "1 / 0")()


# --- what is published ---------------------------------------------------------------------------------------------


@pytest.fixture
def entries(monkeypatch, tmp_path):
    """Results of two suites, the first of which was measured twice."""
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "LATEST", tmp_path / "latest.json")
    costs = in_turns({"base": lambda: 1.0, "lance-ns": lambda: 1.5, "the peer": lambda: 9.0}, rounds=2)
    others = costs.others("base", "lance-ns", "the peer")
    for value in (at_most(1), at_most(2)):
        results.add(
            "iceberg",
            [figure("list <all>", "iceberg", costs.ratio("lance-ns", "base"), value, "base", "n", others)],
            "1",
        )
    results.add("startup", [not_measured("core", "no clock")], "")
    return results.read()


def test_a_suite_that_is_measured_again_replaces_its_figures_alone(entries):
    assert [(each["suite"], each["goal"], each["met"]) for each in entries] == [
        ("startup", "–", None),
        ("iceberg", "≤ 2", True),
    ]
    assert {"figure", "backend", "value", "goal", "met", "against", "spread"} <= entries[0].keys()


def test_the_table_names_what_was_not_measured(entries):
    assert results.table(entries).splitlines()[2:] == [
        "| all figures | core | not measured | – | – | – | – |",
        "| list <all> | iceberg | 1.5 | ≤ 2 | yes | base | 0% |",
    ]


def test_the_page_shows_every_figure_and_loads_nothing(entries):
    shown = page.made(entries)

    assert "list &lt;all&gt;" in shown
    assert "<all>" not in shown
    assert "not measured: no clock" in shown
    assert "1 of 1 goals met" in shown
    assert not any(word in shown for word in ("http:", "https:", "<script", "<link", "url("))


def test_the_published_pages_are_those_of_the_results_that_there_are():
    entries = json.loads(results.LATEST.read_text(encoding="utf-8"))

    assert (results.RESULTS / "index.html").read_text(encoding="utf-8") == page.made(entries)
    assert results.table(entries) in results.MANUAL.read_text(encoding="utf-8")
