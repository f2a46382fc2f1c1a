"""A third party's backend as a real distribution, and one that is broken."""

import json
import subprocess
from pathlib import Path

import pytest

USE_IT = """
import sys, lance_ns
ns = lance_ns.connect("kv", file=sys.argv[1] + "/store", root=sys.argv[1] + "/data")
ns.create_namespace("ml", properties={"a": "b"})
ns.create_namespace("ml", mode="exist_ok")
print(ns.declare_table("ml$t").location, *ns.list_tables("ml"), dict(ns.describe_namespace("ml").properties))
ns.declare_table("ml$evil/../../name")
print(ns.describe_table("ml$evil/../../name").location)
for call, arguments in (
    (ns.drop_namespace, {}),
    (ns.describe_namespace, {}),
    (ns.drop_namespace, {"behavior": "cascade"}),
):
    try:
        call("ml" if call == ns.drop_namespace else "nope", **arguments)
    except lance_ns.LanceNsError as error:
        print(error)
"""


@pytest.fixture(scope="module")
def python(installed) -> Path:
    return installed("lance-ns-core[cli]", "acme-kv", "acme-broken")


def test_it_is_discovered_and_used_without_this_repository(python: Path, tmp_path: Path):
    result = subprocess.run([python, "-c", USE_IT, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert result.stdout.splitlines() == [
        f"{tmp_path}/data/ml/t t {{'a': 'b'}}",
        f"{tmp_path}/data/ml/evil~2F..~2F..~2Fname",
        "kv: namespace ml is not empty (NamespaceNotEmpty, 3): behavior='cascade' drops what it holds, where it can",
        "kv: namespace nope not found (NamespaceNotFound, 1)",
        "kv: dropping a namespace with what it holds is not supported (Unsupported, 0)",
    ], result.stderr


def test_a_broken_one_is_listed_with_the_reason_and_disturbs_nobody(python: Path, tmp_path: Path):
    command = python.with_name("lance-ns")
    shown = subprocess.run([command, "backends", "--json"], capture_output=True, text=True, cwd=tmp_path)
    found = {each["name"]: each for each in json.loads(shown.stdout)}
    assert set(found) == {"kv", "broken"}
    assert found["kv"]["version"] == "1.2.3"
    assert found["kv"]["problem"] is None
    assert "acme_sdk_that_nobody_has" in found["broken"]["problem"]
    assert (
        "broken: acme-broken cannot be imported"
        in subprocess.run([command, "backends"], capture_output=True, text=True, cwd=tmp_path).stdout
    )
    tried = subprocess.run([command, "ls", "-b", "broken"], capture_output=True, text=True, cwd=tmp_path)
    assert tried.returncode == 1
    assert "acme_sdk_that_nobody_has" in tried.stderr


def test_what_needs_pylance_says_so_when_it_is_not_there(python: Path, tmp_path: Path):
    properties = ["-p", f"file={tmp_path}/store", "-p", f"root={tmp_path}/data"]
    lance_ns = [python.with_name("lance-ns")]
    subprocess.run([*lance_ns, "declare", "t", "-b", "kv", *properties], check=True, capture_output=True, cwd=tmp_path)
    shown = subprocess.run(
        [*lance_ns, "head", "t", "-b", "kv", *properties], capture_output=True, text=True, cwd=tmp_path
    )
    assert shown.returncode == 1
    assert "pip install 'lance-ns-core[lance]'" in shown.stderr


def test_it_is_certified_without_this_repository(installed, tmp_path: Path):
    command = installed("lance-ns-conformance", "acme-kv").with_name("lance-ns")
    properties = ["-p", "file={scratch}/store", "-p", "root={scratch}/data"]
    shown = subprocess.run([command, "certify", "kv", *properties], capture_output=True, text=True, cwd=tmp_path)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "kv 1.2.3 · kit 0.1.0" in shown.stdout
    wrong = subprocess.run([command, "certify"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2


def test_a_complete_backend_is_shorter_than_eighty_lines(workspace: Path):
    source = workspace / "tests" / "third_party" / "kv" / "src" / "acme_kv" / "__init__.py"
    lines = [line for line in source.read_text().splitlines() if line.strip()]
    assert len(lines) < 80
