"""`burnish evaluate`: scores an artifact, or each new checkpoint of a run that is training."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from burnish.artifact.locate import find_artifact
from burnish.run.directory import RunDirectory
from burnish.run.plan import read_plan
from burnish.spec.events import Evaluated
from burnish.spec.values import Score

_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Evaluation:
    """Scores, each with its 95% interval, and the split they are of; None for a file."""

    split: str | None
    scores: Mapping[str, Score]


def evaluate(
    target: str,
    *,
    split: str | None = None,
    data: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Score an artifact on a file or a split of its own data: by default test, or validation where there is no test."""
    from burnish.artifact.predictor import Predictor
    from burnish.metrics.tally import Tally
    from burnish.run.rows import rows_to_score
    from burnish.run.selection import metrics_of

    folder = find_artifact(target)
    predictor = Predictor.load(folder)
    scored, rows = rows_to_score(predictor, split=split, data=data)
    tally = Tally(metrics_of(predictor.experiment, predictor.profile))
    tally.update(predictor.outcome(rows.table, held=rows.held, progress=progress))
    return Evaluation(scored, tally.scored())


def watch(run: Path, *, split: str = "validation", emit: Callable[[Evaluated], None]) -> None:
    """Score every checkpoint of a run as it appears, until the run has ended."""
    from burnish.run.rescore import Rescorer

    directory = RunDirectory(run)
    rescorer = Rescorer(directory, read_plan(directory), split)
    for step in _new_checkpoints(directory, rescorer.steps):
        scores = rescorer.scores(step)
        if scores is not None:
            emit(Evaluated(step, split, scores, is_best=False))


def _new_checkpoints(directory: RunDirectory, steps: Callable[[], list[int]]) -> Iterator[int]:
    seen: set[int] = set()
    while True:
        # Asked before looking: a checkpoint saved between the two questions is still found in the last round.
        is_running = directory.status() == "running"
        fresh = [step for step in steps() if step not in seen]
        seen.update(fresh)
        yield from fresh
        if not is_running and not fresh:
            return
        if not fresh:
            time.sleep(_POLL_SECONDS)
