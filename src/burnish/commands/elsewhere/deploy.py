"""`burnish deploy`: a run that passes its gate becomes an endpoint; endpoints are asked and taken down."""

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from burnish.artifact.bundle import read_experiment
from burnish.artifact.foreign import foreign_code
from burnish.artifact.locate import find_artifact
from burnish.commands.copy import cp
from burnish.commands.elsewhere.launching import make_stamp
from burnish.config.trust import code_in
from burnish.errors import ConfigError, LaunchError, Problem
from burnish.launch.options import read_launcher
from burnish.launch.vertex import deploy as vertex
from burnish.launch.vertex.launcher import Vertex
from burnish.run.record.directory import find_run
from burnish.spec.launcher import JobSpec, find_unset

if TYPE_CHECKING:
    from pathlib import Path

_REPLICAS = re.compile(r"(\d{1,4})(?::(\d{1,4}))?")


def read_place(options: Sequence[str]) -> Vertex:
    """Read where models are deployed."""
    return cast(Vertex, read_launcher("vertex", options))  # which is what the name stands for


def preview(run: str, launcher: Vertex, *, replicas: str, traffic: int, trust_code: bool = False) -> dict[str, Any]:
    """Write the requests of a deployment; nothing is sent."""
    path = find_run(run).path
    name = _name(path, now=lambda: 0.0)
    bounds = read_replicas(replicas)
    shares = vertex.share_traffic({"<others>": 100} if traffic < 100 else {}, traffic=traffic)
    rendered = vertex.render_deployment(launcher, "<model>", replicas=bounds, traffic=shares)
    model = vertex.render_model(launcher, name, runs_code=_runs_code(find_artifact(str(path)), trust_code=trust_code))
    return {"model": model, "endpoint": {"displayName": name}, "deployment": rendered}


def deploy(
    run: str,
    launcher: Vertex,
    *,
    replicas: str = "1",
    traffic: int = 100,
    endpoint: str | None = None,
    trust_code: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    now: Callable[[], float] = time.time,
) -> str:
    """Put the artifact of a run on the bucket and deploy it; returns the endpoint."""
    bounds, path = read_replicas(replicas), find_run(run).path
    name = _name(path, now=now)
    missing = [each.sentence for each in launcher.check(JobSpec(name, ("serve",))) if not each.is_met]
    if missing or find_unset(vertex.render_model(launcher, name)):
        raise LaunchError(str(ConfigError([Problem(each) for each in missing], subject="the deployment")))
    artifact = find_artifact(str(path))
    runs_code = _runs_code(artifact, trust_code=trust_code)
    cp(str(artifact), vertex.artifact_address(launcher, name))
    return vertex.deploy(
        launcher, name, replicas=bounds, traffic=traffic, endpoint=endpoint, runs_code=runs_code, tell=tell
    )


def _runs_code(artifact: "Path", *, trust_code: bool) -> bool:
    """Tell whether an artifact leads to code of others; what is not trusted here is refused, and not trusted there."""
    experiment = read_experiment(artifact, trust_code=trust_code)
    return bool(foreign_code(experiment)) or any(code_in(experiment))


def read_replicas(text: str) -> tuple[int, int]:
    """Read how many machines serve: `2`, or `1:3` for at least and at most."""
    found = _REPLICAS.fullmatch(text)
    least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= least <= most:
        sentence = f"--replicas must be a number like 1, or at least and at most like 1:3, got {text!r}"
        raise ConfigError([Problem(sentence)], subject="the command line")
    return least, most


def _name(path: "Path", *, now: Callable[[], float]) -> str:
    return f"{re.sub(r'[^a-z0-9]+', '-', path.absolute().name.lower()).strip('-')[:40]}-{make_stamp(now)}"
