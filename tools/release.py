"""Build a wheel and an sdist of every distribution into dist/: `make build`.

Refuses to build when the versions of the distributions differ, or when the changelog does not mention them.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"


def distributions() -> list[Path]:
    """The folders of all distributions, the core first."""
    return [path.parent for path in sorted([*ROOT.glob("*/pyproject.toml"), *ROOT.glob("plugins/*/pyproject.toml")])]


def version_of(distribution: Path) -> str:
    """The version that a distribution's source states."""
    for module in sorted((distribution / "src").glob("*/*.py")):
        found = re.search(r'^__version__ = "([^"]+)"', module.read_text(encoding="utf-8"), re.MULTILINE)
        if found:
            return found[1]
    sys.exit(f"{distribution.name} states no __version__")


def build(distribution: Path, target: Path) -> None:
    """Build one distribution in the environment at hand, without asking an index."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    result = subprocess.run(command, cwd=distribution, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"building {distribution.name} failed:\n{result.stdout}{result.stderr}")


def main() -> None:
    """Check the versions, then build everything anew."""
    versions = {distribution: version_of(distribution) for distribution in distributions()}
    if len(set(versions.values())) != 1:
        sys.exit("versions differ: " + ", ".join(f"{path.name} {version}" for path, version in versions.items()))
    version = next(iter(versions.values()))
    if f"## {version}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        sys.exit(f"CHANGELOG.md has no section for {version}")
    shutil.rmtree(DIST, ignore_errors=True)
    for distribution in versions:
        build(distribution, DIST)
    for built in sorted(DIST.iterdir()):
        print(f"{built.stat().st_size / 1000:9.1f} kB  {built.name}")


if __name__ == "__main__":
    main()
