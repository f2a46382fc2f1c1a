"""Glue, on the local service."""

from benchmarks.backends.base import Adapter, Listing
from benchmarks.measure import at_least, at_most


class Glue(Adapter):
    """A listing tells what the tables are, in pages of at most 100."""

    backend = "glue"
    server = "glue"
    peer = "lance_namespace_impls.glue.GlueNamespace"
    cold = at_least(4)
    listing = Listing(base="count", goal=at_most(1.3), against="the raw client", peer=("count", None))
    pages = True
