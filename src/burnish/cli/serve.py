"""`burnish serve` and `ui`: artifacts behind HTTP, and runs in the browser."""

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from burnish.cli.options import TrustCode, UsedEngine, argument, find_target, option
from burnish.cli.verb import Lines, verb
from burnish.run.record.directory import RUNS


@verb("serve", short_help="Answer predictions over HTTP.")
def serve(
    targets: Annotated[
        list[str] | None,
        argument("[NAME=]TARGET", "A run or an artifact; several need names. Default: AIP_STORAGE_URI."),
    ] = None,
    *,
    host: Annotated[str, option("--host HOST", "Which address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int | None, option("--port PORT", "0 takes a free one; default: AIP_HTTP_PORT or 8080.", min=0, max=65535)
    ] = None,
    allowed: Annotated[
        list[str] | None,
        option("--allow-host NAME", "Answer under this name too; on 127.0.0.1 others are refused. Repeatable."),
    ] = None,
    deadline: Annotated[float, option("--deadline SECONDS", "Refuse what would wait longer (503).", min=0.01)] = 1.0,
    max_bytes: Annotated[int, option("--max-bytes N", "The largest body that is read.", min=1)] = 16 << 20,
    max_rows: Annotated[int, option("--max-rows N", "The most rows of one request.", min=1)] = 10_000,
    api_key_file: Annotated[
        Path | None, option("--api-key-file FILE", "Ask for one of these keys, one a line; or BURNISH_API_KEY.")
    ] = None,
    is_logging: Annotated[bool, option("--access-log", "Log every request, without its rows.")] = False,
    is_logging_rows: Annotated[bool, option("--log-rows", "Log every request with the start of its body.")] = False,
    formats: Annotated[
        list[str] | None, option("--format MODULE:CLASS", "Also read this format of your own; repeatable.")
    ] = None,
    engine: UsedEngine = "torch",
    trust_code: TrustCode = False,
) -> Lines:
    """Serve models over HTTP until Ctrl-C or SIGTERM; accepted requests are answered first."""
    import os

    from burnish.commands.serve import serve as command
    from burnish.serve.settings import Settings, read_keys

    given = [uri] if (uri := os.environ.get("AIP_STORAGE_URI")) else []
    if not targets and not given:
        raise typer.BadParameter("serve needs a run or an artifact; give one, or set AIP_STORAGE_URI")

    settings = Settings(
        deadline_seconds=deadline,
        max_bytes=max_bytes,
        max_rows=max_rows,
        keys=read_keys(api_key_file, os.environ),
        should_log_rows=is_logging_rows,
    )
    command(
        [_found(target) for target in targets or given],
        host=host,
        port=port,
        allow_hosts=allowed or (),
        settings=settings,
        formats=formats or (),
        engine=engine,
        trust_code=trust_code,
        log=_log,
        access=_log if is_logging or is_logging_rows else lambda line: None,
    )
    return ()


def _found(target: str) -> str:
    name, sign, place = target.partition("=")
    return f"{name}={find_target(place)}" if sign and not Path(target).exists() else find_target(target)


def _log(line: str) -> None:
    with suppress(OSError):  # whoever read it may be gone, and requests are answered all the same
        print(line, file=sys.stderr, flush=True)


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
