"""The version, kept free of imports so that build tools can read it."""

__version__ = "0.1.0"
