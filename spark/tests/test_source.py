"""The data source `lance_ns`: reading and writing by options, and secrets that stay out of sight."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_ns
from lance_ns.errors import InvalidInput
from lance_ns_spark import options, source
from lance_ns_spark.commits import find
from lance_ns_spark.tables import Table

SECRET = "s3cr3t-v4lu3"


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(tmp_path / "lake")


@pytest.fixture
def docs(lake: lance_ns.Namespace) -> lance_ns.Namespace:
    data = pa.table(
        {
            "id": range(100),
            "x": [float(each) for each in range(100)],
            "s": [f"word{each % 10} text" for each in range(100)],
            "v": pa.array([[float(each), 0.0] for each in range(100)], pa.list_(pa.float32(), 2)),
        }
    )
    lake.write("ml$docs", data, mode="create", max_rows_per_file=30)
    return lake


def test_a_table_is_read_by_name(spark: Any, docs: Any, root: str):
    df = spark.read.format("lance_ns").options(backend="dir", root=root, tasks="3").load("ml$docs")
    assert df.dtypes == [("id", "bigint"), ("x", "double"), ("s", "string"), ("v", "array<float>")]
    assert sorted(row.id for row in df.collect()) == list(range(100))
    assert df.rdd.getNumPartitions() == 3


def test_options_choose_columns_rows_and_version(spark: Any, docs: Any, root: str):
    docs.write("ml$docs", docs.dataset("ml$docs").to_table().slice(0, 5), mode="append")
    docs.dataset("ml$docs").tags.create("first", 1)

    def ids(**chosen: str) -> list[Any]:
        found = spark.read.format("lance_ns").options(backend="dir", root=root, table="ml$docs", **chosen).load()
        return sorted(tuple(row) for row in found.collect())

    assert ids(columns="id", filter="id < 3", version="1") == [(0,), (1,), (2,)]
    assert ids(columns='["x", "id"]', filter="id = 7") == [(7.0, 7)]
    assert ids(columns='{"Twice": "id * 2"}', filter="id = 7") == [(14,)]
    assert len(ids(columns="id")) == 105
    assert len(ids(columns="id", tag="first")) == 100
    assert len(ids(columns="id", limit="40")) == 40
    assert len(ids(columns="id", filter="id >= 50", limit="7")) == 7
    assert ids(columns="id", nearest='{"column": "v", "q": [41.2, 0], "k": 2}', version="1") == [
        (41, pytest.approx(0.04, abs=1e-4)),
        (42, pytest.approx(0.64, abs=1e-4)),
    ]


def test_sql_reads_and_inserts_through_a_view(spark: Any, docs: Any, root: str):
    using = f"USING lance_ns OPTIONS (backend 'dir', root '{root}', table 'ml$docs')"
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW docs {using}")
    assert spark.sql("SELECT count(*), sum(x) FROM docs WHERE id < 10").first()[:] == (10, 45.0)
    spark.sql("INSERT INTO docs SELECT 200L, 1.5D, 'new', array(1f, 2f)")
    assert docs.dataset("ml$docs").count_rows("id = 200") == 1
    spark.sql("DROP VIEW docs")


def test_two_filters_on_one_dataframe_do_not_mix(spark: Any, docs: Any, root: str):
    df = spark.read.format("lance_ns").options(backend="dir", root=root, columns="id").load("ml$docs")
    assert df.where("id >= 90").union(df.where("id < 5")).count() == 15
    assert df.where("id >= 90").count() == 10
    assert df.count() == 100


def test_rows_are_written_and_vectors_made(spark: Any, lake: Any, root: str):
    df = spark.sql("select id, array(float(id), 0.5f) v from range(0, 20, 1, 2)")
    writer = df.write.format("lance_ns").options(backend="dir", root=root, table="ml$new", vectors='{"v": 2}')
    writer.mode("append").save()
    made = lake.dataset("ml$new")
    assert made.schema.field("v").type == pa.list_(pa.float32(), 2)
    assert (made.version, made.count_rows()) == (1, 20)
    writer.mode("append").save()
    assert (lake.dataset("ml$new").version, lake.dataset("ml$new").count_rows()) == (2, 40)
    writer.mode("overwrite").save()
    assert (lake.dataset("ml$new").version, lake.dataset("ml$new").count_rows()) == (3, 20)


def test_a_job_that_has_written_writes_nothing_again(spark: Any, lake: Any, root: str):
    writer = spark.range(5).write.format("lance_ns").options(backend="dir", root=root, job="nightly/1")
    for _ in range(2):
        writer.mode("append").save("ml$once")
    assert (lake.dataset("ml$once").version, lake.dataset("ml$once").count_rows()) == (1, 5)
    assert find(Table.within(lake, "ml$once"), "nightly/1") == 1


@contextmanager
def first_task_known_by(spark: Any, signal: Path) -> Iterator[None]:
    """Make a file as soon as the driver knows that a task of a job has ended."""
    tracker, over = spark.sparkContext.statusTracker(), threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
            if any(each and each.numCompletedTasks for each in stages):
                signal.touch()

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def test_a_write_that_fails_leaves_the_table_and_no_files(spark: Any, docs: Any, root: str, tmp_path: Path):
    before = sorted(tmp_path.rglob("*.lance"))
    signal = tmp_path / "first-task-has-written"

    def second_waits_for_first(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            while batch["id"][0].as_py() == 3 and not signal.exists():
                time.sleep(0.05)
            yield batch

    df = spark.sql("select id, double(id) x, 'a' s, array_repeat(1f, int(id)) v from range(2, 4, 1, 2)")
    df = df.mapInArrow(second_waits_for_first, df.schema)
    with (
        first_task_known_by(spark, signal),
        pytest.raises(Exception, match="column v has a vector of length 3, and the table's have 2"),
    ):
        df.write.format("lance_ns").options(backend="dir", root=root).mode("append").save("ml$docs")
    assert signal.exists()
    assert docs.dataset("ml$docs").version == 1
    assert sorted(tmp_path.rglob("*.lance")) == before


@pytest.mark.parametrize(
    "secret",
    [
        {"backend": "glue", "secret_access_key": SECRET},
        {"backend": "dir", "storage.aws_secret_access_key": SECRET},
        {"profile": "prod", "token": SECRET},
        {"backend": "unity", "endpoint": f"https://me:{SECRET}@host"},
    ],
)
def test_a_secret_is_refused_as_an_option_and_not_repeated(secret: dict[str, str]):
    with pytest.raises(InvalidInput, match=r"holds a secret.*name that") as refused:
        options.parsed({"table": "t", **secret})
    assert SECRET not in str(refused.value)


def test_spark_repeats_no_secret_that_was_refused(spark: Any):
    reader = (
        spark.read.format("lance_ns").options(backend="dir", table="ml$t").option("storage.aws_session_token", SECRET)
    )
    with pytest.raises(Exception, match="holds a secret") as refused:
        reader.load()
    assert SECRET not in str(refused.value)


def test_a_profile_keeps_its_secrets_out_of_plans(spark: Any, docs: Any, root: str, tmp_path: Path, monkeypatch):
    file = tmp_path / "profiles.toml"
    file.write_text(
        f'[profiles.lake]\nbackend = "dir"\nroot = "{root}"\n"storage.aws_secret_access_key" = "{SECRET}"\n'
    )
    monkeypatch.setenv("LANCE_NS_CONFIG", str(file))
    source.register(spark)
    df = spark.read.format("lance_ns").options(profile="lake", columns="id").load("ml$docs")
    assert df.count() == 100
    plans = df._jdf.queryExecution()
    shown = plans.toString() + plans.explainString(plans.logical().getClass() and _mode(spark, "formatted"))
    assert SECRET not in shown
    with pytest.raises(Exception, match="not found") as missing:
        spark.read.format("lance_ns").options(profile="lake").load("ml$nope")
    assert SECRET not in str(missing.value)


def _mode(spark: Any, name: str) -> Any:
    return spark._jvm.org.apache.spark.sql.execution.ExplainMode.fromString(name)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({}, "told no table"),
        ({"table": "t", "limit": "many"}, "option limit is a whole number, not 'many'"),
        ({"table": "t", "version": "1", "tag": "x"}, "version and tag"),
        ({"table": "t", "nearest": "v"}, "option nearest is a JSON object"),
        ({"table": "t", "columns": "[1"}, "is no JSON"),
    ],
)
def test_options_that_make_no_sense_are_refused_by_name(given: dict[str, str], wrong: str, tmp_path: Path):
    with pytest.raises(InvalidInput, match=wrong):
        options.parsed({"backend": "dir", "root": str(tmp_path), **given}).scan()


def test_options_show_their_names_only():
    assert repr(options.parsed({"Table": "t", "Root": "/x"})) == "Options(table, root)"
