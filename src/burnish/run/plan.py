"""Decides how a run starts: fresh, resumed, or refused because the directory holds another experiment."""

import os

from burnish.config import Resolved, diff, fingerprint, load, render, trust
from burnish.errors import CheckpointError, ConfigError, Problem
from burnish.run.directory import RunDirectory, write_text
from burnish.spec.experiment import Experiment


def settle_plan(directory: RunDirectory, resolved: Resolved) -> None:
    """Record an experiment as the plan of a new run, or make sure that the run there is of the same one."""
    if directory.exists() and not _has_learned_nothing(directory):
        _refuse_another(directory, resolved.experiment)
        return
    refuse_unfit(directory)
    write_text(directory.plan, render(resolved.experiment, origin=resolved.origin))
    trust(directory.plan)


def refuse_unfit(directory: RunDirectory) -> None:
    """Refuse a folder with files of another kind, which a run must not be mixed with, and a name that is not UTF-8."""
    if "\ufffd" in os.fsencode(directory.path).decode("utf-8", "replace"):
        raise CheckpointError(f"{directory.path} is not UTF-8, and weights cannot be written there; name another --dir")
    if directory.exists() or not directory.path.is_dir():
        return
    if any(path.name not in (".lock", directory.lock.name) for path in directory.path.iterdir()):
        raise CheckpointError(
            f"{directory.path} holds files but no run; name an empty or new directory with --dir, or clear it first"
        )


def read_plan(directory: RunDirectory, *, trust_code: bool = False) -> Experiment:
    """Read the experiment that a run directory was made for; code that it names must be trusted."""
    if not directory.exists():
        raise CheckpointError(f"{directory.path} is no run: it has no plan.yaml. `burnish runs ls` lists runs")
    return load(str(directory.plan), trust_code=trust_code).experiment


def _has_learned_nothing(directory: RunDirectory) -> bool:
    # A run that was refused for its data or its model holds nothing worth keeping: the mended experiment replaces it.
    kept = [folder for folder in (directory.checkpoints, directory.quarantine) if folder.is_dir()]
    has_checkpoint = any(any(folder.iterdir()) for folder in kept)
    return not has_checkpoint and directory.status() in ("new", "failed", "interrupted", "preempted")


def _refuse_another(directory: RunDirectory, experiment: Experiment) -> None:
    recorded = read_plan(directory)
    if fingerprint(recorded) == fingerprint(experiment):
        return
    changes = [
        Problem(f"{change.path} is {change.right} now and was {change.left} in that run")
        for change in diff(recorded, experiment)
    ]
    raise ConfigError(
        [
            Problem(
                f"{directory.path} holds a run of another experiment",
                (
                    "train into another directory with --dir, or go on with that run: `burnish resume "
                    f"{directory.path}`",
                ),
            ),
            *changes,
        ]
    )
