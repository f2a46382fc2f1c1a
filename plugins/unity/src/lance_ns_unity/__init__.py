"""Lance tables in Unity Catalog: each one an external table that is marked as Lance."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `unity`."""
    return Backend(
        name="unity",
        summary="Lance tables in Unity Catalog",
        hookspec=1,
        config="lance_ns_unity.config:UnityConfig",
        factory="lance_ns_unity.backend:UnityNamespace",
        capabilities=BASIC | {"identity", "drop_namespace.cascade", "declare_table.location", "register_table"},
    )
