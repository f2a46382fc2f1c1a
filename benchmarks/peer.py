"""The peer's own environment: made once, in build/, with the pinned packages of peer-requirements.txt."""

import subprocess
import sys
from pathlib import Path

HOME = Path(__file__).parent
REQUIREMENTS = HOME / "peer-requirements.txt"
PLACE = HOME.parent / "build" / "benchmarks" / "peer"
NAME = "lance-namespace-impls 0.4.2"


def python() -> Path:
    """The Python of that environment, which is made if need be."""
    binary, mark = PLACE / "bin" / "python", PLACE / "installed.txt"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not mark.exists() or mark.read_text(encoding="utf-8") != wanted:
        print(f"making the environment of the peer in {PLACE} (once, a minute or two)", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        install = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--requirement", str(REQUIREMENTS)], check=True)
        # Its packages are compiled now, so that the first start that is measured is like the others.
        subprocess.run([str(binary), "-c", "import lance, lance_namespace_impls"], check=True)
        mark.write_text(wanted, encoding="utf-8")
    return binary
