"""`python -m servers`."""

import sys

from servers.cli import main

if __name__ == "__main__":
    sys.exit(main())
