"""`burnish evaluate`: scores an artifact, a checkpoint of a run, or each new one while it is training."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from burnish.artifact.locate import EngineChoice, find_artifact
from burnish.data.sources.address import find
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.history import read_history
from burnish.run.record.plan import read_plan
from burnish.spec.events import Evaluated
from burnish.spec.values import Score
from burnish.storage import manifest
from burnish.storage.checkpoints import CheckpointStore

_POLL_SECONDS = 2.0


@dataclass(frozen=True)
class Evaluation:
    """Scores, each with its 95% interval, and the split they are of; None for a file."""

    split: str | None
    scores: Mapping[str, Score]
    step: int | None = None
    """Which checkpoint was scored; None for an artifact."""
    notes: tuple[str, ...] = ()
    """What else to know of the rows, such as that their file changed since training."""


def evaluate(
    target: str,
    *,
    split: str | None = None,
    data: str | None = None,
    task: str | None = None,
    trust_code: bool = False,
    engine: EngineChoice = "torch",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Score an artifact on a file or a split of its own data: by default test, or validation where there is no test.

    Of several tasks, all are scored, or the one that is named, for which alone a file can be.
    Code that it names must be trusted.
    """
    if data is not None:
        find(data, option="the input")  # refuses a file that is not there before the model is loaded
    from burnish.artifact.predictor import Predictor, load_all
    from burnish.run.predicting.rows import rows_to_score
    from burnish.run.predicting.scoring import scored
    from burnish.run.selection import metrics_of
    from burnish.spec.parts import ALONE

    folder = find_artifact(target)
    if task is not None or data is not None:
        predictors = {ALONE: Predictor.load(folder, task=task, trust_code=trust_code, engine=engine)}
    else:
        predictors = load_all(folder, trust_code=trust_code, engine=engine)
    recorded = (manifest.read(folder) or {}).get("data")
    trained_on = recorded if isinstance(recorded, dict) else {}  # artifacts of earlier versions do not say
    found = rows_to_score(predictors, split=split, data=data, trained_on=trained_on)
    said = {
        name: (
            metrics_of(each.experiment, each.profile),
            each.outcome(found.rows[name].table, held=found.rows[name].held, progress=progress),
        )
        for name, each in predictors.items()
    }
    return Evaluation(found.split, scored(said), notes=found.notes)


def evaluate_checkpoint(
    run: Path,
    *,
    which: int | Literal["last", "best"] = "last",
    split: str | None = None,
    trust_code: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Evaluation:
    """Score a checkpoint of a run that need not have ended: that of a step, the newest, or the best so far."""
    directory = RunDirectory(run)
    experiment, step = read_plan(directory, trust_code=trust_code), _choose_step(directory, which)
    from burnish.run.predicting.rescore import Rescorer  # after what may be refused without torch

    rescorer = Rescorer(directory, experiment, split)
    scores = rescorer.scores(step, intervals=True, progress=progress)
    if scores is None:
        raise CheckpointError(f"the checkpoint of step {step} in {run} was deleted or damaged; ask for another one")
    return Evaluation(rescorer.split, scores, step)


def watch(
    run: Path,
    *,
    split: str = "validation",
    timeout_minutes: float | None = None,
    trust_code: bool = False,
    emit: Callable[[Evaluated], None],
) -> None:
    """Score every checkpoint of a run as it appears, until the run has ended; wait for a run that is not there yet.

    Scores go to `watched/SPLIT.json` of the run, and to its trackers, in the same folder. With a timeout, give up
    after so long without a checkpoint.
    """
    from burnish.run.predicting.rescore import Rescorer

    directory = RunDirectory(run)
    wait = _Patience(timeout_minutes, directory.path)
    while not directory.plan.exists():
        wait.a_moment()
    experiment = read_plan(directory, trust_code=trust_code)
    rescorer = Rescorer(directory, experiment, split)
    folder = directory.path / "watched"
    kept: dict[str, Mapping[str, float]] = {}
    with ExitStack() as stack:
        watchers = [stack.enter_context(closing(each.open(folder, name=experiment.name))) for each in experiment.track]
        for step in _follow_checkpoints(directory, rescorer.steps, wait=wait):
            scores = rescorer.scores(step, intervals=False)
            if scores is not None:
                kept[str(step)] = {name: score.value for name, score in scores.items()}
                folder.mkdir(exist_ok=True)
                write_json(folder / f"{split}.json", kept)
                for tell in (emit, *(watcher.emit for watcher in watchers)):
                    tell(Evaluated(step, split, dict(kept[str(step)]), is_best=False))


@dataclass
class _Patience:
    """Waits a moment at a time, and not for ever."""

    minutes: float | None
    run: Path
    waited_seconds: float = 0.0

    def a_moment(self) -> None:
        """Wait, or refuse to wait any longer."""
        if self.minutes is not None and self.waited_seconds >= self.minutes * 60:
            raise CheckpointError(f"no checkpoint appeared in {self.run} for {self.minutes:g} minutes")
        time.sleep(_POLL_SECONDS)
        self.waited_seconds += _POLL_SECONDS


def _choose_step(directory: RunDirectory, which: int | Literal["last", "best"]) -> int:
    steps = CheckpointStore(directory.checkpoints, directory.quarantine, tell=lambda _sentence: None).steps()
    if not steps:
        raise CheckpointError(f"{directory.path} has no checkpoint yet")
    if which == "last":
        return steps[-1]
    step = read_history(directory).best_step if which == "best" else which
    if step is None:
        raise CheckpointError(
            f"{directory.path} has not been evaluated yet, so no checkpoint is best; `last` is step {steps[-1]}"
        )
    if step not in steps:
        there = ", ".join(map(str, steps))
        raise CheckpointError(f"{directory.path} has no checkpoint of step {step}; it has those of steps {there}")
    return step


def _follow_checkpoints(directory: RunDirectory, steps: Callable[[], list[int]], *, wait: _Patience) -> Iterator[int]:
    seen: set[int] = set()
    while True:
        # Asked before looking: a checkpoint saved between the two questions is still found in the last round.
        is_running = directory.status() == "running"
        fresh = [step for step in steps() if step not in seen]
        seen.update(fresh)
        wait.waited_seconds = 0.0 if fresh else wait.waited_seconds
        yield from fresh
        if not is_running and not fresh:
            return
        if not fresh:
            wait.a_moment()
