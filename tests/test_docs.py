"""What the READMEs and the manual show is run, and says what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

WORKSPACE = Path(__file__).resolve().parent.parent
PAGES = [
    path.relative_to(WORKSPACE)
    for path in [
        WORKSPACE / "README.md",
        WORKSPACE / "core" / "README.md",
        WORKSPACE / "conformance" / "README.md",
        WORKSPACE / "spark" / "README.md",
        *sorted((WORKSPACE / "plugins").glob("*/README.md")),
        *sorted((WORKSPACE / "docs").rglob("*.md")),
    ]
]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DISTRIBUTIONS = {"lance-ns-core", "lance-ns-conformance", "lance-ns-spark"} | {
    f"lance-ns-{path.name}" for path in (WORKSPACE / "plugins").iterdir()
}


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    return BLOCK.findall((WORKSPACE / page).read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_code_block_runs_and_shows_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for variable in [name for name in os.environ if name.startswith(("LANCE_NS_", "LAKE_"))]:
        monkeypatch.delenv(variable)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    names: dict[str, object] = {"__name__": "__page__"}
    for language, title, content in blocks_of(page):
        if language == "python" and not title:
            capsys.readouterr()
            exec(compile(content, str(page), "exec"), names)  # the page's own words
        elif language == "toml":
            (tmp_path / (title.strip().removeprefix("title=") or first_comment(content))).write_text(content)
        elif language == "console":
            run_console(content, tmp_path)
        elif language == "text":
            assert capsys.readouterr().out.strip() == content.strip()
        else:
            assert title, f"{page} has a block that nobody runs: {language}"


# What a page shows as a server's address, and the property that holds the real one. Secrets are shown as "<…>".
ADDRESSES = {
    "http://localhost:8080": "endpoint",
    "http://localhost:8181": "endpoint",
    "http://localhost:5000": "endpoint",
    "thrift://localhost:9083": "uri",
}
ON_SERVERS = [
    pytest.param(page, content, title.split()[1], marks=pytest.mark.live(title.split()[1]), id=f"{page}-{number}")
    for page in PAGES
    for number, (language, title, content) in enumerate(blocks_of(page))
    if language == "python" and title.strip().startswith("live ")
]


@pytest.mark.parametrize(("page", "content", "server"), ON_SERVERS)
def test_every_example_titled_live_runs_on_its_server(page, content, server, live_server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    properties = live_server(server).properties
    for shown, name in ADDRESSES.items():
        content = content.replace(shown, str(properties.get(name, shown)))
    for name, value in re.findall(r"(\w+)=(\"<[^\"]*>\")", content):
        content = content.replace(value, repr(properties[name]))
    exec(compile(content, str(page), "exec"), {"__name__": "__page__"})  # the page's own words


def first_comment(content: str) -> str:
    return content.splitlines()[0].removeprefix("# ")


def run_console(content: str, directory: Path) -> None:
    """Run each `$ command` of a block and compare what follows it with what it prints; `…` stands for anything."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    for entry in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        command, _, expected = entry.partition("\n")
        if command.startswith("pip install"):
            wanted = {name.strip("'").partition("[")[0] for name in command.split()[2:]}
            assert wanted <= DISTRIBUTIONS
        elif command.startswith("make "):
            subprocess.run(["make", "-n", *command.split()[1:]], cwd=WORKSPACE, check=True, capture_output=True)
        else:
            shown = subprocess.run(
                ["sh", "-c", command], cwd=directory, env=environment, capture_output=True, text=True, check=False
            )
            pattern = ".*".join(re.escape(part) for part in expected.rstrip().split("…"))
            assert re.fullmatch(pattern, shown.stdout.rstrip()), f"{command}\n{shown.stdout}{shown.stderr}"


def test_the_generated_parts_of_the_manual_are_up_to_date():
    check = [sys.executable, "tools/docs.py", "--check"]
    result = subprocess.run(check, cwd=WORKSPACE, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_leads_somewhere(page: Path):
    text = re.sub(r"^```.*?^```$", "", (WORKSPACE / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (WORKSPACE / page.parent / target).exists(), f"{page}: {target}"


def test_every_page_of_the_manual_is_in_its_index():
    index = (WORKSPACE / "docs" / "index.md").read_text()
    for page in (WORKSPACE / "docs").rglob("*.md"):
        relative = str(page.relative_to(WORKSPACE / "docs"))
        assert relative == "index.md" or f"({relative})" in index


def test_the_demo_shows_the_main_job():
    result = subprocess.run(
        [sys.executable, "-m", "demo"], cwd=WORKSPACE, capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr
    for shown in ("2000 rows, version 1", "columns id, text, vector", "TableNotFound, 4", "declared, no data yet"):
        assert shown in result.stdout
    assert "8.0 k rows" in result.stdout, "the pipeline has appended three files"
    report = WORKSPACE / re.findall(r"^report: (.*)$", result.stdout, re.MULTILINE)[0]
    assert "ml$docs" in report.read_text(encoding="utf-8")


def test_no_file_names_a_machines_path_or_an_index():
    tracked = subprocess.run(["git", "ls-files"], cwd=WORKSPACE, capture_output=True, text=True, check=False).stdout
    for name in tracked.split():
        path = WORKSPACE / name
        if path.suffix in {".md", ".py", ".toml", ".txt", ".yaml", ".json", ""} and path.is_file():
            text = path.read_text(encoding="utf-8", errors="ignore")
            assert str(WORKSPACE) not in text, name
            assert "--index-url" not in text or name == "tests/test_docs.py", name
