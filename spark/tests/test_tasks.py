"""Work spread over Spark's tasks."""

import os
from typing import Any

import pytest

import lance_ns
from lance_ns_spark import tasks


def test_results_come_in_the_order_of_the_items(spark: Any):
    assert tasks.run(spark, "squares", lambda number: number * number, [3, 1, 2]) == [9, 1, 4]


def test_there_is_nothing_to_do_without_items(spark: Any):
    assert tasks.run(spark, "nothing", lambda item: item, []) == []


def test_work_is_done_in_other_processes(spark: Any):
    assert os.getpid() not in tasks.run(spark, "where", lambda _: os.getpid(), [1, 2])


def test_results_arrive_while_others_are_still_worked_on(spark: Any, tmp_path):
    """The second item ends only when the driver has heard of the first."""
    heard = tmp_path / "heard"

    def work(number: int) -> int:
        import time

        deadline = time.monotonic() + 60
        while number == 1 and not heard.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        return heard.exists() if number == 1 else number

    assert tasks.run(spark, "news", work, [0, 1], arrived=lambda *_: heard.touch()) == [0, True]


def test_an_error_of_the_taxonomy_is_raised_as_it_is(spark: Any):
    def work(number: int) -> int:
        if number == 2:
            raise lance_ns.TableNotFound("there is no such table", hint="look again", identifier=("ml", "t"))
        return number

    with pytest.raises(lance_ns.TableNotFound, match=r"no such table.*look again"):
        tasks.run(spark, "looking", work, [1, 2])


def test_with_run_all_an_item_that_fails_leaves_the_others_their_results(spark: Any):
    def work(number: int) -> int:
        if number == 2:
            raise lance_ns.InvalidInput("not this one")
        return number

    outcomes = tasks.run_all(spark, "some", work, [1, 2, 3])

    assert [outcome.result for outcome in outcomes] == [1, None, 3]
    assert isinstance(outcomes[1].error, lance_ns.InvalidInput)


def test_what_no_one_foresaw_is_an_internal_error_with_its_own_words(spark: Any):
    def work(_: int) -> int:
        raise ZeroDivisionError("by nothing")

    with pytest.raises(lance_ns.Internal, match="dividing: a task failed: ZeroDivisionError: by nothing"):
        tasks.run(spark, "dividing", work, [1])


def test_items_do_not_appear_in_what_spark_shows(spark: Any):
    """Items hold connections: they must not become part of a plan."""
    hush = "a-secret-in-an-item"
    tasks.run(spark, "quietly", len, [hush])
    store = spark._jsparkSession.sharedState().statusStore()
    plans = store.executionsList()
    shown = " ".join(plans.apply(index).physicalPlanDescription() for index in range(plans.size()))

    assert plans.size() > 0
    assert hush not in shown
