"""Trains: finds where to start, restores, fits, saves, and goes back to a checkpoint after a bad step."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from burnish.data.batching.batches import BatchStream
from burnish.engine.device_torch import prepare as prepare_device
from burnish.engine.device_torch import slow_precision
from burnish.engine.evaluate import Fitting
from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.learner_torch import Learner, drops
from burnish.engine.loop import fit
from burnish.engine.memory_torch import Memory
from burnish.engine.profile_torch import ProfiledSteps
from burnish.engine.recovery import BadStep
from burnish.engine.snapshot_torch import Checkpointable, read_learner, snapshot
from burnish.engine.state import Steppable, TrainState, refusing_misfit
from burnish.engine.stop import Stopper
from burnish.run.build import build_feed, build_learner, build_milestones, build_stream, facts_of
from burnish.run.context import RunContext
from burnish.run.environment_torch import environment
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.inputs import TrainedOn, refuse_changed_plan, trained_on, write_inputs
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.ranks import checkpoint_to_go_back_to, moment_of, newest_checkpoint
from burnish.run.record.events_file import EventsFile
from burnish.run.record.provenance import provenance
from burnish.run.recover import RecoveryLog, recover
from burnish.run.saving import CheckpointContent, Saver
from burnish.spec.events import Ended, Saved, Started
from burnish.spec.experiment import Experiment
from burnish.spec.noise import BY_EXAMPLE
from burnish.storage.checkpoints import Checkpoint

_OTHER_NOISE = (
    "the checkpoint was saved by a version of Burnish that drew dropout for processes and not for examples, so from "
    "here on other elements are dropped and this is no exact resume; for one, finish the run with that version"
)


@dataclass(frozen=True)
class Start:
    """Where a run starts: the newest good checkpoint, if there is one, and what its weights were trained on."""

    checkpoint: Checkpoint | None
    trained_on: TrainedOn


@dataclass(frozen=True)
class Trained:
    """A run whose loop is over."""

    run: RunContext
    scorer: Scorer
    learner: Learner | BoostingLearner
    fitting: Fitting
    ended: Ended
    facts: Mapping[str, Any]

    @property
    def experiment(self) -> Experiment:
        """What was trained."""
        return self.scorer.experiment

    @property
    def prepared(self) -> PreparedData:
        """What it was trained on."""
        return self.scorer.prepared


def find_start(run: RunContext, *, is_changed_data_accepted: bool = False) -> Start:
    """Set up the device and find the newest good checkpoint; refuse a plan that was edited since it was saved."""
    if slow := slow_precision(prepare_device(run.experiment.settled_runtime)):
        run.sinks.note(slow)
    with refusing_misfit(run.directory.checkpoints):
        checkpoint = newest_checkpoint(run.store, run.world)
        if checkpoint is not None:
            refuse_changed_plan(checkpoint, run.directory, run.experiment, is_data_accepted=is_changed_data_accepted)
        known = trained_on(checkpoint, run.directory, is_accepted=is_changed_data_accepted, tell=run.sinks.note)
    return Start(checkpoint, known)


def train(run: RunContext, prepared: PreparedData, checkpoint: Checkpoint | None) -> Trained:
    """Train from a checkpoint, or from the start, until the plan is done or someone asks to stop."""
    policy = run.experiment.train
    scorer = Scorer(run.experiment, prepared, run.world)
    ledger = RecoveryLog(run.directory.repairs, run.is_first)
    ledger.load(moment_of(checkpoint).repairs if checkpoint else None)
    stopper = Stopper(run.world, run.request, run.directory.stop_file, max_minutes=policy.max_minutes)
    with Saver(run.store, run.space, policy.keep, run.directory.events, run.sinks.emit) as saver:
        while True:
            try:
                return _Attempt(run, scorer, ledger, saver, stopper).train(checkpoint)
            except BadStep as bad:
                saver.finish()
                checkpoint = checkpoint_to_go_back_to(run.store, run.world)
                step = checkpoint.step if checkpoint else 0
                run.sinks.note(recover(bad, ledger, policy, rows=prepared.rows["train"], restored_step=step))


@dataclass(frozen=True)
class _Attempt:
    """One try: everything but the log of recoveries is built again."""

    run: RunContext
    scorer: Scorer
    ledger: RecoveryLog
    saver: Saver
    stopper: Stopper

    def train(self, checkpoint: Checkpoint | None) -> Trained:
        run, scorer, saver = self.run, self.scorer, self.saver
        learner = build_learner(run.experiment, scorer.prepared, run.world, memory=self._memory(of_scoring=False))
        stream = build_stream(run.experiment, scorer.prepared, run.world)
        state = _restore(run, checkpoint, learner, stream)
        milestones = build_milestones(scorer, stream)
        memory = self._memory(of_scoring=True)
        feed = build_feed(scorer, learner, stream=stream, repairs=self.ledger.repairs)
        steps = self._profiled(feed)

        def evaluate() -> Mapping[str, float]:
            with learner.averaged():
                fitting = partial(memory.answer, step=state.position.step)
                return scorer.scores("validation", learner.infer, fitting=fitting)

        def save(state: TrainState) -> None:
            if run.is_first:
                self._save(state, learner, cursor=feed.cursor())

        surroundings = {"environment": environment(run.experiment.settled_runtime), "provenance": provenance()}
        facts = {**facts_of(scorer, learner, stream), "select": milestones.select, **surroundings}
        run.sinks.emit(Started(state.position.step, run.sinks.attempt, milestones.total_steps, facts))
        ended = Ended(state.position.step, "finished")
        with closing(feed):
            for event in fit(state, steps, milestones, evaluate=evaluate, save=save, should_stop=self.stopper.reason):
                # A run has ended when its last checkpoint exists, and not before.
                (saver.finish if isinstance(event, Ended) else saver.tell)()
                run.sinks.emit(event)
                ended = event if isinstance(event, Ended) else ended
        run.world.barrier()  # or another process could look for the best checkpoint while process 0 still writes it
        return Trained(run, scorer, learner, partial(memory.answer, step=ended.step), ended, facts)

    def _profiled(self, feed: Steppable) -> Steppable:
        asked, run = self.run.experiment.runtime.profile, self.run
        if asked is None or not run.is_first:
            return feed
        return ProfiledSteps(feed, run.directory.path / "profile", num_steps=int(asked.amount))

    def _save(self, state: TrainState, learner: Checkpointable, *, cursor: Mapping[str, int]) -> None:
        self.saver.finish()  # before the copy is made, so that memory never holds two of them
        copy, prepared = snapshot(learner), self.scorer.prepared
        repairs = self.ledger.repairs.to_json()
        values = {"train": state.to_json(), "cursor": cursor, "repairs": repairs, "noise": BY_EXAMPLE}

        def write(folder: Path) -> None:
            copy.write(folder)
            write_inputs(folder, experiment=self.run.experiment, profile=prepared.profile, digests=prepared.digests)

        self.saver.begin(CheckpointContent(state.position.step, values, write, copy.num_bytes, state.best_step))
        if not copy.is_copy:
            self.saver.finish()

    def _memory(self, *, of_scoring: bool) -> Memory:
        ledger, note = self.ledger, self.run.sinks.note

        def record(step: int, size: int) -> None:
            if of_scoring:
                ledger.record(ledger.repairs.with_split_evaluation(step, size))
                note(f"memory ran out in scoring; batches of {size:,} tokens are cut in two from here on", step=step)
            else:
                ledger.record(ledger.repairs.with_split(step, size))
                note(f"memory ran out in step {step + 1}; micro-batches of {size:,} tokens are cut in two", step=step)

        splits = ledger.repairs.split_evaluations if of_scoring else ledger.repairs.split
        return Memory(splits, record, self.run.world)


def _restore(
    run: RunContext, checkpoint: Checkpoint | None, learner: Checkpointable, stream: BatchStream
) -> TrainState:
    step = checkpoint.step if checkpoint else 0
    lost = EventsFile(run.directory.events).count_lost_seconds(step) if run.is_first else 0.0
    told_lost = f"; {lost:.1f} s of work were lost" if lost else ""
    run.sinks.file.rewind(step)
    if checkpoint is None:
        if lost:
            run.sinks.note(f"starting from the beginning again{told_lost}")
        return TrainState()
    read_learner(learner, checkpoint.path)
    moment = moment_of(checkpoint)
    stream.cursor = {"epoch": moment.cursor.epoch, "batch": moment.cursor.batch}
    told = EventsFile(run.directory.events).last(Saved)
    if told is None or told.event.step != checkpoint.step:
        # The last attempt was killed when the checkpoint existed and nobody had been told yet.
        run.sinks.emit(Saved(checkpoint.step, str(checkpoint.path)))
    run.sinks.note(f"continuing from step {checkpoint.step}{told_lost}", step=checkpoint.step)
    if moment.noise != BY_EXAMPLE and drops(learner.network):
        run.sinks.note(_OTHER_NOISE, step=checkpoint.step)
    return moment.train
