"""The properties of `dir`."""

import os

from lance_ns.config import StorageProperties, prop, properties


@properties
class DirConfig(StorageProperties):
    """Where the tables are."""

    root: str = prop(
        os.getcwd,
        "The directory or bucket that holds everything: a path, or a URI such as `s3://bucket/lake`",
        shown="the current working directory",
        location=True,
    )
    dir_listing_enabled: bool = prop(
        True,
        "Whether datasets `NAME.lance` directly in the root are tables too, though nobody declared them",
    )
