"""`lance-ns new-backend`: what it writes is clean, and what it refuses it explains.

That it is built, installed and certified without this repository is shown beside the other tests of packaging.
"""

import os
import subprocess
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest
from click.testing import CliRunner

from lance_ns.errors import InvalidInput
from lance_ns_conformance import new_backend, template
from lance_ns_conformance.template.store import NoParent, NotEmpty, Store, Taken

NAMES = ["x", "shelf", "acme", "acmes_store", "a" * new_backend.MAX_LENGTH]


def run(*command: str, cwd: Path) -> None:
    environment = {**os.environ, "MYPYPATH": "src"}
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_clean_whatever_its_name(tmp_path: Path, name: str):
    target = new_backend.written(name, tmp_path)
    run("ruff", "check", "--no-cache", ".", cwd=target)
    run("ruff", "format", "--no-cache", "--check", ".", cwd=target)
    texts = {path: path.read_text() for path in target.rglob("*") if path.is_file()}
    everything = "\n".join([*texts.values(), *map(str, texts)])
    assert "lance_ns_conformance.template" not in everything
    assert "@series@" not in everything
    assert f"lance_ns_{name}" in everything
    if "acme" not in name:
        assert "acme" not in everything.lower()


def test_what_is_written_has_strict_types(tmp_path: Path):
    target = new_backend.written("shelf", tmp_path)
    run("mypy", "--cache-dir", str(tmp_path / "cache"), cwd=target)
    run("mypy", "--cache-dir", str(tmp_path / "cache"), "tests", cwd=target)


def test_what_is_written_is_a_whole_distribution(tmp_path: Path):
    target = new_backend.written("shelf", tmp_path)
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} == {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        ".github/workflows/test.yml",
        "src/lance_ns_shelf/__init__.py",
        "src/lance_ns_shelf/backend.py",
        "src/lance_ns_shelf/config.py",
        "src/lance_ns_shelf/conformance.py",
        "src/lance_ns_shelf/py.typed",
        "src/lance_ns_shelf/store.py",
        "tests/test_shelf.py",
    }


def test_every_file_of_the_template_is_written():
    there = {path.name for path in Path(template.__file__).parent.iterdir() if path.is_file()}
    assert there == set(new_backend._PLACES)


def test_the_command_says_what_comes_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(new_backend.new_backend, ["shelf"], catch_exceptions=False)
    assert result.output.startswith("wrote lance-ns-shelf: ")
    assert "lance-ns certify shelf" in result.output
    assert (tmp_path / "lance-ns-shelf" / "pyproject.toml").exists()


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("My-Catalog", "try 'my_catalog'"),
        ("9lives", "try 'lives'"),
        ("../evil", "try 'evil'"),
        ("größe", "cannot name a backend"),
        ("", "cannot name a backend"),
        ("x\n", "cannot name a backend"),
        ("x" * 31, "too long"),
        ("dir", "already"),
        ("core", "already"),
        ("conformance", "already"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(tmp_path: Path, name: str, complaint: str):
    with pytest.raises(InvalidInput, match=complaint):
        new_backend.written(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_directory_is_left_alone(tmp_path: Path):
    mine = tmp_path / "lance-ns-shelf"
    mine.mkdir()
    (mine / "README.md").write_text("mine")
    with pytest.raises(InvalidInput, match=r"exists already.*--into"):
        new_backend.written("shelf", tmp_path)
    assert [path.name for path in mine.iterdir()] == ["README.md"]
    assert (mine / "README.md").read_text() == "mine"


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="cannot be written"):
        new_backend.written("shelf", tmp_path / "file" / "below")


def add_tables(file: str, worker: int) -> list[int]:
    """Try to enter the same twenty tables as everybody else; those that were won."""
    store, won = Store(file), []
    for number in range(20):
        try:
            store.add_table(("ns", f"t{number}"), f"/by/{worker}", {})
        except Taken:
            continue
        won.append(number)
    return won


def test_several_processes_share_one_store_and_each_entry_is_won_once(tmp_path: Path):
    file = str(tmp_path / "catalog")
    Store(file).add_namespace(("ns",), {})
    with get_context("spawn").Pool(3) as pool:
        won = pool.starmap(add_tables, [(file, worker) for worker in range(3)])
    assert sorted(number for numbers in won for number in numbers) == list(range(20))
    assert sorted(Store(file).tables(("ns",))) == sorted(f"t{number}" for number in range(20))


def test_the_store_keeps_parents_and_children_together(tmp_path: Path):
    store = Store(str(tmp_path / "catalog"))
    with pytest.raises(NoParent):
        store.add_table(("absent", "t"), "/x", {})
    store.add_namespace(("ns",), {})
    store.add_table(("ns", "t"), "/x", {})
    with pytest.raises(NotEmpty):
        store.remove_namespace(("ns",))
    assert store.remove_table(("ns", "t")) == ("/x", {})
    assert store.remove_table(("ns", "t")) is None
    store.remove_namespace(("ns",))
    assert store.namespaces(()) == []
