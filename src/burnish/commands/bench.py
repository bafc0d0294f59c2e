"""`burnish bench`: how fast this machine trains and predicts an experiment."""

import statistics
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from burnish.commands.config import check
from burnish.commands.workers.talk import ask
from burnish.errors import ConfigError, LaunchError, Problem
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.spec.events import Event, Noted

_WORKER = "burnish.commands.workers.speed"


@dataclass(frozen=True)
class Spread:
    """The median of some figures, with the least and the most."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Summarise figures; there must be at least one."""
        return cls(statistics.median(values), min(values), max(values))

    def figures(self, digits: int, *, scale: float = 1.0) -> tuple[str, str, str]:
        """Write median, least and most, each times `scale`."""
        median, low, high = (f"{value * scale:,.{digits}f}" for value in (self.median, self.low, self.high))
        return median, low, high


@dataclass(frozen=True)
class BenchResult:
    """How fast an experiment goes on this machine: per second, over the rounds."""

    examples: int
    """In each round."""
    rounds: int
    precision: str
    threads: int
    training_examples: Spread
    training_tokens: Spread
    waited: Spread
    """The share of training time that was spent waiting for data."""
    inference_examples: Spread
    inference_tokens: Spread


def bench(
    experiment: str | Path,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str] = (),
    rows: int = 256,
    rounds: int = 3,
    watch: Callable[[Event], None] = lambda event: None,
) -> BenchResult:
    """Train and predict a sample of the rows in turn, in a worker like any other; leave nothing behind."""
    resolved = check(experiment, configs=configs, overrides=overrides)
    if resolved.experiment.model.is_grown:
        raise ConfigError([Problem("model: boosted trees have no steps to measure; `burnish train` takes seconds")])
    watch(Noted(0, "preparing the data"))
    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as folder:
        run = RunDirectory(Path(folder, "run"))
        settle_plan(run, resolved)
        code, answers = ask([_WORKER, str(run.path), str(rows), str(rounds)], watch=watch)
    if code != 0:
        raise LaunchError(f"the process that measures died with exit code {code}; its last words are above")
    return _summarise(answers[0], answers[2:])  # the round between them was the warm-up


def _summarise(settings: dict[str, Any], measured: Sequence[dict[str, Any]]) -> BenchResult:
    def per_second(part: str, unit: str) -> Spread:
        return Spread.of([each[part][unit] / each[part]["seconds"] for each in measured])

    return BenchResult(
        **settings,
        rounds=len(measured),
        training_examples=per_second("train", "examples"),
        training_tokens=per_second("train", "tokens"),
        waited=per_second("train", "waited_seconds"),
        inference_examples=per_second("score", "examples"),
        inference_tokens=per_second("score", "tokens"),
    )
