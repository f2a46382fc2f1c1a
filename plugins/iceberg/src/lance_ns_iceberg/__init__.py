"""Lance tables in an Iceberg REST catalog: each one an Iceberg table with a dummy schema at the same location."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `iceberg`."""
    return Backend(
        name="iceberg",
        summary="Lance tables in an Iceberg REST catalog",
        hookspec=1,
        config="lance_ns_iceberg.config:IcebergConfig",
        factory="lance_ns_iceberg.backend:IcebergNamespace",
        capabilities=BASIC
        | {
            "identity",
            "declare_table.location",
            "describe_table.vend_credentials",
            "namespace_exists",
            "register_table",
            "register_table.overwrite",
            "rename_table",
            "rename_table.new_namespace_id",
            "alter_table_properties",
        },
        display_delimiter=".",
    )
