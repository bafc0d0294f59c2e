"""What `burnish plan` estimates, against what the same run takes."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from bench.sets import DataSet
from burnish.commands.config import check
from burnish.commands.plan import plan
from burnish.commands.train import train
from burnish.data.batching.batches import examples_per_batch
from burnish.run.record.directory import RunDirectory, read_json
from burnish.spec.events import Ended, Event, Started

_STEPS = 40
_VALIDATION_ROWS = 256


@dataclass
class Watch:
    """See when a run begins to learn and when it has ended, by the clock of its events."""

    now: Callable[[], float] = monotonic
    began: float = 0.0
    ended: float = 0.0

    def __call__(self, event: Event) -> None:
        """Look at the clock."""
        if isinstance(event, Started):
            self.began = self.now()
        if isinstance(event, Ended):
            self.ended = self.now()


def foresight(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Plan, then train, as often as asked: an epoch of few rows."""
    yield "| set | estimate, s | actual, s | actual / estimate | memory estimate, GB | actual, GB | actual / estimate |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for each in sets:
        for number in range(rounds):
            tell(f"foresight on {each.name}, round {number + 1} of {rounds}")
            yield f"| {each.name} | {' | '.join(_cells(*estimate_and_actual(each)))} |"


def estimate_and_actual(each: DataSet) -> tuple[tuple[float, float], tuple[float, float]]:
    """Give seconds and bytes: each as estimated and as they were."""
    batch = examples_per_batch(check(each.experiment, overrides=each.overrides).experiment.train.batch)
    rows = f"data.limit={{train: {_STEPS * batch}, validation: {_VALIDATION_ROWS}}}"
    overrides = (*each.overrides, "train.length=1 epochs", "train.evaluate_every=1 epochs", rows)
    found = plan(each.experiment, overrides=overrides)
    watch = Watch()
    with tempfile.TemporaryDirectory(prefix="burnish-bench-") as folder:
        run = RunDirectory(Path(folder, "run"))
        train(each.experiment, overrides=overrides, directory=run.path, watch=watch)
        ending = read_json(run.exit)
    assert isinstance(ending, dict)
    last_pass = sum(found.timing.evaluation_seconds.values())
    seconds = (found.seconds - last_pass, watch.ended - watch.began)
    return seconds, (float(found.footprint.memory_bytes), float(ending["memory_bytes"]))


def _cells(seconds: tuple[float, float], memory: tuple[float, float]) -> list[str]:
    return [
        *(f"{value:.1f}" for value in seconds),
        f"{seconds[1] / seconds[0]:.2f}",
        *(f"{value / 1e9:.2f}" for value in memory),
        f"{memory[1] / memory[0]:.2f}",
    ]
