"""lance-ns-spark as a user has it, beside Parquet on the same Spark."""

from pathlib import Path
from typing import Any

from spark_engine import SOURCES, Engine

import lance_ns
import lance_ns_spark
from lance_ns_spark import aggregates, job_ids, scans, tasks
from lance_ns_spark.indexes import IndexSpec, build
from lance_ns_spark.jobs.ingest import ingest
from lance_ns_spark.jobs.maintain import Policy, maintain
from lance_ns_spark.sources import Source
from lance_ns_spark.tables import Table
from lance_ns_spark.writing import FileOptions

SUMS = {"sum": "sum(x)"}


class Client(Engine):
    """Tables in the embedded catalog."""

    def started(self, settings: dict[str, Any]) -> Any:
        """A session with the product's own settings."""
        self._ns = lance_ns.connect("dir", root=str(self.place / "lake"))
        return lance_ns_spark.spark_session(
            "benchmarks",
            master=settings["master"],
            spark__driver__memory="4g",
            spark__ui__enabled="false",
        )

    def _table(self, name: str) -> Table:
        return Table.within(self._ns, name)

    def lance_write(self, kind: str) -> None:
        """Write them."""
        vectors = {"v": 128} if kind == "vectors" else None
        lance_ns_spark.write(self.held(kind), self._table(kind), mode="overwrite", vectors=vectors)

    def lance_scan(self, kind: str) -> None:
        """Read all rows, and do nothing with them."""
        lance_ns_spark.read(self.spark, self._table(kind)).write.format("noop").mode("overwrite").save()

    def source_scan(self, kind: str) -> None:
        """The same through the data source."""
        options = {"backend": "dir", "root": str(self.place / "lake"), "table": kind}
        self.spark.read.format("lance_ns").options(**options).load().write.format("noop").mode("overwrite").save()

    def lance_count(self, kind: str) -> int:
        """How many rows there are."""
        return lance_ns_spark.count(self._table(kind))

    def lance_filter(self, which: str) -> int:
        """Read one row in a hundred."""
        found = lance_ns_spark.read(self.spark, self._table("narrow"), filter=self.condition(which))
        found.write.format("noop").mode("overwrite").save()
        return 0

    def lance_sum(self) -> float:
        """Add up a column."""
        found = lance_ns_spark.aggregate(self.spark, self._table("narrow"), SUMS)
        return float(found["sum"][0].as_py())

    def arrow_ingest(self, kind: str) -> int:
        """Parquet into Lance, without Java."""
        vectors = {"v": 128} if kind == "vectors" else None
        source = Source(path=self.parquet(kind))
        done = ingest(self.spark, source, self._table(f"{kind}_ingested"), mode="overwrite", vectors=vectors)
        return sum(output.rows for output in done.outputs)

    def parquet_rows(self, times: int) -> int:
        """Parquet files of so many sixteenths of the rows, for how time grows."""
        rows = self.rows["narrow"] // 16 * times
        made = self.spark.range(0, rows, 1, 2 * times).selectExpr(*SOURCES["narrow"])
        made.write.mode("overwrite").parquet(self.parquet(f"times{times}"))
        return rows

    def ingest_rows(self, times: int) -> int:
        """Ingest them."""
        return self.arrow_ingest(f"times{times}")

    def scan_rows(self, times: int) -> None:
        """Read what was ingested of them."""
        self.lance_scan(f"times{times}_ingested")

    def fragmented(self, fragments: int) -> int:
        """A table of many small fragments, as often as it is asked for."""
        table = self._table("fragmented")
        if not self._ns.table_exists("fragmented"):
            rows = self.rows["narrow"] // 4
            files = FileOptions(rows_per_file=-(-rows // fragments))
            lance_ns_spark.write(self.held("narrow").limit(rows), table, mode="overwrite", files=files)
        else:
            self._ns.dataset("fragmented", version=1).restore()
        return len(table.dataset().get_fragments())

    def sum_in_tasks(self, many: int) -> float:
        """Add up a column of many fragments, shared out among so many tasks."""
        wanted = aggregates.parsed(SUMS, ())
        scan = scans.of(self._table("fragmented"), columns=wanted.columns, version=1)
        parts = scan.parts(many)
        assert len(parts) == many, f"{len(parts)} parts, not {many}"
        partial = aggregates.Partial(scan, wanted)
        found = tasks.run(self.spark, "sum", partial, parts)
        return float(aggregates.finished([partial(None), *found], wanted, scan.schema)["sum"][0].as_py())

    def compact(self, fragments: int) -> int:
        """Compaction in tasks."""
        self.fragmented(fragments)
        done = maintain(self.spark, [self._table("fragmented")], Policy(optimize_indexes=False))
        return int(done.outputs[0].fragments or 0)

    def pylance_compact(self, fragments: int) -> int:
        """The same by pylance alone."""
        self.fragmented(fragments)
        dataset = self._ns.dataset("fragmented")
        dataset.optimize.compact_files()
        return 0

    def index(self, type: str) -> None:
        """An index on the keys, built in tasks."""
        self._drop_indexes()
        build(self.spark, self._table("narrow"), IndexSpec(column="id", type=type), job=job_ids.fresh())

    def pylance_index(self, type: str) -> None:
        """The same by pylance alone."""
        self._drop_indexes()
        self._ns.dataset("narrow").create_scalar_index("id", type)

    def _drop_indexes(self) -> None:
        dataset = self._ns.dataset("narrow")
        for index in dataset.describe_indices():
            dataset.drop_index(index.name)

    def jobs(self) -> int:
        """How many jobs Spark has run."""
        return len(self.spark.sparkContext.statusTracker().getJobIdsForGroup(None))

    def size(self, kind: str) -> int:
        """The bytes of a table's files."""
        place = Path(self._table(kind).place().location.removeprefix("file://"))
        return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
