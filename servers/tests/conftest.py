from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from servers.kinds.base import Machine
from servers.processes import end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def machine(tmp_path: Path, said: list[str]) -> Iterator[Machine]:
    made = Machine.at(tmp_path / "cache", tmp_path / "state")
    made.say = said.append
    yield made
    # Also of a test that failed in its middle nothing may be left.
    for directory in made.state.glob("*/"):
        end(made.server_state(directory.name).processes())


@pytest.fixture
def tool_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """Puts a script in front of the PATH, in place of a package client."""

    def put(name: str, script: str) -> Path:
        directory = tmp_path / "bin"
        directory.mkdir(exist_ok=True)
        file = directory / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
        return file

    return put


@pytest.fixture(scope="module")
def shim() -> Iterator[Any]:
    """moto with the shim, on a free port of this process."""
    pytest.importorskip("moto")
    from moto.moto_server.werkzeug_app import MotoRequestHandler
    from werkzeug.serving import make_server

    from servers.shim.app import Shim

    application = Shim()
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()
    application.close()
