"""`burnish serve`: artifacts behind HTTP."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from burnish.artifact.locate import EngineChoice, find_artifact
from burnish.errors import ServeError
from burnish.extras import require

if TYPE_CHECKING:
    from burnish.serve.settings import Settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
DEFAULT_PORT = 8080


def serve(
    targets: Sequence[str],
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    allow_hosts: Sequence[str] = (),
    settings: "Settings | None" = None,
    formats: Sequence[str] = (),
    engine: EngineChoice = "torch",
    trust_code: bool = False,
    log: Callable[[str], None] = lambda line: None,
    access: Callable[[str], None] = lambda line: None,
) -> None:
    """Serve `ARTIFACT` or several `NAME=ARTIFACT` until SIGTERM or SIGINT; port 0 takes one that is free.

    On an address that only this machine reaches, it answers under the names of the loopback and under `allow_hosts`;
    elsewhere under these, or under any name.
    """
    # One of them stands for the others, which the same extra brings.
    require("prometheus_client", extra="serve", why="for `burnish serve`")
    artifacts = {name: find_artifact(target) for name, target in named_targets(targets).items()}
    from burnish.serve.requests import RowFormats
    from burnish.serve.server import build_api, listen, run_server
    from burnish.serve.settings import Routes, Settings, allowed_hosts

    routes = Routes.from_environment(os.environ)
    limits = replace(settings or Settings(), hosts=allowed_hosts(host, allow_hosts))
    chosen = DEFAULT_PORT if routes.port is None else routes.port
    listener = listen(host, chosen if port is None else port)
    api = build_api(
        artifacts,
        settings=limits,
        routes=routes,
        formats=RowFormats.load(formats),
        engine=engine,
        trust_code=trust_code,
        log=log,
        access=access,
    )
    log(f"serving {', '.join(api.models)} on http://{host}:{listener.getsockname()[1]} (Ctrl-C ends it)")
    if limits.hosts is None and not limits.keys:
        log("everyone who reaches this address may ask, under any name; --api-key-file and --allow-host limit that")
    run_server(api, listener, drain_seconds=limits.drain_seconds, log=log)


def named_targets(targets: Sequence[str]) -> Mapping[str, str]:
    """Read `NAME=ARTIFACT`; an artifact alone is named after its folder, or that of its run."""
    named: dict[str, str] = {}
    for target in targets:
        name, sign, place = target.partition("=")
        if not sign or Path(target).exists():
            path = Path(target).absolute()
            folder = path.parent.name if path.name == "artifact" else path.name
            name, place = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder).strip("-.") or "model", target
        if not _NAME.fullmatch(name):
            raise ServeError(
                f"{name!r} is no name for a model; use letters, digits, `-`, `_` and `.`, like NAME=ARTIFACT"
            )
        if name in named:
            raise ServeError(f"two models are called {name}; give them names: NAME={named[name]} OTHER={place}")
        named[name] = place
    return named
