"""Lance tables in Apache Polaris: each one a generic table of format `lance`."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `polaris`."""
    return Backend(
        name="polaris",
        summary="Lance tables in Apache Polaris, as generic tables",
        hookspec=1,
        config="lance_ns_polaris.config:PolarisConfig",
        factory="lance_ns_polaris.backend:PolarisNamespace",
        capabilities=BASIC | {"identity", "declare_table.location", "namespace_exists", "register_table"},
        display_delimiter=".",
    )
