"""A server that takes no JVM: for the tests of the tool itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from servers.kinds.base import Launch, Machine, Profile, Server
from servers.probes import expect_ok
from servers.versions import Release

if TYPE_CHECKING:
    from servers.state import Facts, ServerState

SCRIPT = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"{}")
    def log_message(self, *_): pass
print("toy is listening", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
SILENT = "import time; print('toy thinks', flush=True); time.sleep(600)"
BROKEN = "import sys; print('toy has no batteries', flush=True); sys.exit(3)"


class Toy(Server):
    def __init__(
        self,
        name: str = "toy",
        script: str = SCRIPT,
        *,
        needs: tuple[str, ...] = (),
        ready_seconds: float = 60.0,
        endpoint: str | None = None,
    ) -> None:
        self.name = name
        self.needs = needs
        self.release = Release("1.0", "a toy", 50, ready_seconds=ready_seconds)
        self.settled = 0
        self._script = script
        self._endpoint = endpoint

    def external(self) -> str | None:
        return self._endpoint

    def prepare(self, machine: Machine) -> None:
        pass

    def launch(self, machine: Machine, state: ServerState, port: int) -> Launch:
        return Launch([sys.executable, "-I", "-S", "-c", self._script, str(port)])

    def check(self, machine: Machine, facts: Facts) -> None:
        expect_ok(facts.endpoint)

    def settle(self, machine: Machine, facts: Facts) -> None:
        self.settled += 1

    def profiles(self, machine: Machine, facts: Facts) -> dict[str, Profile]:
        return {f"{self.name}-live": {"backend": "toy", "endpoint": facts.endpoint}}
