"""Where things are kept: artifacts in a cache outside the checkout, everything that runs in a state directory."""

import os
from pathlib import Path

CACHE_VARIABLE = "LANCE_NS_SERVERS_CACHE"
STATE_VARIABLE = "LANCE_NS_SERVERS_STATE"


def cache_directory() -> Path:
    """The directory of fetched artifacts and prepared templates."""
    chosen = os.environ.get(CACHE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else Path.home() / ".cache" / "lance-ns" / "servers"


def state_directory() -> Path:
    """The directory of pid files, logs, ports and scratch data."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Path(chosen).expanduser().absolute() if chosen else cache_directory() / "run"
