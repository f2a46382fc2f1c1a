"""What all Sparks of the benchmarks do alike: the rows, and Parquet."""

import shutil
from pathlib import Path
from typing import Any

SOURCES = {
    # A key, a number between 0 and 1, and a text of 20 characters that does not compress well.
    "narrow": (
        "id",
        "(xxhash64(id) & 4294967295) / 4294967296.0D AS x",
        "concat(lpad(hex(xxhash64(id)), 16, '0'), 'tail') AS s",
    ),
    # A key, and a vector of 128 numbers.
    "vectors": ("id", "transform(sequence(1, 128), i -> cast(hash(id, i) AS float)) AS v"),
}
FILTERS = {"scattered": "x < 0.01", "contiguous": "id < {hundredth}"}


class Engine:
    """One Spark, with rows in its memory: a write is measured without making them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.rows: dict[str, int] = settings["rows"]
        self.place = Path(settings["place"])
        self.place.mkdir(parents=True, exist_ok=True)
        self.spark = self.started(settings)
        self.spark.sparkContext.setLogLevel("OFF")
        self._held: dict[str, Any] = {}

    def started(self, settings: dict[str, Any]) -> Any:
        """The session."""
        raise NotImplementedError

    def held(self, kind: str) -> Any:
        """The rows of one kind, in memory."""
        if kind not in self._held:
            for other in self._held.values():
                other.unpersist(blocking=True)
            self._held.clear()
            made = self.spark.range(0, self.rows[kind], 1, 2).selectExpr(*SOURCES[kind]).persist()
            made.count()
            self._held[kind] = made
        return self._held[kind]

    def condition(self, which: str) -> str:
        """A filter that one row in a hundred passes."""
        return FILTERS[which].format(hundredth=self.rows["narrow"] // 100)

    def parquet(self, kind: str) -> str:
        """Where the Parquet files are."""
        return str(self.place / f"{kind}.parquet")

    def parquet_write(self, kind: str) -> None:
        """Write them."""
        self.held(kind).write.mode("overwrite").parquet(self.parquet(kind))

    def parquet_scan(self, kind: str) -> None:
        """Read all rows, and do nothing with them."""
        self.spark.read.parquet(self.parquet(kind)).write.format("noop").mode("overwrite").save()

    def parquet_count(self, kind: str) -> int:
        """How many rows there are."""
        return int(self.spark.read.parquet(self.parquet(kind)).count())

    def parquet_filter(self, which: str) -> int:
        """Read one row in a hundred."""
        found = self.spark.read.parquet(self.parquet("narrow")).where(self.condition(which))
        found.write.format("noop").mode("overwrite").save()
        return 0

    def parquet_sum(self) -> float:
        """Add up a column."""
        return float(self.spark.read.parquet(self.parquet("narrow")).selectExpr("sum(x)").first()[0])

    def parquet_copy(self, kind: str) -> None:
        """Parquet into Parquet, through Spark."""
        copied = str(self.place / f"{kind}-copy.parquet")
        self.spark.read.parquet(self.parquet(kind)).write.mode("overwrite").parquet(copied)

    def forget(self) -> None:
        """Let go of the rows in memory, and of the copies."""
        for each in self._held.values():
            each.unpersist(blocking=True)
        self._held.clear()
        for copy in self.place.glob("*-copy.parquet"):
            shutil.rmtree(copy)
