"""The backends of this workspace, held to every scenario."""

from lance_ns_conformance import ConformanceSuite
from lance_ns_conformance.subject import subject_of

DIR = subject_of("dir", {})


class TestDir(ConformanceSuite):
    backend = "dir"
    properties = DIR.properties
    expectations = DIR.expectations
