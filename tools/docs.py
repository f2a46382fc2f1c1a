"""Fill in the parts of the manual that follow from the code: `make docs`; `--check` fails when one is out of date.

A part stands between `<!-- generated: NAME -->`, or `<!-- included: FILE -->`, and `<!-- end -->`.
"""

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from lance_ns import config, registry
from lance_ns.cli.app import EXIT_STATUS, exit_status
from lance_ns.errors import ErrorCode, error_class
from lance_ns.namespace import Namespace
from lance_ns_spark.pipeline import reference

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PART = re.compile(r"<!-- (generated|included): (.*?) -->\n(?:.*?<!-- end -->\n)?", re.DOTALL)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def properties(backend: str) -> str:
    """The properties of a backend."""
    infos = config.describe(registry.imported(registry.find(backend).config))
    return table(
        ("property", "type", "default", "description"),
        ((f"`{info.name}`", info.type, info.default, info.description) for info in infos),
    )


def error_codes() -> str:
    """All codes, with class, statuses and meaning."""
    rows = []
    for code in ErrorCode:
        kind = error_class(code)
        meaning = (kind.__doc__ or "").split("\n")[0]
        retry = "yes" if kind("").retryable else ""
        rows.append(
            (str(int(code)), f"`{kind.__name__}`", str(code.http_status), str(exit_status(code)), retry, meaning)
        )
    return table(("code", "class", "status", "exit", "retryable", "meaning"), rows)


def exit_statuses() -> str:
    """The exit statuses of the command line."""
    rows = [
        ("0", "success"),
        *((str(status), words) for words, status in sorted(EXIT_STATUS.items(), key=lambda item: item[1])),
    ]
    return table(("status", "meaning"), rows)


def write_modes() -> str:
    """The table of `Namespace.write`, as its docstring has it."""
    lines = [line.strip() for line in (Namespace.write.__doc__ or "").splitlines()]
    return "\n".join(line for line in lines if line.startswith("|"))


def pipeline_file() -> str:
    """The reference of pipeline files."""
    return reference.manual()


def generated(name: str) -> str:
    """The content of a generated part."""
    words = name.split()
    if words[0] == "properties":
        return properties(words[1])
    return {
        "error codes": error_codes,
        "exit status": exit_statuses,
        "pipeline file": pipeline_file,
        "write modes": write_modes,
    }[name]()


def included(name: str) -> str:
    """A file of the workspace as a code block."""
    path = ROOT / name
    language = {".py": "python", ".toml": "toml"}[path.suffix]
    return f"```{language} title={path.name}\n{path.read_text(encoding='utf-8').rstrip()}\n```"


def filled(page: str) -> str:
    """A page with all its parts made anew."""

    def fill(match: re.Match[str]) -> str:
        content = generated(match[2]) if match[1] == "generated" else included(match[2])
        return f"<!-- {match[1]}: {match[2]} -->\n{content}\n<!-- end -->\n"

    return PART.sub(fill, page)


def main() -> None:
    """Write the pages, or check them."""
    stale = []
    for path in PAGES:
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if before != after:
            stale.append(path.relative_to(ROOT))
            if "--check" not in sys.argv:
                path.write_text(after, encoding="utf-8")
    if "--check" in sys.argv and stale:
        sys.exit(f"out of date: {', '.join(map(str, stale))}; run: make docs")


if __name__ == "__main__":
    main()
