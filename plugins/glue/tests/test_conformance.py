"""Every scenario of the kit, as moto with our shim in front was recorded: not AWS itself."""

from lance_ns_conformance import ConformanceSuite


class TestGlue(ConformanceSuite):
    """moto 5.2.5 with the shim of `servers/`."""

    backend = "glue"
    server = "moto-5.2.5-shim"
