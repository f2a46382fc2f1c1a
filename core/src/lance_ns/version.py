"""The core's version, kept free of imports so that build tools and start-up can read it."""

__version__ = "0.1.0"
