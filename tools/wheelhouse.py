"""Collect the wheels that our distributions require, so that tests can install them with no index.

python tools/wheelhouse.py TARGET DISTRIBUTION…
"""

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements(distribution: Path) -> set[str]:
    """What a distribution requires from outside of this workspace, with all of its extras."""
    project = tomllib.loads((distribution / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project.get("optional-dependencies", {}).values()
    everything = [*project.get("dependencies", []), *(each for extra in extras for each in extra)]
    return {requirement for requirement in everything if not requirement.startswith("lance-ns-")}


def main() -> None:
    """Download what is missing; pip's cache makes it quick the second time."""
    target, *folders = sys.argv[1:]
    wanted = sorted({requirement for folder in folders for requirement in requirements(ROOT / folder)})
    constraints = str(ROOT / "constraints.txt")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, "--only-binary", ":all:", "-d", target, "-c", constraints, *wanted], check=True)


if __name__ == "__main__":
    main()
