"""Lance tables in a Hive Metastore, version 3 and 4: each one an external table at the same location."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `hive3`."""
    return Backend(
        name="hive3",
        summary="Lance tables in a Hive Metastore, 3.1 or newer",
        hookspec=1,
        config="lance_ns_hive3.config:HiveConfig",
        factory="lance_ns_hive3.backend:HiveNamespace",
        capabilities=BASIC
        | {
            "drop_namespace.cascade",
            "declare_table.location",
            "register_table",
            "register_table.overwrite",
            "rename_table",
            "rename_table.new_namespace_id",
            "alter_table_properties",
        },
    )
