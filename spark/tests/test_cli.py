"""`lance-ns pipeline` where Spark need not start; what starts it is shown, and run, in the manual."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from lance_ns.cli.app import app
from lance_ns.cli.app import run as run_command

FILE = """
name = "nightly"
[[step]]
ingest = {{ format = "parquet", path = "{raw}" }}
into   = {{ backend = "dir", properties = {{ root = "{lake}" }}, table = "{{table}}" }}
[[step]]
name   = "look"
verify = {{ backend = "dir", properties = {{ root = "{lake}" }} }}
"""


@pytest.fixture
def nightly(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"id": range(7)}), tmp_path / "raw.parquet")
    path = tmp_path / "nightly.toml"
    path.write_text(FILE.format(raw=tmp_path / "raw.parquet", lake=tmp_path / "lake"))
    return path


def told(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["pipeline", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def status_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as left:
        run_command(["pipeline", *arguments])
    return int(left.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("command", ["--help", "run --help", "ingest --help", "schema", "check nightly.toml"])
def test_help_and_checks_import_neither_spark_nor_arrow(command, tmp_path):
    (tmp_path / "nightly.toml").write_text("name = 'n'\n[[step]]\nverify = { profile = 'a' }\n")
    script = (
        "import sys\nfrom lance_ns.cli.app import app\n"
        f"app.main(['pipeline', *{command.split()!r}], standalone_mode=False)\n"
        "print({'pyspark', 'pyarrow', 'lance', 'pandas'} & set(sys.modules), file=sys.stderr)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.strip() == "set()"


def test_check_lists_the_steps(nightly):
    assert told("check", str(nightly), "--set", "table=t").splitlines() == [
        "nightly: 2 steps",
        "  1 ingest",
        "  2 verify (look)",
    ]


def test_a_wrong_file_is_one_line_for_each_fault_and_status_2(nightly, capsys):
    nightly.write_text(nightly.read_text().replace("verify", "verfy").replace("into", "in_to"))
    status, error = status_of(capsys, "check", str(nightly), "--set", "table=t")
    assert status == 2
    assert len(error.splitlines()) == 3
    assert "step 2 says nothing to do" in error


def test_the_status_of_a_failed_step_is_that_of_its_error_and_the_result_is_written(nightly, capsys, tmp_path):
    result = tmp_path / "out" / "result.json"
    arguments = ["run", str(nightly), "-s", "table=t", "--dry-run", "--result", str(result)]
    status, error = status_of(capsys, *arguments)
    assert status == 3, "no table fits, for the ingest was not really run"
    assert "step 2 (look) failed" in error
    assert [step["state"] for step in json.loads(result.read_text())["steps"]] == ["planned", "failed"]


def test_a_plan_shows_what_is_read_and_written(nightly, tmp_path):
    lines = told("run", str(nightly), "--set", "table=t", "--dry-run", "--only", "ingest").splitlines()
    assert lines[0].split() == ["STEP", "WHAT", "VERSION", "ROWS", "STATE"]
    assert lines[1].split() == ["ingest", "reads", f"parquet:{tmp_path}/raw.parquet", "7"]
    assert lines[2].split() == ["ingest", "writes", "dir:t", "v0"]
    assert not (tmp_path / "lake" / "t.lance").exists()


def test_a_job_is_planned_from_options(tmp_path, nightly):
    arguments = ["ingest", "t", "-p", f"root={tmp_path / 'lake'}", "--path", str(tmp_path / "raw.parquet")]
    plan = json.loads(told(*arguments, "--vector", "v=3", "--index", "id:btree", "--dry-run", "--json"))
    [step] = plan["steps"]
    assert step["result"]["inputs"][0]["rows"] == 7
    assert step["result"]["summary"]["indexes"] == "btree on id"


def test_wrong_options_of_a_job_are_told(capsys):
    status, error = status_of(capsys, "verify", "x", "-b", "glue", "-p", "secret_access_key=hush")
    assert status == 2
    assert "belongs in a profile" in error
    assert "hush" not in error
    assert status_of(capsys, "ingest", "t", "-p", "root=x", "--index", "nocolon")[0] == 2
    assert status_of(capsys, "ingest", "t", "-p", "root=x", "--vector", "v=three")[0] == 2
    assert status_of(capsys, "inventory")[0] == 2
