"""Pipelines, run: order, job ids, plans, and what is told."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_ns
from lance_ns.errors import InvalidInput
from lance_ns_spark.pipeline import file, run


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    path = tmp_path / "raw" / "docs.parquet"
    path.parent.mkdir()
    vectors = pa.array([[float(number), 1.0] for number in range(100)], pa.list_(pa.float32()))
    pq.write_table(pa.table({"id": range(100), "vector": vectors}), path, row_group_size=50)
    return path


@pytest.fixture
def pipeline(tmp_path: Path, raw: Path) -> Any:
    lake, other = ({"backend": "dir", "properties": {"root": str(tmp_path / name)}} for name in ("lake", "other"))
    return file.structured(
        {
            "name": "all",
            "step": [
                {
                    "ingest": {"format": "parquet", "path": str(raw)},
                    "into": {**lake, "table": "docs"},
                    "vectors": {"vector": 2},
                    "indexes": [{"column": "id", "type": "BTREE"}],
                },
                {"copy": {**lake, "tables": ["docs"]}, "to": other},
                {"name": "tidy", "maintain": other, "indexes": [{"column": "id", "type": "BTREE"}]},
                {
                    "inventory": [{**lake, "name": "lake"}, {**other, "name": "other"}],
                    "report": str(tmp_path / "report.html"),
                    "parquet": str(tmp_path / "inventory.parquet"),
                },
                {"verify": other},
            ],
        },
        "test",
    )


def files_of(directory: Path) -> set[str]:
    return {str(path) for path in directory.rglob("*") if path.is_file()}


def no_spark() -> Any:
    raise AssertionError("Spark is not needed here")


def test_every_kind_of_step_runs_and_what_was_ingested_and_copied_is_not_done_again(pipeline, spark, tmp_path):
    outcomes = list(run.run(run.jobs(pipeline), lambda: spark))
    assert [(outcome.kind, outcome.state) for outcome in outcomes] == [
        ("ingest", "done"),
        ("copy", "done"),
        ("maintain", "done"),
        ("inventory", "done"),
        ("verify", "done"),
    ]
    assert "lake" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert pq.read_table(tmp_path / "inventory.parquet").num_rows == 2
    with lance_ns.connect("dir", root=str(tmp_path / "other")) as other:
        copied = other.dataset("docs")
        assert copied.count_rows() == 100
        assert copied.schema.field("vector").type == pa.list_(pa.float32(), 2)
        assert [index.name for index in copied.describe_indices()] == ["id_idx"]
    told = json.loads(run.as_json("all", outcomes))
    assert [step["name"] for step in told["steps"]] == ["ingest", "copy", "tidy", "inventory", "verify"]
    copy = told["steps"][1]["result"]
    assert copy["job"] == told["steps"][1]["job"]
    assert copy["inputs"][0]["version"] == told["steps"][0]["result"]["outputs"][-1]["version"]

    again = list(run.run(run.jobs(pipeline, only=["ingest", "2"]), lambda: spark))
    assert [outcome.state for outcome in again] == ["again", "again"]
    with lance_ns.connect("dir", root=str(tmp_path / "lake")) as lake:
        assert lake.dataset("docs").count_rows() == 100


def test_the_first_step_that_fails_is_the_last_one_that_runs(pipeline):
    wanted = run.jobs(pipeline, only=["copy", "verify"])
    [outcome] = run.run(wanted, no_spark, dry_run=True)
    assert outcome.state == "failed"
    assert outcome.error is not None
    told = json.loads(run.as_json("all", [outcome]))["steps"][0]
    assert told["result"] is None
    assert told["error"]["class"] == type(outcome.error).__name__


def test_a_dry_run_needs_no_spark_to_say_what_an_ingest_would_do_and_changes_nothing(pipeline, tmp_path):
    before = files_of(tmp_path)
    [outcome] = run.run(run.jobs(pipeline, only=["ingest"]), no_spark, dry_run=True)
    assert files_of(tmp_path) == before
    assert outcome.state == "planned"
    assert outcome.result is not None
    assert outcome.result.inputs[0].rows == 100
    assert outcome.result.outputs[0].read_version == 0


def test_an_explanation_names_the_path_and_the_tasks(pipeline, spark, tmp_path, raw):
    before = files_of(tmp_path)
    by_tasks, by_spark = (
        pipeline.step[0],
        file.structured(
            {
                "name": "sql",
                "step": [
                    {
                        "ingest": {"format": "parquet", "path": str(raw)},
                        "into": {"backend": "dir", "properties": {"root": str(tmp_path / "lake")}, "table": "docs"},
                        "sql": "select id from source",
                    }
                ],
            },
            "test",
        ).step[0],
    )
    wanted = [run.Job(number=number, step=step, id="x") for number, step in enumerate((by_tasks, by_spark), 1)]
    first, second = run.run(wanted, lambda: spark, dry_run=True, explain=True)
    assert files_of(tmp_path) == before
    assert first.result is not None
    assert first.result.summary["path"].startswith("Arrow only")
    assert first.result.summary["tasks"] >= 1
    assert second.result is not None
    assert second.result.summary["path"].startswith("Spark reads")
    assert second.result.summary["columns"] == "id"


def test_job_ids_follow_from_the_step_unless_they_are_given(pipeline):
    first, second = run.jobs(pipeline), run.jobs(pipeline)
    same = [one.id == other.id for one, other in zip(first, second, strict=True)]
    assert same == [True, True, False, False, False], "maintaining, listing and verifying are done each time"
    assert {one.id for one in run.jobs(pipeline, fresh=True)}.isdisjoint(each.id for each in first)
    given = [each.id for each in run.jobs(pipeline, job="run-7")]
    assert given == ["run-7/ingest", "run-7/copy", "run-7/tidy", "run-7/inventory", "run-7/verify"]


def test_steps_are_chosen_by_name_kind_or_number(pipeline):
    assert [job.number for job in run.jobs(pipeline, only=["tidy", "verify", "1"])] == [1, 3, 5]
    with pytest.raises(InvalidInput, match=r"no step 'tdy'.*3 tidy"):
        run.jobs(pipeline, only=["tdy"])


def test_options_come_from_the_environment_and_stay_hidden(monkeypatch):
    from lance_ns_spark.pipeline.connections import from_environment

    monkeypatch.setenv("DB_PASSWORD", "hush")
    found = from_environment({"password": "${DB_PASSWORD}", "fetchsize": 10, "pushDown": True})
    assert dict(found) == {"password": "hush", "fetchsize": "10", "pushDown": "true"}
    assert "hush" not in repr(found)
    with pytest.raises(InvalidInput, match="NOPE"):
        from_environment({"password": "${NOPE}"})
