"""A backend made by `lance-ns new-backend`, built, installed and certified without this repository."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def made(installed, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The directory of a new backend, and the Python of the environment in which it was made and is installed."""
    folder = tmp_path_factory.mktemp("new")
    python = installed("lance-ns-conformance[model]")
    subprocess.run([python.with_name("lance-ns"), "new-backend", "shelf", "--into", folder], check=True)
    target = folder / "lance-ns-shelf"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=target, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]
    subprocess.run([*install, f"{wheel}[test]"], check=True)
    return target, python


def test_its_own_tests_pass(made: tuple[Path, Path]):
    target, python = made
    shown = subprocess.run([python, "-m", "pytest", "-q"], cwd=target, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert " passed" in shown.stdout


def test_it_is_certified_out_of_the_box(made: tuple[Path, Path], tmp_path: Path):
    _, python = made
    command = [python.with_name("lance-ns"), "certify", "shelf", "--level", "basic", "--report", tmp_path / "report"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "shelf 0.1.0 · kit 0.1.0" in shown.stdout
    (basic,) = [line for line in shown.stdout.splitlines() if line.startswith("  basic ")]
    assert basic.endswith("  certified")
    assert (tmp_path / "report" / "index.html").exists()


def test_it_is_listed_with_its_properties(made: tuple[Path, Path], tmp_path: Path):
    command = made[1].with_name("lance-ns")
    shown = subprocess.run([command, "backends"], cwd=tmp_path, capture_output=True, text=True)
    assert "Lance tables in Shelf" in shown.stdout
    shown = subprocess.run([command, "config", "shelf"], cwd=tmp_path, capture_output=True, text=True)
    assert "The file of the catalog" in shown.stdout
