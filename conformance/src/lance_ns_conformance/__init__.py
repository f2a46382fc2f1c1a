"""The conformance kit: one set of scenarios that every backend is held to.

    from lance_ns_conformance import ConformanceSuite

    class TestAcme(ConformanceSuite):
        backend = "acme"
        properties = {"file": "{scratch}/store", "root": "{scratch}/data"}

gives a backend's author every scenario as a test; `lance-ns certify acme` prints and writes the report.
"""

from lance_ns_conformance.model import ModelSuite
from lance_ns_conformance.scenario import Scenario, raises, scenario
from lance_ns_conformance.subject import Expectations, Subject
from lance_ns_conformance.suite import ConformanceSuite
from lance_ns_conformance.world import World

__version__ = "0.1.0"

__all__ = [
    "ConformanceSuite",
    "Expectations",
    "ModelSuite",
    "Scenario",
    "Subject",
    "World",
    "__version__",
    "raises",
    "scenario",
]
