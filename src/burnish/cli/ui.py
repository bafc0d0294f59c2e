"""`burnish ui`: runs in the browser."""

import sys
from pathlib import Path
from typing import Annotated

from burnish.cli.options import argument, option
from burnish.cli.verb import Lines, verb
from burnish.run.record.directory import RUNS


@verb("ui", short_help="Look at runs in the browser.")
def ui(
    root: Annotated[Path, argument("FOLDER", "Where runs are.")] = RUNS,
    *,
    host: Annotated[str, option("--host HOST", "Which address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("--port PORT", "0 takes a free one.", min=0, max=65535)] = 8090,
) -> Lines:
    """Serve a read-only page over a folder of runs: progress, curves, scores, comparisons, reports."""
    from burnish.ui.server import serve_board

    serve_board(root, host=host, port=port, tell=lambda sentence: print(sentence, file=sys.stderr, flush=True))
    return ()
