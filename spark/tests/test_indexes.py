"""Indexes that tasks build: complete, used by searches, extended by what came later, and committed by job id."""

import lance
import numpy as np
import pyarrow as pa
import pytest

from lance_ns.errors import InvalidInput, TableColumnNotFound
from lance_ns_spark import commits, indexes
from lance_ns_spark.facts import look
from lance_ns_spark.indexes import IndexSpec, build
from lance_ns_spark.tables import Table


def rows(start: int, count: int) -> pa.Table:
    numbers = np.random.default_rng(start)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(numbers.random(count * 8, dtype=np.float32)), 8)
    ids = list(range(start, start + count))
    return pa.table({"id": ids, "word": [f"word{each % 7} of {each}" for each in ids], "v": vectors})


@pytest.fixture
def table(lake, monkeypatch) -> Table:
    """A table of four fragments, small enough for a test, and indexed in as many segments as there are tasks."""
    monkeypatch.setattr(indexes, "ROWS_PER_SEGMENT", 100)
    lake.write("ml$t", rows(0, 300))
    for start in (300, 600, 900):
        lake.write("ml$t", rows(start, 300), mode="append")
    return Table.within(lake, "ml$t")


def index_of(table: Table, name: str):
    return next(each for each in look(table).indexes if each.name == name)


@pytest.mark.parametrize(
    ("spec", "segments"),
    [
        (IndexSpec("id", "btree"), 2),
        (IndexSpec("word", "INVERTED", "words"), 1),
        (IndexSpec("id", "ZONEMAP"), 2),
        (IndexSpec("word", "NGRAM"), 2),
        (IndexSpec("v", "IVF_FLAT", params={"num_partitions": 2, "metric": "cosine"}), 2),
        (IndexSpec("v", "IVF_PQ", params={"num_partitions": 2, "num_sub_vectors": 4}), 2),
        (IndexSpec("v", "IVF_SQ", params={"num_partitions": 2}), 1),
        (IndexSpec("v", "IVF_RQ", params={"num_partitions": 2}), 2),
    ],
    ids=lambda each: getattr(each, "type", ""),
)
def test_an_index_of_several_tasks_covers_everything_and_what_is_appended_is_added(spark, table, spec, segments):
    made = build(spark, table, spec, job="j")
    found = index_of(table, spec.called)
    assert (found.type.replace("_", ""), found.coverage, found.segments) == (spec.type.replace("_", ""), 1.0, segments)
    assert (made.rows, made.fragments, made.version, made.read_version) == (1200, 4, 5, 4)
    again = build(spark, table, spec, job="j")
    assert (again.again, again.version, table.dataset().version) == (True, None, 5)
    table.ns.write(table.id, rows(1200, 300), mode="append")
    assert index_of(table, spec.called).coverage == 0.8
    assert build(spark, table, spec, job="j2").rows == 300
    assert index_of(table, spec.called).coverage == 1.0
    indexes.merge(table, spec.called)
    assert index_of(table, spec.called).coverage == 1.0


def test_searches_use_what_the_tasks_built(spark, table):
    for spec in (
        IndexSpec("id", "BTREE"),
        IndexSpec("word", "INVERTED"),
        IndexSpec("v", "IVF_FLAT", params={"num_partitions": 2}),
    ):
        build(spark, table, spec, job="j")
    dataset = table.dataset()
    assert "ScalarIndexQuery" in dataset.scanner(filter="id = 700").explain_plan()
    assert dataset.to_table(filter="id = 700")["id"].to_pylist() == [700]
    found = dataset.scanner(full_text_query="word3", columns=["id", "_score"]).to_table()
    assert sorted(found["id"].to_pylist()) == [each for each in range(1200) if each % 7 == 3]
    query = dataset.to_table(filter="id = 700")["v"][0].as_py()
    near = dataset.scanner(nearest={"column": "v", "q": query, "k": 3, "nprobes": 2}, columns=["id", "_distance"])
    assert "ANNSubIndex" in near.explain_plan()
    assert near.to_table()["id"][0].as_py() == 700


def test_the_commit_of_an_index_carries_the_job_and_hides_no_other_job(spark, table):
    build(spark, table, IndexSpec("id", "BTREE"), job="nightly")
    properties = table.dataset().read_transaction(5).transaction_properties
    assert properties == {commits.JOB: "nightly/index/id_idx"}
    assert commits.find(table, "nightly") is None


def test_rows_appended_while_segments_are_built_stay_and_are_indexed_next(spark, table, monkeypatch):
    real = indexes.tasks.run

    def run(*args, **options):
        made = real(*args, **options)
        table.ns.write(table.id, rows(5000, 10), mode="append")
        return made

    monkeypatch.setattr(indexes.tasks, "run", run)
    build(spark, table, IndexSpec("id", "BTREE"), job="j")
    assert (look(table).rows, index_of(table, "id_idx").rows) == (1210, 1200)


def test_fragments_that_others_compact_meanwhile_are_indexed_again(spark, table, monkeypatch):
    real = indexes.tasks.run
    runs = []

    def run(*args, **options):
        made = real(*args, **options)
        if not runs:
            table.dataset().optimize.compact_files(target_rows_per_fragment=10_000)
        runs.append(made)
        return made

    monkeypatch.setattr(indexes.tasks, "run", run)
    build(spark, table, IndexSpec("id", "BTREE"), job="j")
    assert len(runs) == 2
    assert index_of(table, "id_idx").coverage == 1.0
    assert table.dataset().to_table(filter="id = 700").num_rows == 1


def test_segments_of_fragments_that_are_gone_leave_the_index(spark, table):
    build(spark, table, IndexSpec("id", "ZONEMAP"), job="j")
    table.dataset().optimize.compact_files(target_rows_per_fragment=10_000)
    assert index_of(table, "id_idx").coverage == 0.0
    build(spark, table, IndexSpec("id", "ZONEMAP"), job="j2")
    assert (index_of(table, "id_idx").coverage, index_of(table, "id_idx").segments) == (1.0, 2)
    assert table.dataset().to_table(filter="id = 700").num_rows == 1


def test_what_cannot_be_indexed_says_why(spark, table):
    with pytest.raises(TableColumnNotFound, match="columns are id, word, v"):
        build(spark, table, IndexSpec("nothing", "BTREE"), job="j")
    with pytest.raises(InvalidInput, match="choose one of BTREE"):
        IndexSpec("id", "HASH")
    with pytest.raises(InvalidInput, match="too few to train 900 partitions"):
        build(spark, table, IndexSpec("v", "IVF_FLAT", params={"num_partitions": 900}), job="j")
    build(spark, table, IndexSpec("id", "BTREE"), job="j")
    with pytest.raises(InvalidInput, match="is there already, as BTree of id"):
        build(spark, table, IndexSpec("id", "BITMAP"), job="j")
    assert isinstance(table.dataset(), lance.LanceDataset)
