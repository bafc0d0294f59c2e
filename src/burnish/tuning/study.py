"""Runs a study: asks the searcher, trains legs side by side, and records what came of each."""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, replace
from threading import Event as Flag
from typing import Literal

from burnish.config import Resolved
from burnish.dist.world import share_of
from burnish.engine.stop import StopRequest
from burnish.errors import BurnishError, ConfigError
from burnish.launch.plan import ARRAY
from burnish.launch.ray.group import STUDY
from burnish.run.record.directory import RunDirectory
from burnish.run.record.lock import unclaimed
from burnish.run.record.plan import move_aside, settle_plan
from burnish.spec.search import Coordinates, Leg, Searcher, SearchState
from burnish.tuning.data import StudyData
from burnish.tuning.forks import TrialStarter
from burnish.tuning.goal import Goal
from burnish.tuning.record import EndedLeg, StudyRecord, Trial
from burnish.tuning.space import Settled, Space
from burnish.tuning.trials import LegRunner, LegStarter

Ending = Literal["finished", "deadline", "stopped"]
_LOOK_SECONDS = 0.2


class TooManyFailed(BurnishError):
    """End a study of which more trials fail than its settings allow."""


@dataclass(frozen=True)
class StudyLimits:
    """What may change from one attempt of a study to the next."""

    num_trials: int
    parallel: int = 1
    minutes: float | None = None
    max_failed: int = 5


@dataclass
class Study:
    """A search at work."""

    record: StudyRecord
    space: Space
    searcher: Searcher
    goal: Goal
    limits: StudyLimits
    plan: Callable[[Settled], Resolved]
    """Makes the experiment of a trial, or refuses it."""
    data: StudyData
    starts: Sequence[Coordinates] = ()
    """Where the first trials stand; an empty one is the experiment as it was written."""
    tell: Callable[[EndedLeg], None] = lambda ended: None
    now: Callable[[], float] = time.monotonic
    stopping: Flag = field(default_factory=Flag)
    _failure: BurnishError | None = None
    _running: dict[Future[EndedLeg | None], tuple[Leg, int]] = field(default_factory=dict)
    """What is trained now, and in which slot."""

    def run(self, request: StopRequest) -> Ending:
        """Train until nothing is left to do, time is up or somebody asks to stop; tell which."""
        if not self.pending():
            return "finished"
        began = self.now() - self.record.seconds
        stop_file = RunDirectory(self.record.directory).stop_file
        model = str(self.record.about["experiment"].get("model.type"))
        with (
            _choose_starter(os.environ, model, self.stopping) as starter,
            ThreadPoolExecutor(self.limits.parallel) as pool,
        ):
            runner = LegRunner(starter, self.goal, self._should_stop, self.record.passed, stopping=self.stopping)
            try:
                while True:
                    seconds = self.now() - began
                    if request.reason or stop_file.exists() or self._is_late(seconds) or self._failure:
                        self._ask_to_stop()
                    else:
                        self._begin_legs(runner, pool, at=seconds)
                    if not self._running:
                        break
                    for future in wait(self._running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED).done:
                        self._running.pop(future)
                        self._take(future.result(), at=self.now() - began)
            finally:
                while wait(self._running, timeout=_LOOK_SECONDS).not_done:
                    self._ask_to_stop()  # after an error, as the pool waits for all legs
        if self._failure is not None:
            raise self._failure
        if not self.pending():
            return "finished"
        return "deadline" if self._is_late(self.now() - began) else "stopped"

    def state(self) -> SearchState:
        """What the searcher may know now."""
        record = self.record
        return SearchState(
            self.space,
            int(record.about["seed"]),
            self.limits.num_trials,
            int(record.about["evaluations"]),
            max_failed=max(self.limits.max_failed, sum(end.state == "failed" for end in record.ends)),
            num_trials_at_first=record.about.get("trials"),
            # Threads of legs ask too, while the main thread adds trials.
            points={number: trial.point for number, trial in record.trials.copy().items() if trial.point},
            ends=record.leg_ends(),
            curves={number: [*map(record.loss, end.curve)] for number, end in record.last.items()},
        )

    def pending(self) -> list[Leg]:
        """List the legs that are called for and neither recorded nor under way."""
        known = {Leg(end.trial, end.until) for end in self.record.ends} | {leg for leg, _ in self._running.values()}
        return [leg for leg in self.searcher.legs(self.state()) if leg not in known]

    def _begin_legs(self, runner: LegRunner, pool: ThreadPoolExecutor, *, at: float) -> None:
        while len(self._running) < self.limits.parallel and not self._failure:
            leg = next(self._startable(), None)
            if leg is None:
                return
            refused = self._prepare(leg)
            if self.record.trials[leg.trial].run in self._busy_runs():
                continue  # its point is being trained by another trial, whose end answers it
            if refused is not None:
                self._take(refused, at=at)
                continue
            slot = next(each for each in range(self.limits.parallel) if each not in self._busy_slots())
            run = self.record.run_of(leg.trial)
            self._running[pool.submit(runner.train, leg, run, cores=self._cores(slot))] = leg, slot

    def _startable(self) -> Iterator[Leg]:
        """Give the legs that may begin: no run is trained by two at once."""
        busy = self._busy_runs()
        for leg in self.pending():
            trial = self.record.trials.get(leg.trial)
            if trial is None or trial.run not in busy:
                yield leg

    def _prepare(self, leg: Leg) -> EndedLeg | None:
        """Choose the point of a new trial and plan its run; say so if the experiment refuses it."""
        if leg.trial not in self.record.trials:
            point = self.starts[leg.trial] if leg.trial < len(self.starts) else self._sample(leg.trial)
            settled = self.space.at(point) if point else Settled({}, (), {})
            same = (each.run for each in self.record.trials.values() if each.values == settled.values)
            run = next(same, f"trial-{leg.trial:04d}")
            self.record.add_trial(Trial(leg.trial, settled.point, settled.values, run))
        trial = self.record.trials[leg.trial]
        run_directory = self.record.run_of(leg.trial)
        if run_directory.exists():
            return None
        try:
            settled = self.space.at(trial.point) if trial.point else Settled({}, (), {})
            settle_plan(run_directory, self.plan(settled))
        except ConfigError as error:
            return EndedLeg(leg.trial, leg.until, "failed", why=str(error))
        return None

    def _sample(self, number: int) -> Coordinates:
        point = self.searcher.sample(self.state(), number)
        try:
            self.space.at(point)
        except (KeyError, IndexError) as error:
            raise BurnishError(
                f"tune.searcher: {type(self.searcher).__name__} gave trial {number} the point {dict(point)}, which is "
                f"none of this space ({error}); a point has 0 to 1 for a range, the number of the option for a choice"
            ) from error
        return point

    def _take(self, ended: EndedLeg | None, *, at: float) -> None:
        if ended is None:
            return  # it was asked to stop, and is taken up by the next attempt
        run = self.record.run_of(ended.trial)
        refusal = self._refuse_other_data(ended)
        if refusal is not None:
            self._failure = refusal
            return  # neither a score nor a failure of this study: the trial is trained again when the files are back
        settled = self.goal.settle(run)
        if settled is not None:
            self.record.score_name, self.record.is_lower_better = settled
        others = [leg.trial for leg, _ in self._running.values()]
        self.record.add_end(replace(ended, at=round(at, 3)), others=others)
        self.record.write_table()
        self.tell(ended)
        failed = [end for end in self.record.ends if end.state == "failed"]
        if len(failed) > self.limits.max_failed:
            self._failure = TooManyFailed(
                f"{len(failed)} trials failed, and tune.max_failed_trials is {self.limits.max_failed}; the last one, "
                f"{self.record.directory / self.record.trials[ended.trial].run}: {ended.why}"
            )

    def _refuse_other_data(self, ended: EndedLeg) -> BurnishError | None:
        """Refuse the end of a trial whose data is not that of the study, and make room for it to be trained again."""
        run = self.record.run_of(ended.trial)
        changes = self.data.compare(self.record.trials[ended.trial])
        if changes:
            with unclaimed(run):
                moved = move_aside(run)
            changes.append(f"{run.path} was trained on that, and is in {moved} now")
            return self.data.refusal(changes)
        if ended.state != "failed":
            return None
        try:
            self.data.refuse_edited()  # a trial that goes on from a checkpoint is refused by its own worker
        except BurnishError as error:
            run.exit.unlink(missing_ok=True)
            return error
        return None

    def _should_stop(self, number: int, scores: Sequence[float]) -> bool:
        state = self.state()
        curves: Mapping[int, Sequence[float]] = {**state.curves, number: [*map(self.record.loss, scores)]}
        return self.searcher.should_stop(replace(state, curves=curves), number)

    def _is_late(self, seconds: float) -> bool:
        """Time is up, and there is something to show for it."""
        minutes = self.limits.minutes
        return minutes is not None and seconds >= minutes * 60 and self.record.best is not None

    def _ask_to_stop(self) -> None:
        self.stopping.set()
        for leg, _ in self._running.values():
            run = self.record.run_of(leg.trial)
            # A worker that has just begun removes the file, so it is asked again each time.
            if run.read_lock() is not None:
                with suppress(OSError):
                    run.stop_file.touch()

    def _busy_runs(self) -> set[str]:
        return {self.record.trials[leg.trial].run for leg, _ in self._running.values()}

    def _busy_slots(self) -> set[int]:
        return {slot for _, slot in self._running.values()}

    def _cores(self, slot: int) -> list[int]:
        """The cores of one of several trials at once; all where there are too few to divide."""
        own = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        return share_of(own, rank=slot, size=self.limits.parallel) if len(own) >= self.limits.parallel > 1 else []


def _choose_starter(environment: Mapping[str, str], model: str, stopping: Flag) -> AbstractContextManager[LegStarter]:
    """Let the cluster that this study runs on train its trials, or else this machine."""
    if ARRAY in environment:
        from burnish.tuning.array_trials import ArrayTrialStarter

        return ArrayTrialStarter(environment[ARRAY], TrialStarter(model), stopping)
    if STUDY not in environment:
        return TrialStarter(model)
    from burnish.tuning.ray_trials import RayTrialStarter

    return RayTrialStarter(environment[STUDY])
