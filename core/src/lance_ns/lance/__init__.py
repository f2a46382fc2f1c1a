"""Everything that needs pylance: datasets behind tables, and the bridge to `lance_namespace`.

Nothing outside of this package imports pylance, and nothing imports this package before it is needed.
"""
