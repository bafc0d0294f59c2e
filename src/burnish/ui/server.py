"""Serves the board over a folder of runs until it is stopped."""

import socket
from collections.abc import Callable
from pathlib import Path

from burnish.errors import CheckpointError, LaunchError
from burnish.extras import require
from burnish.run.record.directory import RUNS


def serve_board(root: Path = RUNS, *, host: str = "127.0.0.1", port: int = 8090, tell: Callable[[str], None]) -> None:
    """Listen on an address until Ctrl-C or SIGTERM; port 0 takes one that is free."""
    if root != RUNS and not root.is_dir():
        raise CheckpointError(f"there is no folder {root}; by default, runs are in {RUNS}")
    uvicorn = require("uvicorn", extra="serve", why="for `burnish ui`")
    require("starlette", extra="serve", why="for `burnish ui`")
    from burnish.ui.board import build_board

    with _listen(host, port) as listener:
        tell(f"runs of {root} on http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)")
        board = build_board(root, hosts=[host])
        # Unlike httptools, h11 has a limit on headers, so that a long one keeps no other client waiting.
        uvicorn.Server(uvicorn.Config(board, http="h11", log_level="warning")).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise LaunchError(
            f"{host}:{port} cannot be listened on ({error.strerror or error}); choose another with --host and --port"
        ) from error
