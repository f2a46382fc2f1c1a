"""Recordings of real Iceberg REST servers are replayed: every scenario, on every server."""

from lance_ns_conformance import ConformanceSuite


class TestReference1110(ConformanceSuite):
    backend = "iceberg"
    server = "reference-1.11.0"


class TestReference1101(ConformanceSuite):
    backend = "iceberg"
    server = "reference-1.10.1"


class TestNessie0990(ConformanceSuite):
    backend = "iceberg"
    server = "nessie-0.99.0"
