"""Spark sessions with the settings that these jobs need."""

import os
import sys
from typing import TYPE_CHECKING

from lance_ns_spark import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    # A Python that has been started is used again: importing pylance takes longer than most tasks.
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
"""What a session is given where nothing else is said."""


def session(name: str = "lance-ns", *, master: str | None = None, **settings: str) -> "SparkSession":
    """A Spark session, made if there is none.

    Args:
        name: what Spark's pages call the application.
        master: where it runs; without one what `spark-submit` or the environment says, else `local[*]`.
        settings: Spark's settings, with `__` for each dot.
    """
    java.ensure()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if master is not None:
        builder = builder.master(master)
    elif not os.environ.get("MASTER") and "PYSPARK_SUBMIT_ARGS" not in os.environ and not _submitted():
        builder = builder.master("local[*]")
    for key, value in {**SETTINGS, **{key.replace("__", "."): value for key, value in settings.items()}}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _submitted() -> bool:
    """Whether `spark-submit` started this process, and so has named the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
