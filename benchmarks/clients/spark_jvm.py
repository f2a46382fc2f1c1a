"""The JVM connector on its own Spark, beside Parquet on that Spark."""

import os
import sys
from typing import Any

from spark_engine import Engine


class Client(Engine):
    """Lance tables through the connector's catalog."""

    def started(self, settings: dict[str, Any]) -> Any:
        """A session with the connector's jars."""
        os.environ["PYSPARK_PYTHON"] = sys.executable
        from pyspark.sql import SparkSession

        jars = ":".join(settings["jars"])
        return (
            SparkSession.builder.master(settings["master"])
            .config("spark.driver.memory", "4g")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.extraClassPath", jars)
            .config("spark.sql.extensions", "org.lance.spark.extensions.LanceSparkSessionExtensions")
            .config("spark.sql.catalog.lance", "org.lance.spark.LanceNamespaceSparkCatalog")
            .config("spark.sql.catalog.lance.impl", "dir")
            .config("spark.sql.catalog.lance.root", str(self.place / "lake"))
            .getOrCreate()
        )

    def _table(self, kind: str) -> str:
        return f"lance.default.{kind}"

    def lance_write(self, kind: str) -> None:
        """Write them."""
        if kind == "vectors":
            self.held(kind).writeTo(self._table(kind)).tableProperty(
                "v.arrow.fixed-size-list.size", "128"
            ).createOrReplace()
        else:
            self.held(kind).writeTo(self._table(kind)).createOrReplace()

    def lance_scan(self, kind: str) -> None:
        """Read all rows, and do nothing with them."""
        self.spark.table(self._table(kind)).write.format("noop").mode("overwrite").save()

    def lance_count(self, kind: str) -> int:
        """How many rows there are."""
        return int(self.spark.table(self._table(kind)).count())

    def lance_filter(self, which: str) -> int:
        """Read one row in a hundred."""
        self.spark.table(self._table("narrow")).where(self.condition(which)).write.format("noop").mode(
            "overwrite"
        ).save()
        return 0

    def lance_sum(self) -> float:
        """Add up a column."""
        return float(self.spark.table(self._table("narrow")).selectExpr("sum(x)").first()[0])
