"""Random sequences of operations, compared with the contract's model."""

import tempfile

from hypothesis import HealthCheck, settings
from namespace_model import NamespaceMachine

import lance_ns


class DirMachine(NamespaceMachine):
    shared_names = True
    cascade = True

    def open_connection(self) -> lance_ns.Namespace:
        self.directory = tempfile.TemporaryDirectory()
        return lance_ns.connect("dir", root=self.directory.name)

    def teardown(self) -> None:
        super().teardown()
        if hasattr(self, "directory"):
            self.directory.cleanup()


TestDirKeepsTheContract = DirMachine.TestCase
TestDirKeepsTheContract.settings = settings(
    max_examples=60, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
