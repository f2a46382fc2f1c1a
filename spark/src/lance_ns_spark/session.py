"""Spark sessions with the settings that these jobs need."""

import os
import sys
from typing import TYPE_CHECKING

from lance_ns_spark import java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark asks whether a value is null before it gets it, and counts rows itself: Arrow need not check both once more.
_ARROW = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"

SETTINGS = {
    # A Python that has been started is used again: importing pylance takes longer than most tasks.
    "spark.python.worker.reuse": "true",
    # Rows cross between Java and Python in batches that are large, over sockets that are short.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.python.udf.buffer.size": "1048576",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.driver.defaultJavaOptions": _ARROW,
    "spark.executor.defaultJavaOptions": _ARROW,
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
"""What a session is given where nothing else is said."""


def session(name: str = "lance-ns", *, master: str | None = None, **settings: str) -> "SparkSession":
    """A Spark session, made if there is none, that knows the format `lance_ns`.

    Args:
        name: what Spark's pages call the application.
        master: where it runs; without one what `spark-submit` or the environment says, else `local[*]`.
        settings: Spark's settings, with `__` for each dot.

    Raises:
        InvalidInput: there is no Java that Spark runs on.
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
    made = builder.getOrCreate()
    from lance_ns_spark.source import register

    register(made)
    return made


def _submitted() -> bool:
    """Whether `spark-submit` started this process, and so has named the master."""
    return "PYSPARK_GATEWAY_PORT" in os.environ
