"""The distributions, built and installed as users get them."""

import email
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROUND_TRIP = """
import sys, lance_ns
with lance_ns.connect("dir", root=sys.argv[1]) as ns:
    ns.create_namespace("ml")
    ns.write("ml$t", [{"id": 1}, {"id": 2}])
    print(ns.dataset("ml$t").count_rows(), *ns.list_all_tables())
"""


@pytest.fixture(scope="module")
def core_and_dir(installed) -> Path:
    return installed("lance-ns-core", "lance-ns-dir")


def test_core_and_one_plugin_work_from_wheels_in_an_empty_environment(core_and_dir: Path, tmp_path: Path):
    result = subprocess.run(
        [core_and_dir, "-c", ROUND_TRIP, str(tmp_path)], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.stdout == "2 ('ml', 't')\n", result.stderr


def test_what_is_not_installed_is_named(core_and_dir: Path, tmp_path: Path):
    script = "import lance_ns; lance_ns.connect('glue')"
    result = subprocess.run([core_and_dir, "-c", script], capture_output=True, text=True, cwd=tmp_path)
    assert "backend 'glue' is not installed" in result.stderr
    assert "pip install lance-ns-glue" in result.stderr
    assert "installed: dir" in result.stderr


def test_the_command_line_names_the_extra_that_it_needs(core_and_dir: Path, tmp_path: Path):
    result = subprocess.run([core_and_dir.with_name("lance-ns")], capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == "lance-ns: the command line needs an extra: pip install 'lance-ns-core[cli]'\n"


def test_every_distribution_builds_a_wheel_and_an_sdist_with_its_types(distributions: list[Path], tmp_path: Path):
    for folder in distributions:
        build = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
    wheels, sdists = sorted(tmp_path.glob("*.whl")), sorted(tmp_path.glob("*.tar.gz"))
    assert len(wheels) == len(sdists) == len(distributions)
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        assert any(name.endswith("/py.typed") for name in names), wheel.name
        assert not any("tests/" in name for name in names), wheel.name
    for sdist in sdists:
        with tarfile.open(sdist) as archive:
            assert any(name.endswith("/README.md") for name in archive.getnames()), sdist.name


def test_a_plugin_pins_the_core_to_one_series(wheels: Path):
    for wheel in wheels.glob("lance_ns_*.whl"):
        archive = zipfile.ZipFile(wheel)
        metadata = next(name for name in archive.namelist() if name.endswith("METADATA"))
        requirements = email.message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
        core = [requirement for requirement in requirements if requirement.startswith("lance-ns-core")]
        if "lance_ns_core" in wheel.name:
            assert core == []
        else:
            assert len(core) == 1
            assert "<0.2" in core[0]
            assert ">=0.1" in core[0]


def test_the_release_script_builds_everything(workspace: Path):
    result = subprocess.run([sys.executable, "tools/release.py"], cwd=workspace, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "lance_ns_core-0.1.0-py3-none-any.whl" in result.stdout
    assert "lance_ns_dir-0.1.0.tar.gz" in result.stdout


def test_the_constraints_pin_every_package_and_name_no_index(workspace: Path):
    lines = (workspace / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert pins
    assert all("==" in line and "://" not in line and not line.startswith("-") for line in pins)
