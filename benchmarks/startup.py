"""What a start costs: importing, and listing the backends."""

from benchmarks.children import here
from benchmarks.measure import Figure, at_most, figure, in_turns

BASE = "import pluggy, attrs"
OURS = "import lance_ns"
LISTING = "import sys; sys.argv = ['lance-ns', 'backends']; from lance_ns.cli import main; main()"
PEER = "import lance_namespace"


def figures() -> list[Figure]:
    """Import and listing, against the bare libraries."""
    costs = in_turns({code: here(code) for code in (BASE, OURS, LISTING, PEER)}, rounds=21, seldom={PEER: 5})
    others = {"the peer": costs.ratio(PEER, BASE).value, "lance-ns": costs.ratio(OURS, BASE).value, f"`{BASE}`": 1.0}
    return [
        figure(OURS, "core", costs.ratio(OURS, BASE), at_most(1.3), f"`{BASE}`", others=others),
        figure("lance-ns backends", "core", costs.ratio(LISTING, BASE), at_most(2.5), f"`{BASE}`"),
        figure(f"{PEER}, what the peer starts with", "core", costs.ratio(PEER, BASE), None, f"`{BASE}`"),
    ]
