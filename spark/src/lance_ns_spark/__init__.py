"""Data pipelines over Lance tables in every catalog, on Spark through PySpark."""

from lance_ns_spark.version import __version__

__all__ = ["__version__"]
