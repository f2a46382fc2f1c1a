"""Pipelines on clusters: the smallest one, and a standalone one whose workers have a bare Python."""

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lance_ns
from lance_ns_spark import java

WORKSPACE = Path(__file__).resolve().parents[2]
PAGE = WORKSPACE / "docs" / "pipelines" / "clusters.md"
OURS = ("core", "plugins/dir", "spark")
LINKED = ("lance_ns", "lance-ns")
ROWS = 1_200_000
FILE = """
name = "cluster"
[[step]]
ingest = {{ format = "parquet", path = "{directory}/raw.parquet" }}
into   = {{ backend = "dir", properties = {{ root = "{directory}/lake" }}, table = "numbers" }}
[[step]]
maintain = {{ backend = "dir", properties = {{ root = "{directory}/lake" }} }}
indexes  = [{{ column = "id", type = "BTREE" }}]
[[step]]
verify = {{ backend = "dir", properties = {{ root = "{directory}/lake" }} }}
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    pq.write_table(
        pa.table({"id": np.arange(ROWS), "x": np.arange(ROWS) * 0.5}),
        tmp_path / "raw.parquet",
        row_group_size=ROWS // 4,
        compression="none",
        use_dictionary=False,
    )
    path = tmp_path / "pipeline.toml"
    path.write_text(FILE.format(directory=tmp_path))
    return path


def assert_it_is_done(directory: Path, result: dict) -> None:
    assert [step["state"] for step in result["steps"]] == ["done", "done", "done"]
    assert result["steps"][0]["result"]["outputs"][0]["fragments"] > 1, "several tasks have written"
    with lance_ns.connect("dir", root=str(directory / "lake")) as lake:
        dataset = lake.dataset("numbers")
        assert dataset.count_rows() == ROWS
        assert dataset.to_table(filter="id = 777777").column("x").to_pylist() == [777777 * 0.5]


def environment(**more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "JAVA_HOME": java.ensure(), "PATH": "/usr/bin:/bin", "SPARK_LOCAL_IP": "127.0.0.1", **more}


def test_a_pipeline_runs_on_two_executors_that_are_processes_of_their_own(pipeline, tmp_path):
    result = subprocess.run(
        [
            *(Path(sys.executable).with_name("lance-ns"), "pipeline", "run", pipeline, "--json"),
            *("--master", "local-cluster[2,1,1024]", "--conf", "spark.ui.enabled=false"),
        ],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert_it_is_done(tmp_path, json.loads(result.stdout))


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Starts a process of Spark's, and waits until it says that it is ready."""
    import pyspark

    home = Path(pyspark.__file__).parent
    processes: list[tuple[subprocess.Popen[str], threading.Thread]] = []

    def start(ready: str, *command: str) -> str:
        process = subprocess.Popen(
            [home / "bin" / "spark-class", *command],
            env=environment(SPARK_HOME=str(home)),
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        said: queue.Queue[str | None] = queue.Queue()
        listener = threading.Thread(target=listen, args=(process, said))
        listener.start()
        processes.append((process, listener))
        heard = []
        while (line := said.get(timeout=120)) is not None:
            heard.append(line)
            if match := re.search(ready, line):
                return match[0]
        raise AssertionError("".join(heard))

    yield start
    for process, listener in reversed(processes):
        process.terminate()
        process.wait(60)
        listener.join()


def listen(process: subprocess.Popen[str], said: "queue.Queue[str | None]") -> None:
    """Hear what a process says until it ends, so that it never waits for a reader."""
    with process.stderr as lines:
        for line in lines:
            said.put(line)
    said.put(None)


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """An environment in which everything is installed, not linked: what pip makes of released distributions."""
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    here, there = (
        Path(sysconfig.get_path("purelib")),
        venv / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages",
    )
    for name in required("lance-ns-spark", "lance-ns-dir"):
        if not name.startswith(LINKED):
            link_files(name, here, there)
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*install, "--target", there, *(WORKSPACE / each for each in OURS)], check=True)
    command = venv / "bin" / "lance-ns"
    command.write_text(f"#!{venv}/bin/python\nfrom lance_ns.cli import main\nmain()\n")
    command.chmod(0o755)
    return venv


def required(*names: str) -> set[str]:
    """Distributions with all that they require."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        try:
            wanted = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # not for this Python
            continue
        found.add(name)
        waiting += [re.split(r"[^\w.-]", each)[0] for each in wanted if "extra ==" not in each]
        waiting += ["pylance", "click"] if name == "lance-ns-core" else []
    return found


def link_files(distribution: str, here: Path, there: Path) -> None:
    for file in metadata.files(distribution) or ():
        source, target = here / file, there / file
        if not source.is_file() or ".." in file.parts:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:  # on another file system
            shutil.copy2(source, target)


def block(title: str) -> str:
    found = re.search(rf"^```sh title={title}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert found, title
    return found[1].replace("python3.11", f"python{sysconfig.get_python_version()}")


def test_the_manuals_recipe_runs_a_pipeline_on_workers_that_have_a_bare_python(started, installed, pipeline, tmp_path):
    python = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
    assert subprocess.run([python, "-c", "import lance"], capture_output=True).returncode != 0, "it must be bare"
    here = ("--host", "127.0.0.1", "--webui-port", "0")
    master = started(r"spark://\S+:\d+", "org.apache.spark.deploy.master.Master", *here, "--port", "0")
    for number in (1, 2):
        size = ("--cores", "1", "--memory", "1g", "--work-dir", f"{tmp_path}/work-{number}")
        started("Successfully registered", "org.apache.spark.deploy.worker.Worker", *here, *size, master)
    path = f"{installed / 'bin'}:{python.parent}:/usr/bin:/bin"
    script = "\n".join(["set -e", block("pack"), block("run").rstrip() + " --result result.json"])
    result = subprocess.run(
        ["sh", "-c", script],
        cwd=tmp_path,
        env=environment(PATH=path, MASTER=master, GZIP="-1"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert_it_is_done(tmp_path, json.loads((tmp_path / "result.json").read_text()))
    assert len(list(tmp_path.glob("work-*/app-*/*/packages/lance"))) == 2, "both workers had the archive"
