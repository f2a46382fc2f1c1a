"""The backends of this workspace, held to every scenario and to the model."""

from lance_ns_conformance import ConformanceSuite, ModelSuite
from lance_ns_conformance.subject import subject_of

DIR = subject_of("dir", {})


class TestDir(ConformanceSuite):
    backend = "dir"
    properties = DIR.properties
    expectations = DIR.expectations


class TestDirModel(ModelSuite):
    backend = "dir"
    properties = DIR.properties
    expectations = DIR.expectations
