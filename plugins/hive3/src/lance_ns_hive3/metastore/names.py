"""Names on the wire: where a call takes a database only, its catalog is written into the same string."""

from lance_ns.errors import InvalidInput

DEFAULT_CATALOG = "hive"
_MISREAD = ("#", "!")


def qualified(catalog: str, database: str | None = None) -> str:
    """`@catalog#database`, or `@catalog#` for all databases of a catalog.

    Raises:
        InvalidInput: the metastore would read this as another catalog or database.
    """
    if not catalog or "#" in catalog:
        raise InvalidInput(f"{catalog!r} cannot be the name of a Hive catalog")
    if database is None:
        return f"@{catalog}#"
    if not database or database.endswith(_MISREAD):
        raise InvalidInput(f"{database!r} cannot be addressed as a Hive database")
    return f"@{catalog}#{database}"
