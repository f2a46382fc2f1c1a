"""The metastore's recordings are replayed: every scenario, on every version."""

from lance_ns_conformance import ConformanceSuite


class TestHive313(ConformanceSuite):
    backend = "hive3"
    server = "hive-3.1.3"


class TestHive401(ConformanceSuite):
    backend = "hive3"
    server = "hive-4.0.1"
