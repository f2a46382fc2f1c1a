"""Lance tables in Acme, for lance-ns. Importing this imports nothing heavy."""

from lance_ns import BASIC, Backend, hookimpl

__version__ = "0.1.0"


@hookimpl
def lance_ns_backend() -> Backend:
    """Register the backend `acme`."""
    return Backend(
        name="acme",
        summary="Lance tables in Acme",
        hookspec=1,
        config="lance_ns_conformance.template.config:AcmeConfig",
        factory="lance_ns_conformance.template.backend:AcmeNamespace",
        capabilities=BASIC | {"declare_table.location"},
    )
