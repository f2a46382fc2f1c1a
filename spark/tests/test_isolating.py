"""Items that end the process of their task do not take the others along."""

import os
import signal

import pyarrow as pa

from lance_ns.errors import Internal
from lance_ns_spark.isolating import run_apart
from lance_ns_spark.jobs import inventory as module
from lance_ns_spark.jobs.inventory import inventory


def deadly(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * item


def test_an_item_that_kills_is_found_and_the_others_are_done(spark):
    seen = {}
    outcomes = run_apart(spark, "deadly", deadly, [1, 2, 3, 4], arrived=seen.__setitem__)
    assert [each.result for each in outcomes] == [2, 4, None, 8]
    assert isinstance(outcomes[2].error, Internal)
    assert seen == {0: 2, 1: 4, 3: 8}


def test_a_table_that_kills_is_broken_in_the_inventory_and_the_others_are_whole(spark, lake, monkeypatch):
    monkeypatch.setattr(module, "_TASKS_PER_CORE", 1)  # two tables for each task
    for name in ("a", "b", "c", "d"):
        lake.write(f"ml${name}", pa.table({"id": [1]}))
    real = module._look_at

    def look_at(tables):
        if any(table.id == ("ml", "b") for table in tables):
            os.kill(os.getpid(), signal.SIGKILL)
        return real(tables)

    monkeypatch.setattr(module, "_look_at", look_at)
    result = inventory(spark, {"lake": lake})
    assert result.summary["data"] == 3
    assert result.summary["broken"] == 1
