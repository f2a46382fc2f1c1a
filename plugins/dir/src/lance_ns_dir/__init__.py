"""The embedded default: Lance tables in a directory or bucket, without a server."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `dir`."""
    return Backend(
        name="dir",
        summary="Lance tables in a directory or bucket, embedded",
        hookspec=1,
        config="lance_ns_dir.config:DirConfig",
        factory="lance_ns_dir.backend:DirNamespace",
        capabilities=BASIC | {"drop_namespace.cascade", "register_table"},
    )
