"""Foresees a run by a few of its steps: prepares the data as training would, and times batches of every length."""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from burnish.artifact.predictor import views
from burnish.data.batching.batches import BatchStream, count_padded_tokens, evaluation_plan, evaluation_size, spread
from burnish.dist.world import Solo
from burnish.engine.device_torch import prepare as prepare_device
from burnish.engine.device_torch import slow_precision
from burnish.engine.evaluate import plainly
from burnish.engine.feed import micro_batches, total_steps
from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.learner_torch import Learner
from burnish.engine.snapshot_torch import snapshot
from burnish.engine.stop import StopRequest
from burnish.run.attempt import Trained
from burnish.run.build import build_learner, build_stream, facts_of, policy_of
from burnish.run.context import RunContext
from burnish.run.environment_torch import environment
from burnish.run.machine import disk_free, memory_limit, peak_memory
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepare import prepare
from burnish.run.preparation.prepared_data import PreparedData, PreparedTask
from burnish.run.record.directory import RunDirectory
from burnish.run.sinks import silent
from burnish.spec.events import Ended
from burnish.spec.experiment import Experiment
from burnish.spec.forecast import Footprint, Forecast, Timing
from burnish.spec.interval import Interval
from burnish.spec.parts import divide_tasks
from burnish.spec.values import RandomKey

_STEPS = 16
_EVALUATIONS = 8
_BUDGET_SECONDS = 60.0
"""A very slow step is not taken so often."""
_ROUNDS = 4
_REPEAT_SECONDS = 15.0
"""After this long, nothing is timed again."""
_MOST_ROWS, _MOST_SECONDS = 20_000, 20.0
"""With more training rows, or longer passes over the other splits, the end of a run is not done to time it."""


Finish = Callable[[Trained], object]
"""Does what follows the last step of a run."""


def forecast(
    experiment: Experiment,
    directory: RunDirectory,
    *,
    place: Path,
    tell: Callable[[str], None],
    finish: Finish | None = None,
    imported: float = 0.0,
    now: Callable[[], float] = time.perf_counter,
) -> Forecast:
    """Prepare, take steps of every size, and say what the whole will come to; `place` is where it would run.

    With `finish`, the end of the run is done as well to time it, unless there are too many rows to wait for it.
    `imported` is how many seconds the process took until here.
    """
    prepared, prepare_seconds = _prepare(experiment, directory, tell=tell, now=now)
    scorer = Scorer(experiment, prepared)
    scorer.selection()  # refuses, before anything slow, what training would
    built = now()
    learner = build_learner(experiment, prepared, Solo())
    start_seconds = imported + prepare_seconds + now() - built
    tell("timing a few steps")
    rehearsal = Rehearsal(experiment, prepared, learner)
    step_seconds = rehearsal.step_seconds()
    passes = {split: rehearsal.pass_seconds(split) for split in prepared.features if split != "train"}
    stream = build_stream(experiment, prepared, Solo())
    facts, footprint = facts_of(scorer, learner, stream), _footprint(experiment, learner, place)
    finish_seconds, num_rows = None, len(prepared.features["train"])
    if finish is not None and num_rows <= _MOST_ROWS and sum(passes.values()) <= _MOST_SECONDS:
        tell("timing final scores, baselines and artifact")
        ended = now()
        finish(_trained(rehearsal, scorer, facts, directory=directory))
        finish_seconds = now() - ended
    timing = Timing(step_seconds, passes, start_seconds, finish_seconds)
    steps, evaluations = _counts(experiment, stream, num_rows, step_seconds)
    tokens, seconds = (
        int(prepared.features["train"]["length"].to_numpy().sum()),
        timing.total_seconds(steps, evaluations),
    )
    return Forecast(facts, tokens, steps, evaluations, timing, footprint, seconds)


def _prepare(
    experiment: Experiment, directory: RunDirectory, *, tell: Callable[[str], None], now: Callable[[], float]
) -> tuple[PreparedData, float]:
    """Prepare the data and time it, as the run will find it: what was encoded here is cached then."""
    told: list[str] = []

    def hear(sentence: str) -> None:
        told.append(sentence)
        tell(sentence)

    if slow := slow_precision(prepare_device(experiment.settled_runtime)):
        tell(slow)
    began = now()
    prepared = prepare(experiment, directory, tell=hear)
    if any(sentence.startswith("encoding") for sentence in told):
        began = now()
        prepared = prepare(experiment, directory)
    return prepared, now() - began


def _trained(
    rehearsal: "Rehearsal", scorer: Scorer, facts: Mapping[str, object], *, directory: RunDirectory
) -> Trained:
    experiment = rehearsal.experiment
    known = {**facts, "environment": environment(experiment.settled_runtime)}
    run = RunContext(directory, experiment, silent(), StopRequest())
    return Trained(run, scorer, rehearsal.learner, plainly, Ended(0, "finished"), known)


@dataclass(frozen=True)
class Rehearsal:
    """A learner that takes a few steps which nobody keeps."""

    experiment: Experiment
    prepared: PreparedData
    learner: Learner | BoostingLearner

    def step_seconds(self) -> float:
        """Take steps on batches of every size, the largest first, and give the mean time of one."""
        learner = self.learner
        if isinstance(learner, BoostingLearner):
            learner.advance(0, 1.0)  # reads the rows, once
            rounds = itertools.count(1)
            return typical_seconds(lambda _same: learner.advance(next(rounds), 1.0), [0] * _STEPS)
        lengths = self.prepared.features["train"]["length"].to_numpy()
        runtime, policy = self.experiment.runtime, self.experiment.train
        plan = build_stream(self.experiment, self.prepared, Solo()).plan(0)
        sizes = count_padded_tokens(plan, lengths)
        draw = RandomKey(seed=runtime.seed, epoch=0, is_training=True)

        def take(which: int) -> None:
            batches = micro_batches(
                plan[which], draw, collate=self.prepared.collate("train"), accumulate=policy.accumulate
            )
            learner.step(batches, step=0, factor=0.0)

        take(int(np.argmax(sizes)))  # memory peaks here; and the first step of all is never typical
        return typical_seconds(take, spread(sizes, _STEPS))

    def pass_seconds(self, split: str) -> float:
        """Predict batches of every size, and give the time of a whole pass over the split, task by task."""
        parts = divide_tasks(self.experiment)
        there = [name for name, part in self.prepared.parts.items() if split in part.features]
        return sum(self._part_seconds(parts[name], self.prepared.parts[name], split) for name in there)

    def _part_seconds(self, experiment: Experiment, prepared: PreparedTask, split: str) -> float:
        lengths = prepared.features[split]["length"].to_numpy()
        plan = evaluation_plan(lengths, examples=evaluation_size(lengths))
        draws = views(experiment)
        sizes = count_padded_tokens(plan, lengths)

        def take(which: int) -> None:
            self.learner.infer(prepared.collate(split)(plan[which], draws[0]))

        return typical_seconds(take, spread(sizes, _EVALUATIONS)) * len(plan) * len(draws)


def typical_seconds(
    take: Callable[[int], object], chosen: Iterable[int], *, now: Callable[[], float] = time.perf_counter
) -> float:
    """Time each place several times, and give the mean over all places of the quicker half of each.

    What else the machine does only ever adds to a time, so the quicker half tells more of the work itself.
    """
    # Alternating between small and large keeps the mean fair when time runs out before all are taken.
    places = list(chosen)
    mixed = [places[turn] for turn in np.random.default_rng(0).permutation(len(places))]
    taken: dict[int, list[float]] = {}
    start = now()
    for number, place in enumerate(mixed * _ROUNDS):
        if number and now() - start > (_BUDGET_SECONDS if number < len(mixed) else _REPEAT_SECONDS):
            break
        began = now()
        take(place)
        taken.setdefault(place, []).append(now() - began)
    return float(np.mean([_quicker_half(taken[place]) for place in mixed if place in taken]))


def _quicker_half(seconds: list[float]) -> float:
    return float(np.mean(sorted(seconds)[: (len(seconds) + 1) // 2]))


def _counts(experiment: Experiment, stream: BatchStream, num_examples: int, step_seconds: float) -> tuple[int, int]:
    """Count steps and evaluations; what is measured by the clock follows from the speed."""
    policy = policy_of(experiment, num_rows=num_examples)
    length, every = policy.length_for(stream.batches_in(0)), policy.evaluate_every
    steps = total_steps(length, stream, num_examples=num_examples)
    if steps is None:
        steps = max(1, round(length.amount * 60 / step_seconds))
    if every.unit == "never":
        return steps, 1
    between = _steps_of(every, stream, num_examples=num_examples, step_seconds=step_seconds)
    return steps, max(1, math.ceil(steps / between - 1e-6))


def _steps_of(every: Interval, stream: BatchStream, *, num_examples: int, step_seconds: float) -> float:
    epochs = {"epochs": every.amount, "examples": every.amount / num_examples}
    if every.unit in epochs:
        return max(1.0, epochs[every.unit] * stream.batches_in(0))
    return every.amount if every.unit == "steps" else max(1.0, every.amount * 60 / step_seconds)


def _footprint(experiment: Experiment, learner: Learner | BoostingLearner, place: Path) -> Footprint:
    peak = peak_memory()
    held = snapshot(learner).num_bytes
    weights = sum(tensor.nbytes for tensor in learner.network.state_dict().values())
    kept = experiment.train.keep.last + 2  # the best one, and the one that is being written
    return Footprint(
        memory_bytes=peak + held,  # training goes on while a copy is written
        memory_limit=memory_limit(),
        checkpoint_bytes=held,
        disk_bytes=kept * held + weights,
        disk_free=disk_free(place),
    )
