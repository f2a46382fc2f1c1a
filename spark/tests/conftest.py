"""One Spark session for all tests of a process, and an empty catalog for each test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lance_ns
from lance_ns_spark.session import session


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    running = session(
        "lance-ns tests",
        master="local[2]",
        spark__ui__enabled="false",
        spark__sql__shuffle__partitions="2",
        spark__driver__memory="1g",
    )
    running.sparkContext.setLogLevel("OFF")
    yield running
    running.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[lance_ns.Namespace]:
    """The embedded catalog with a namespace `ml`."""
    with lance_ns.connect("dir", root=str(tmp_path / "lake")) as ns:
        ns.create_namespace("ml")
        yield ns
