"""Processes are killed in the middle of a job: right rows, one version, nothing doubled, nothing lost."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lance_ns_spark import arrow_files
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table

FILES = 4
ROWS = 600
PATIENCE = 240


@pytest.fixture
def place(tmp_path, lake) -> Path:
    """A directory with a catalog, and files of which each is the work of one task and comes in several batches."""
    (tmp_path / "marks").mkdir()
    (tmp_path / "raw").mkdir()
    for number in range(FILES):
        ids = pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64())
        pq.write_table(pa.table({"id": ids}), tmp_path / "raw" / f"{number}.parquet")
    return tmp_path


@pytest.fixture
def start(place) -> Iterator[Callable[..., subprocess.Popen]]:
    """Starts a driver, and ends whatever is left of it and its executors."""
    started = []

    def start(master: str, *points: str) -> subprocess.Popen:
        command = [sys.executable, Path(__file__).with_name("crashing_job.py"), master, place, *points]
        with (place / "log").open("w") as log:
            started.append(subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True))
        return started[-1]

    yield start
    (place / "marks" / "go").touch()
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def reached(place: Path, driver: subprocess.Popen, point: str) -> tuple[int, int]:
    """Wait for a mark: the process that left it, and the executor that it belongs to."""
    waited = time.monotonic()
    while not (place / "marks" / point).exists():
        if driver.poll() is not None or time.monotonic() - waited > PATIENCE:
            pytest.fail(f"the driver did not come to {point}:\n{(place / 'log').read_text()[-4000:]}")
        time.sleep(0.05)
    process, executor = (place / "marks" / point).read_text().split()
    return int(process), int(executor)


def table(lake) -> Table:
    return Table.within(lake, "ml$docs")


def assert_all_is_there_once(lake) -> None:
    dataset = lake.dataset("ml$docs")
    assert sorted(dataset.to_table()["id"].to_pylist()) == list(range(FILES * ROWS))
    assert [version["version"] for version in dataset.versions()] == [1]


def data_files(lake) -> set[str]:
    location = lake.describe_table("ml$docs").location
    return {file.name for file in (Path(location.removeprefix("file://")) / "data").iterdir()}


def test_a_python_worker_and_an_executor_are_killed_in_mid_write(place, lake, start):
    driver = start("local-cluster[2,1,1024]", "task-0", "task-1")
    worker, _ = reached(place, driver, "task-0")
    _, executor = reached(place, driver, "task-1")
    os.kill(worker, signal.SIGKILL)
    os.kill(executor, signal.SIGKILL)
    assert driver.wait(PATIENCE) == 0, (place / "log").read_text()[-4000:]
    result = json.loads((place / "result.json").read_text())
    assert (result["outputs"][0]["rows"], result["outputs"][0]["version"]) == (FILES * ROWS, 1)
    assert_all_is_there_once(lake)
    assert list((place / "state").iterdir()) == []


@pytest.mark.parametrize("point", ["before", "after"])
def test_a_driver_is_killed_and_its_job_run_again(place, lake, start, spark, point, monkeypatch):
    driver = start("local[1]", point)
    reached(place, driver, point)
    os.killpg(driver.pid, signal.SIGKILL)
    driver.wait()
    left = data_files(lake)
    assert (lake.dataset("ml$docs").version == 1) if point == "after" else not lake_has_rows(lake)
    (place / "marks" / "go").touch()

    monkeypatch.setattr(arrow_files, "SMALLEST_SPLIT", 1)
    monkeypatch.setattr(arrow_files, "LARGEST_SPLIT", 400)
    result = ingest(spark, Source.parquet(str(place / "raw")), table(lake), job="crashing", state=place / "state")
    assert_all_is_there_once(lake)
    assert result.outputs[0].again == (point == "after")
    assert data_files(lake) == left, "all was written, and nothing is written again"
    assert list((place / "state").iterdir()) == []


def lake_has_rows(lake) -> bool:
    return table(lake).existing() is not None
