"""What a start costs: importing, and listing the backends."""

from benchmarks.measure import Figure, cpu_of_process, ratios

BASE = "import pluggy, attrs"
LISTING = "import sys; sys.argv = ['lance-ns', 'backends']; from lance_ns.cli import main; main()"
PEER = "import lance_namespace"


def figures() -> list[Figure]:
    """Import and listing, against the bare libraries."""
    candidates = {code: (lambda code=code: cpu_of_process(code)) for code in (BASE, "import lance_ns", LISTING, PEER)}
    found = ratios(candidates, BASE, rounds=21)
    imported, listed, peer = found["import lance_ns"], found[LISTING], found[PEER]
    return [
        Figure("import lance_ns", "core", imported[0], "≤ 1.3", imported[0] <= 1.3, BASE, imported[1]),
        Figure("lance-ns backends", "core", listed[0], "≤ 2.5", listed[0] <= 2.5, BASE, listed[1]),
        Figure("import lance_namespace, what the peer starts with", "peer", peer[0], "–", True, BASE, peer[1]),
    ]
