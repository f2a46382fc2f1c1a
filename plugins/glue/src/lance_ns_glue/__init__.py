"""Lance tables in the AWS Glue Data Catalog: each one an external table with `table_type=lance`."""

from lance_ns.capabilities import BASIC
from lance_ns.hookspecs import Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `glue`."""
    return Backend(
        name="glue",
        summary="Lance tables in the AWS Glue Data Catalog",
        hookspec=1,
        config="lance_ns_glue.config:GlueConfig",
        factory="lance_ns_glue.backend:GlueNamespace",
        capabilities=BASIC
        | {
            "drop_namespace.cascade",
            "declare_table.location",
            "register_table",
            "register_table.overwrite",
            "alter_table_properties",
        },
    )
