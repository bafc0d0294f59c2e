"""Reports the evaluations of a trial to an outer tuner: the file that Google's tuning service reads."""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from burnish.spec.events import Evaluated, Stepped, TrackedEvent

SAYS_TRIAL = TRIAL, METRIC_FILE = "CLOUD_ML_TRIAL_ID", "CLOUD_ML_HP_METRIC_FILE"
_DEFAULT_FILE = Path("/tmp/hypertune/output.metrics")  # noqa: S108  # the service looks there
_KEPT_LINES = 100
"""As many as the service's own client keeps."""
_LOSS, _LOSSES = "loss", ("log_loss",)


class TrialReport:
    """Writes each validation score as a line of its own, under its name; `loss` tells what training minimises.

    `train_loss` is the mean of the losses since the evaluation before.
    """

    def __init__(
        self, path: Path, *, trial: str, losses: Sequence[str] = _LOSSES, now: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._trial = trial
        self._tellers = losses
        self._now = now
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._losses: list[float] = []

    def emit(self, event: TrackedEvent) -> None:
        """Rewrite the file after each evaluation, with the newest lines last."""
        if isinstance(event, Stepped):
            self._losses.append(event.loss)
        if not isinstance(event, Evaluated) or event.split != "validation":
            return
        for tag, value in self._tags(event.scores):
            if math.isfinite(value):  # a trial without a number is one that failed, and the service can tell
                self._lines.append(self._write(tag, value, step=event.step))
        self._losses.clear()
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # In place, as the service's own client writes it: whoever follows the file keeps following it.
        self._path.write_text("".join(self._lines), encoding="utf-8")

    def close(self) -> None:
        """Keep nothing open."""

    def _tags(self, scores: Mapping[str, float]) -> Iterator[tuple[str, float]]:
        yield from scores.items()
        teller = next((name for name in (_LOSS, *self._tellers) if name in scores), _LOSS)
        if teller != _LOSS:
            yield _LOSS, scores[teller]
        if self._losses:
            yield "train_loss", math.fsum(self._losses) / len(self._losses)

    def _write(self, tag: str, value: float, *, step: int) -> str:
        told = {"timestamp": self._now(), "trial": self._trial, tag: str(float(value)), "global_step": str(step)}
        return json.dumps({**told, "checkpoint_path": ""}, sort_keys=True) + "\n"


def report_trial(environment: Mapping[str, str], *, losses: Sequence[str] = _LOSSES) -> TrialReport:
    """Make the report of a run that is a trial, for the environment has one of `SAYS_TRIAL`.

    `losses` are the scores that tell its loss, the best teller first.
    """
    path = Path(environment.get(METRIC_FILE) or _DEFAULT_FILE)
    return TrialReport(path, trial=environment.get(TRIAL) or "0", losses=losses)
