"""A driver that is killed, or whose tasks are, for the tests of crashes: an ingest that stands still at marked points.

Arguments: the master, the directory of the test, and the points. At a point a mark with the ids of the processes is
left in `marks/`, and the process waits until there is `marks/go`. A point is passed by later without a stop.
"""

import os
import sys
import time
from pathlib import Path

from lance_ns_spark import arrow_files, commits, session
from lance_ns_spark.arrow_files import ParquetFiles
from lance_ns_spark.jobs import ingest
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table


def stand_still(marks: Path, point: str) -> None:
    """Leave a mark and wait, unless somebody has been here before."""
    unfinished = marks / f".{point}.{os.getpid()}"
    daemon = os.getppid()
    executor = Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1]
    unfinished.write_text(f"{os.getpid()} {executor}")
    try:
        os.link(unfinished, marks / point)
    except FileExistsError:
        return
    while not (marks / "go").exists():
        time.sleep(0.02)


class Slow(ParquetFiles):
    """Files of which some stand still in the middle of being read."""

    def read(self, split):
        batches = super().read(split)
        yield next(batches)
        name = Path(str(split.parts[0][0])).stem
        if f"task-{name}" in POINTS:
            stand_still(MARKS, f"task-{name}")
        yield from batches


def committing(*arguments, **options):
    if "before" in POINTS:
        stand_still(MARKS, "before")
    committed = COMMIT(*arguments, **options)
    if "after" in POINTS:
        stand_still(MARKS, "after")
    return committed


if __name__ == "__main__":
    master, directory, *POINTS = sys.argv[1:]
    here = Path(directory)
    MARKS = here / "marks"
    COMMIT, commits.commit = commits.commit, committing
    arrow_files.SMALLEST_SPLIT, arrow_files.LARGEST_SPLIT, arrow_files._BATCH_BYTES = 1, 400, 1
    found = ParquetFiles.found

    def slow(source):
        files = found(source.path)
        return Slow(files.files, files.schema, files.columns, files.filesystem, files.is_partitioned)

    ingest.looked_at = slow
    spark = session.session("crashing", master=master, spark__ui__enabled="false", spark__executor__memory="512m")
    result = ingest.ingest(
        spark,
        Source.parquet(str(here / "raw")),
        Table.of("ml$docs", backend="dir", properties={"root": str(here / "lake")}),
        job="crashing",
        state=here / "state",
    )
    (here / "result.json").write_text(result.as_json())
