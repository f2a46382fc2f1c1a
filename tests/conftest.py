"""What the tests across packages share."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lance_ns

WORKSPACE = Path(__file__).resolve().parent.parent


def distributions() -> list[Path]:
    """The folders of all distributions of the workspace."""
    plugins = sorted((WORKSPACE / "plugins").iterdir())
    return [WORKSPACE / "core", WORKSPACE / "conformance", WORKSPACE / "spark", *plugins]


@pytest.fixture(scope="session", name="distributions")
def _distributions() -> list[Path]:
    return distributions()


@pytest.fixture(scope="session")
def workspace() -> Path:
    return WORKSPACE


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def ns(root: Path) -> Iterator[lance_ns.Namespace]:
    with lance_ns.connect("dir", root=root) as connection:
        connection.create_namespace("ml")
        yield connection


@pytest.fixture
def rows() -> pa.Table:
    return pa.table({"id": [1, 2, 3]})


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> Path:
    """The wheels of our distributions, and of the third party's, built from this tree."""
    target = tmp_path_factory.mktemp("wheels")
    third_party = workspace / "tests" / "third_party"
    for folder in [*distributions(), third_party / "kv", third_party / "broken"]:
        build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
    return target


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, wheels: Path, workspace: Path):
    """Makes an empty environment with some of our distributions, installed from wheels and with no index."""
    wheelhouse = workspace / "build" / "wheelhouse"
    assert (wheelhouse / ".filled").exists(), "run the tests by `make test`, which fills the wheelhouse"

    def make(*distributions: str) -> Path:
        environment = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        python = environment / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check"]
        places = ["--find-links", str(wheels), "--find-links", str(wheelhouse)]
        subprocess.run([*install, *places, *distributions], check=True)
        return python

    return make


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print which backend was seen to read and write on which storage."""
    pairs = [
        value
        for report in terminalreporter.getreports("passed")
        for key, value in report.user_properties
        if key == "storage_pair" and report.when == "call"
    ]
    if pairs:
        terminalreporter.section("pylance through the bridge")
        for pair in pairs:
            terminalreporter.write_line(pair)
