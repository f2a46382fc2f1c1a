"""`lance-ns`, the command line."""

import sys


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        import click  # noqa: F401
    except ImportError:
        sys.exit("lance-ns: the command line needs an extra: pip install 'lance-ns-core[cli]'")
    from lance_ns.cli.app import run

    run()
