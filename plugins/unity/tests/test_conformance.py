"""Every scenario of the kit, as real servers of each dialect were recorded."""

from lance_ns_conformance import ConformanceSuite


class TestUnity060(ConformanceSuite):
    """Unity Catalog 0.6.0: what is missing or there already has a name of its own."""

    backend = "unity"
    server = "unity-0.6.0"


class TestUnity041(ConformanceSuite):
    """Unity Catalog 0.4.1: of what is there already, the error says what it is; of what is missing it does not."""

    backend = "unity"
    server = "unity-0.4.1"


class TestUnity031(ConformanceSuite):
    """Unity Catalog 0.3.1: errors have general names alone."""

    backend = "unity"
    server = "unity-0.3.1"
