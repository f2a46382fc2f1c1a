"""The properties that a user gives to connect."""

from lance_ns import REQUIRED, StorageProperties, prop, properties


@properties
class AcmeConfig(StorageProperties):
    """Where the catalog is, and where tables go. A password or token would be a `Secret`."""

    file: str = prop(REQUIRED, "The file of the catalog", location=True)
    root: str = prop(REQUIRED, "Where tables are written", location=True)
