"""`python -m servers.shim --port N`: the local Glue, STS, IAM and S3."""

import argparse
import os
import signal
import sys

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import make_server

from servers.shim.app import Shim


def main() -> None:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    # moto hands out addresses of itself (queue URLs and the like) from these.
    os.environ.setdefault("MOTO_PORT", str(chosen.port))
    server = make_server(chosen.host, chosen.port, Shim(), threaded=True, request_handler=MotoRequestHandler)
    server.serve_forever()


if __name__ == "__main__":
    main()
