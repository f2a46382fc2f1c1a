"""Data pipelines over Lance tables in every catalog, on Spark through PySpark.

    import lance_ns_spark as lns

    spark = lns.spark_session()
    docs = lns.Table.of("ml$docs", profile="prod")
    lns.read(spark, docs, columns=["id", "text"], filter="id < 100").show()
    lns.write(spark.range(10).withColumnRenamed("id", "n"), lns.Table.of("ml$numbers", profile="prod"))

Names are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lance_ns_spark.version import __version__

if TYPE_CHECKING:
    from lance_ns_spark.display import Display
    from lance_ns_spark.frames import write
    from lance_ns_spark.indexes import IndexSpec
    from lance_ns_spark.jobs.copy import copy
    from lance_ns_spark.jobs.ingest import ingest
    from lance_ns_spark.jobs.inventory import inventory
    from lance_ns_spark.jobs.maintain import Policy, maintain
    from lance_ns_spark.jobs.verify import verify
    from lance_ns_spark.reading import aggregate, count, read
    from lance_ns_spark.results import Input, Output, Result
    from lance_ns_spark.session import session as spark_session
    from lance_ns_spark.sources import Source
    from lance_ns_spark.tables import Table
    from lance_ns_spark.writing import FileOptions

_WHERE = {
    "Display": "display",
    "FileOptions": "writing",
    "IndexSpec": "indexes",
    "Input": "results",
    "Output": "results",
    "Policy": "jobs.maintain",
    "Result": "results",
    "Source": "sources",
    "Table": "tables",
    "aggregate": "reading",
    "copy": "jobs.copy",
    "count": "reading",
    "ingest": "jobs.ingest",
    "inventory": "jobs.inventory",
    "maintain": "jobs.maintain",
    "read": "reading",
    "spark_session": "session",
    "verify": "jobs.verify",
    "write": "frames",
}

__all__ = [
    "Display",
    "FileOptions",
    "IndexSpec",
    "Input",
    "Output",
    "Policy",
    "Result",
    "Source",
    "Table",
    "__version__",
    "aggregate",
    "copy",
    "count",
    "ingest",
    "inventory",
    "maintain",
    "read",
    "spark_session",
    "verify",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name.removeprefix("spark_"))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return __all__
