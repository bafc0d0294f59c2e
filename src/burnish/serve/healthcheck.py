"""`python -m burnish.serve.healthcheck`: says to a container engine whether the server of its container answers."""

import os
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPConnection, HTTPException
from itertools import chain, pairwise
from pathlib import Path

_FIRST_PROCESS = Path("/proc/1/cmdline")
_PORT = "8080"
_SECONDS = 5.0
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104  # what a server may be told to listen on


def check_health(words: Sequence[str], environment: Mapping[str, str]) -> int:
    """Ask the server that a command line has started: 0 if it answers, or if it is none, such as a training job."""
    if "serve" not in words:
        return 0
    options = dict(pairwise(chain.from_iterable(word.split("=", 1) for word in words)))
    port = options.get("--port") or environment.get("AIP_HTTP_PORT") or _PORT
    host = options.get("--host", "127.0.0.1")
    connection = HTTPConnection("127.0.0.1" if host in _EVERYWHERE else host, int(port), timeout=_SECONDS)
    try:
        connection.request("GET", "/health/ready")
        return 0 if connection.getresponse().status == 200 else 1
    except (OSError, HTTPException):
        return 1
    finally:
        connection.close()


if __name__ == "__main__":
    sys.exit(check_health(_FIRST_PROCESS.read_text().split("\0"), os.environ))
