"""The JVM connector's own environment: the newest Spark that it runs on, and its jars through Maven."""

import subprocess
import sys
from pathlib import Path

from servers import maven
from servers.cache import Cache
from servers.paths import cache_directory
from servers.versions import Jar, Release

NAME = "lance-spark 0.4.0"
SPARK = "pyspark==3.5.9"
PLACE = Path(__file__).parent.parent / "build" / "benchmarks" / "jvm"
RELEASE = Release(
    version="0.4.0",
    summary="the JVM connector",
    memory_mib=0,
    jars=(Jar("org.lance", "lance-spark-3.5_2.12", "0.4.0"),),
    disk_mib=300,
)


def python() -> Path:
    """The Python of that environment, which is made if need be."""
    binary, mark = PLACE / "bin" / "python", PLACE / "installed.txt"
    if not mark.exists() or mark.read_text(encoding="utf-8") != SPARK:
        print(f"making the environment of the JVM connector in {PLACE} (once, a minute)", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        install = [str(binary), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, SPARK], check=True)
        mark.write_text(SPARK, encoding="utf-8")
    return binary


def jars() -> list[str]:
    """Its jars and all that they need."""
    return sorted(
        str(path) for path in (maven.libraries(Cache(cache_directory()), "jvm", RELEASE) / "lib").glob("*.jar")
    )
