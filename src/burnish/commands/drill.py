"""`burnish drill`: rehearses a crash on the user's own experiment, and proves that a resume comes to the same bits."""

import math
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from types import FrameType

from burnish.commands.config import check
from burnish.commands.crash.rehearsal import ObservedWorker, StopAfter, describe, train_observed
from burnish.commands.crash.sameness import FileDifference, find_differences
from burnish.config import Resolved
from burnish.errors import BurnishError, LaunchError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.spec.events import Event, Noted, Started

_NUM_WORKERS = 4
"""One undisturbed; one ended by SIGTERM, one by SIGKILL, one that comes to the end."""
_NUM_STRETCHES = 2.4
"""The same stretch undisturbed and interrupted, and some of it done again."""
_FEWEST_STEPS = 8
_FEWEST_SECONDS = 2.0
_FEWEST_SAVES = 2
_BY_THE_CLOCK = "1000000 steps"


class Stopped(BurnishError):
    """Say that a drill was stopped from outside."""

    exit_code = 130


@dataclass(frozen=True)
class Interruption:
    """One signal that ended a worker, and what it cost."""

    signal: str
    step: int
    """The last step that was seen done before it."""
    resumed_step: int
    lost_seconds: float
    """Work between the checkpoint that the run resumed from and the signal."""


@dataclass(frozen=True)
class DrillResult:
    """What a rehearsal showed."""

    steps: int
    seconds: float
    """How long the undisturbed stretch took, from the first step to the last."""
    interruptions: tuple[Interruption, ...]
    differences: tuple[FileDifference, ...]
    notes: tuple[str, ...]
    """Where the drill could not take the experiment as it is."""
    directory: Path | None
    """The two runs, if they were kept."""

    @property
    def is_exact(self) -> bool:
        """Whether the interrupted run came to the same bits."""
        return not self.differences

    @property
    def lost_seconds(self) -> float:
        """The work that was done twice."""
        return sum(each.lost_seconds for each in self.interruptions)


def drill(
    experiment: str,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str] = (),
    directory: Path | None = None,
    processes: int | None = None,
    minutes: float = 1.0,
    limit_minutes: float | None = None,
    keep: bool = False,
    random: Random | None = None,
    watch: Callable[[Event], None] = lambda event: None,
) -> DrillResult:
    """Train a stretch undisturbed and once more with a SIGTERM and a SIGKILL in it; compare what both come to.

    `minutes` is what it should take; past `limit_minutes` it is given up. Events of the workers are not passed on: a
    user watches the drill, not its runs.
    """
    draw = random or Random()  # noqa: S311  # when to kill is no secret
    clock, notes = _Clock(minutes, limit_minutes, watch), list[str]()
    ask = partial(check, experiment, configs=configs)
    settings = [*overrides, "train.max_minutes=null"]
    settings += _count_steps(ask(overrides=overrides), notes)
    with clock.listening(), _make_folder(directory, keep=keep) as root:
        left, right = RunDirectory(root / "undisturbed"), RunDirectory(root / "interrupted")
        settle_plan(left, ask(overrides=[*settings, "track=[]"]))
        clock.tell("training without interruption")
        first = ObservedWorker()
        observe = partial(train_observed, processes=processes)
        steps = observe(left, first, watch=clock.hear(left), is_enough=clock.is_enough)
        clock.refuse_early_end()
        settings += [*_save_often(first, steps, notes), _stop_after(steps)]
        settle_plan(right, ask(overrides=settings))
        attempts = [*_plan_signals(first, steps, draw), ObservedWorker()]
        for attempt in attempts:
            clock.tell(describe(attempt, is_first=attempt is attempts[0]))
            observe(right, attempt, watch=clock.hear(right))
        clock.refuse_early_end()
        found, kept = tuple(find_differences(left, right)), root if keep else None
        return DrillResult(steps, first.seconds, tuple(_list_interruptions(attempts)), found, tuple(notes), kept)


def _count_steps(resolved: Resolved, notes: list[str]) -> list[str]:
    length = resolved.experiment.train.length
    if length == "auto" or length.unit != "minutes":
        return []
    notes.append(
        "train.length is in minutes, so learning rates depend on the speed of each attempt, and no resume can "
        "be exact; the drill counted steps instead"
    )
    return [f"train.length={_BY_THE_CLOCK}"]


def _save_often(first: ObservedWorker, steps: int, notes: list[str]) -> list[str]:
    if first.num_saves > _FEWEST_SAVES:
        return []
    every = max(1, steps // 4)
    notes.append(f"train.checkpoint_every is longer than the drill; it saved every {every} steps")
    return [f"train.checkpoint_every={every} steps"]


def _stop_after(steps: int) -> str:
    return f"track=[{{type: '{StopAfter.__module__}:{StopAfter.__name__}', steps: {steps}}}]"


@dataclass
class _Clock:
    """Divide the time of a drill between its workers, and say when it is not enough."""

    minutes: float
    limit_minutes: float | None
    watch: Callable[[Event], None]
    began: float = field(default_factory=time.monotonic)
    startup: float | None = None
    """How long the first worker took to start."""
    is_over: bool = False
    is_stopped: bool = False
    """Whether a signal asked the drill itself to stop."""

    def is_enough(self, attempt: ObservedWorker) -> bool:
        """Judge whether the undisturbed stretch is as long as the time allows."""
        assert attempt.started is not None
        share = (self.minutes * 60 - _NUM_WORKERS * (attempt.started - attempt.began)) / _NUM_STRETCHES
        return attempt.step >= _FEWEST_STEPS and time.monotonic() - attempt.started >= max(_FEWEST_SECONDS, share)

    def hear(self, run: RunDirectory) -> Callable[[Event], None]:
        """Listen to a worker, and stop it when the time is up or cannot suffice."""

        def hear(event: Event) -> None:
            if isinstance(event, Started) and self.startup is None:
                self.startup = time.monotonic() - self.began
                if self._needed() > self.minutes * 60:
                    about = f"{self._needed() / 60:.1f} minutes"
                    self.tell(f"a worker takes {self.startup:.0f} s to start here, so this takes about {about}")
            limit = math.inf if self.limit_minutes is None else self.limit_minutes * 60
            self.is_over = self.is_over or max(time.monotonic() - self.began, self._needed()) > limit
            if self.is_over:
                run.stop_file.touch()

        return hear

    def tell(self, sentence: str) -> None:
        """Say what the drill does next, unless it has to end here."""
        self.refuse_early_end()
        self.watch(Noted(0, sentence))

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Let SIGTERM and Ctrl-C end a drill in a sentence, with its folder removed; its worker ends too."""

        def stop(_number: int, _frame: FrameType | None) -> None:
            self.is_stopped = True

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        except (KeyboardInterrupt, LaunchError):
            self.refuse_early_end()
            raise
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def refuse_early_end(self) -> None:
        """Give up a drill that was stopped, from outside or by its limit."""
        if self.is_stopped:
            raise Stopped("the drill was stopped before its end, so nothing was compared")
        if self.is_over:
            needed = math.ceil(self._needed() / 30 + 1) / 2
            raise BurnishError(
                f"--minutes {self.limit_minutes:g} is too short for a drill here: a worker takes "
                f"{self.startup or 0:.0f} s to start, and a drill starts {_NUM_WORKERS} of them; "
                f"try --minutes {needed:g}"
            )

    def _needed(self) -> float:
        return _NUM_WORKERS * (self.startup or 0.0) + _NUM_STRETCHES * _FEWEST_SECONDS


def _plan_signals(first: ObservedWorker, steps: int, draw: Random) -> list[ObservedWorker]:
    most = min(first.seconds / max(1, len(first.passed)), 1.0)
    places = (
        (signal.SIGTERM, draw.randint(1, max(1, steps // 3))),
        (signal.SIGKILL, draw.randint(max(2, steps // 2), max(2, steps - 2))),
    )
    return [ObservedWorker(number, at_step=step, delay_seconds=draw.random() * most) for number, step in places]


def _list_interruptions(attempts: Sequence[ObservedWorker]) -> Iterator[Interruption]:
    for attempt, following in pairwise(attempts):
        if attempt.signalled is not None and attempt.planned_signal is not None:
            name = signal.Signals(attempt.planned_signal).name
            yield Interruption(name, attempt.step, following.first_step, attempt.count_lost(following))


@contextmanager
def _make_folder(directory: Path | None, *, keep: bool) -> Iterator[Path]:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="burnish-drill-", dir=directory))
    try:
        yield root
    finally:
        if not keep:
            shutil.rmtree(root, ignore_errors=True)
