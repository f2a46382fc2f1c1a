"""Every scenario of the kit, as a real Polaris server was recorded."""

from lance_ns_conformance import ConformanceSuite


class TestPolaris(ConformanceSuite):
    """Polaris 1.4.1."""

    backend = "polaris"
    server = "polaris-1.4.1"
