"""Logs a run to MLflow: to a folder of the run, or to a server."""

import os
import time
from pathlib import Path
from typing import Any, ClassVar

from pydantic import PositiveInt

from burnish.durable import write_durably
from burnish.extras import require
from burnish.spec.component import Component
from burnish.spec.events import Ended, Evaluated, FinalScores, TrackedEvent
from burnish.tracking.numbers import read_hyperparameters, scalars_of

_MOST_AT_ONCE = 500
"""Numbers of one request; a server takes a thousand."""


class MlFlow(Component):
    """Log options, losses and scores to MLflow (extra `mlflow`); a resumed run goes on in its own."""

    extras: ClassVar[tuple[str, ...]] = ("mlflow",)
    shorthand = "uri"

    uri: str | None = None
    """A tracking server or a folder; by default MLFLOW_TRACKING_URI, else the folder `mlflow` of the run."""
    experiment: str = "burnish"
    every: PositiveInt = 1
    """Steps between two logged losses; scores are logged all."""

    def open(self, directory: Path, *, name: str) -> "MlflowRun":
        """Begin a run of MLflow, or go on with the one that this directory has begun."""
        os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")  # read when it is imported
        os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")
        tracking = require("mlflow.tracking", extra="mlflow", why="to log to MLflow")
        uri = self.uri or os.environ.get("MLFLOW_TRACKING_URI") or (directory / "mlflow").absolute().as_uri()
        client = tracking.MlflowClient(tracking_uri=uri)
        known = directory / "mlflow-run.txt"
        if not known.exists():
            found = client.get_experiment_by_name(self.experiment)
            number = client.create_experiment(self.experiment) if found is None else found.experiment_id
            run_id: str = client.create_run(number, run_name=name).info.run_id
            for key, value in read_hyperparameters(directory).items():
                client.log_param(run_id, key, value)
            write_durably(known, run_id.encode())
        return MlflowRun(client, known.read_text().strip(), every=self.every)


class MlflowRun:
    """Turn events into metrics, many at a time."""

    def __init__(self, client: Any, run_id: str, *, every: int = 1) -> None:
        self._client = client
        self._run_id = run_id
        self._metric: Any = require("mlflow.entities", extra="mlflow", why="to log to MLflow").Metric
        self._waiting: list[Any] = []
        self._every = every
        self._known = {name: self._last_step(name) for name in client.get_run(run_id).data.metrics}
        """How far each number was logged before the run was killed: resumed, it comes to the same ones again."""
        self._status = "FAILED"  # unless an event tells how it ended

    def emit(self, event: TrackedEvent) -> None:
        """Log what the event says in numbers, soon."""
        now = int(time.time() * 1000)
        self._waiting += [
            self._metric(name, value, now, event.step)
            for name, value in scalars_of(event, every=self._every)
            if event.step > self._known.get(name, -1) or isinstance(event, FinalScores)
        ]
        if isinstance(event, Ended):
            self._status = "FINISHED" if event.reason in ("finished", "early_stopping") else "KILLED"
        if isinstance(event, Evaluated | FinalScores | Ended) or len(self._waiting) >= _MOST_AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Log the rest, and say how it ended."""
        self._flush()
        self._client.set_terminated(self._run_id, self._status)

    def _last_step(self, name: str) -> int:
        return max((metric.step for metric in self._client.get_metric_history(self._run_id, name)), default=-1)

    def _flush(self) -> None:
        for start in range(0, len(self._waiting), _MOST_AT_ONCE):
            self._client.log_batch(self._run_id, metrics=self._waiting[start : start + _MOST_AT_ONCE])
        self._waiting = []
