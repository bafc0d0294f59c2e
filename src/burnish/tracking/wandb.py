"""Logs a run to Weights & Biases: offline into a folder of the run, unless told to go online."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import PositiveInt

from burnish.extras import require
from burnish.spec.component import Component
from burnish.spec.events import FinalScores, TrackedEvent
from burnish.tracking.numbers import read_hyperparameters, scalars_of


class WandB(Component):
    """Log options, losses and scores to Weights & Biases (extra `wandb`); `wandb sync` uploads what is offline."""

    extras: ClassVar[tuple[str, ...]] = ("wandb",)
    shorthand = "project"

    project: str = "burnish"
    entity: str | None = None
    """The user or team, where it is not your default one."""
    mode: Literal["offline", "online"] = "offline"
    """Whether anything leaves this machine."""
    every: PositiveInt = 1
    """Steps between two logged losses; scores are logged all."""

    def open(self, directory: Path, *, name: str) -> "WandbRun":
        """Begin a run, or go on with that of this directory."""
        os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # read when it is imported
        wandb = require("wandb", extra="wandb", why="to log to Weights & Biases")
        run = wandb.init(
            project=self.project,
            entity=self.entity,
            name=name,
            id=sha256(str(directory.absolute()).encode()).hexdigest()[:16],
            resume="allow" if self.mode == "online" else None,
            dir=str(directory),
            mode=self.mode,
            config=read_hyperparameters(directory),
            settings=wandb.Settings(console="off", disable_git=True, save_code=False, silent=True),
        )
        return WandbRun(run, wandb.teardown, every=self.every)


class WandbRun:
    """Turn events into a history by step, and final scores into the summary."""

    def __init__(self, run: Any, end_service: Callable[[], None], *, every: int = 1) -> None:
        self._run = run
        self._end_service = end_service
        self._every = every

    def emit(self, event: TrackedEvent) -> None:
        """Log what the event says in numbers."""
        scalars = dict(scalars_of(event, every=self._every))
        if isinstance(event, FinalScores):
            self._run.summary.update(scalars)
        elif scalars:
            self._run.log(scalars, step=event.step)

    def close(self) -> None:
        """Wait until all is written."""
        self._run.finish()
        self._end_service()  # it writes in a process of its own, and what is left when this one ends would be lost
