"""Trains one leg of a trial, and tells from the files of its run how it ended, whoever was killed on the way."""

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event as Flag
from typing import Protocol

from burnish.run.record.directory import RunDirectory, read_json
from burnish.run.record.ending import COMPLETE
from burnish.run.record.events_file import from_dict
from burnish.run.record.lock import Held, unclaimed
from burnish.run.worker import AS_TRIAL, UNTIL
from burnish.spec.events import Evaluated, Event
from burnish.spec.search import Leg
from burnish.tuning.goal import Goal
from burnish.tuning.record import EndedLeg

_MOST_DEATHS = 3
"""How often a trial may die without a word at the same place, as it does when the system kills it for its memory."""
_LOOK_SECONDS = 0.1
_MOST_WAIT_SECONDS = 600.0


class LegStarter(Protocol):
    """Starts trials, on this machine or elsewhere."""

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        """Start a worker on a planned run, and give each line it prints until it has ended."""
        ...


@dataclass(frozen=True)
class LegRunner:
    """Trains legs, each in a thread of its own."""

    starter: LegStarter
    goal: Goal
    should_stop: Callable[[int, Sequence[float]], bool]
    """Asked with a trial and its scores so far."""
    passed: dict[int, int] = field(default_factory=dict)
    """By trial, after how many evaluations it was trained on: what others come to later does not change that."""
    watch: Callable[[int, Event], None] = lambda number, event: None
    stopping: Flag = field(default_factory=Flag)
    """Set when the study is asked to stop: what is unfinished stays so, and is taken up by the next attempt."""

    def train(self, leg: Leg, run: RunDirectory, *, cores: Sequence[int]) -> EndedLeg | None:
        """Train a leg to its end, over deaths of its worker; None if the study was asked to stop before."""
        deaths, died_at = 0, -1
        while True:
            self._wait_until_free(run)  # what an attempt before left behind may still be saving
            ended = self._judge(leg, run)
            if ended is not None or self.stopping.is_set():
                return ended
            with suppress(Held), unclaimed(run):
                run.exit.unlink(missing_ok=True)  # or a worker that dies early would seem to end as the leg before did
            self._work(leg, run, cores=cores)
            if read_json(run.exit) is None:
                step = _newest_step(run)
                deaths, died_at = (deaths + 1 if step == died_at else 1), step
                if deaths > _MOST_DEATHS:
                    return _failed(leg, "it died without a word again and again, as when memory runs out")
            elif self._judge(leg, run) is None and not self.stopping.is_set():
                return self._stopped_by_others(leg, run)

    def _work(self, leg: Leg, run: RunDirectory, *, cores: Sequence[int]) -> None:
        options = [AS_TRIAL, *([] if leg.until is None else [f"{UNTIL}{leg.until}"])]
        log = Path(f"{run.path}.log")
        for line in self.starter.start(run.path, options, cores=cores, log=log):
            try:
                event = from_dict(json.loads(line))
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # an error, which exit.json tells too, or a library's own words
            if event is None:
                continue
            self.watch(leg.trial, event)
            if isinstance(event, Evaluated) and self._first_stop(leg, self.goal.curve(run)) is not None:
                run.stop_file.touch()
        if log.exists() and log.stat().st_size == 0:
            log.unlink()

    def _judge(self, leg: Leg, run: RunDirectory) -> EndedLeg | None:
        """Tell from the files alone whether a leg is over."""
        curve = self.goal.curve(run)
        last = self._first_stop(leg, curve)
        if last is not None:
            return _scored(leg, curve[:last], "pruned")
        if leg.until is not None and len(curve) >= leg.until:
            return _scored(leg, curve[: leg.until], "paused")
        ending = read_json(run.exit)
        reason = ending.get("reason") if isinstance(ending, dict) else None
        if reason == "failed" and isinstance(ending, dict):
            return replace(_failed(leg, str(ending.get("message", ""))), curve=_finite(curve))
        if reason not in COMPLETE:
            return None
        score, test = self.goal.final(run), self.goal.final(run, split="test")
        if score is None or not math.isfinite(score.value):
            return replace(_failed(leg, f"{self.goal.name} is no finite number"), curve=_finite(curve))
        held_out = None if test is None or not math.isfinite(test.value) else test.value
        return EndedLeg(
            *leg, "finished", score.value, low=score.low, high=score.high, test=held_out, curve=_finite(curve)
        )

    def _first_stop(self, leg: Leg, curve: Sequence[float]) -> int | None:
        """Find the evaluation after which the trial is given up: the same, however late anybody asks."""
        for at in range(self.passed.get(leg.trial, 0) + 1, len(curve) + 1):
            if self.should_stop(leg.trial, curve[:at]):
                return at
            self.passed[leg.trial] = at
        return None

    def _stopped_by_others(self, leg: Leg, run: RunDirectory) -> EndedLeg:
        """Take a trial as it is that somebody stopped, or its own deadline."""
        curve = self.goal.curve(run)
        return _scored(leg, curve, "pruned") if curve else _failed(leg, "it was stopped before it was evaluated")

    def _wait_until_free(self, run: RunDirectory) -> None:
        for _ in range(int(_MOST_WAIT_SECONDS / _LOOK_SECONDS)):
            if run.status() != "running" or self.stopping.is_set():
                return
            time.sleep(_LOOK_SECONDS)


def _scored(leg: Leg, curve: Sequence[float], state: str) -> EndedLeg:
    score = curve[-1]
    if not math.isfinite(score):
        return replace(_failed(leg, "its score is no finite number"), curve=_finite(curve))
    return EndedLeg(*leg, state, score, curve=_finite(curve))  # type: ignore[arg-type]  # paused or pruned


def _failed(leg: Leg, why: str) -> EndedLeg:
    return EndedLeg(*leg, "failed", why=why)


def _finite(curve: Sequence[float]) -> tuple[float, ...]:
    """Cut a curve where it is no longer a number, which JSON has no word for."""
    end = next((at for at, score in enumerate(curve) if not math.isfinite(score)), len(curve))
    return tuple(curve[:end])


def _newest_step(run: RunDirectory) -> int:
    names = [path.name for path in run.checkpoints.glob("step-*")] if run.checkpoints.is_dir() else []
    return max((int(name.removeprefix("step-")) for name in names if name[5:].isdigit()), default=0)
