"""What the tests of `dir` share."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import lance_ns


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def ns(root: Path) -> Iterator[lance_ns.Namespace]:
    root.mkdir()
    with lance_ns.connect("dir", root=root) as connection:
        yield connection


@pytest.fixture
def rows() -> pa.Table:
    return pa.table({"id": [1, 2, 3]})


@pytest.fixture(scope="module")
def s3() -> Iterator[dict[str, str]]:
    """An S3 server on loopback with a bucket `lake`, as storage properties."""
    import urllib3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    urllib3.request("PUT", f"{endpoint}/lake")
    yield {
        "storage.aws_endpoint": endpoint,
        "storage.allow_http": "true",
        "storage.aws_access_key_id": "key",
        "storage.aws_secret_access_key": "secret",
        "storage.aws_region": "us-east-1",
    }
    server.stop()
