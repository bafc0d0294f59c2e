"""Puts data, model and engine together and trains: the only file that knows everybody."""

import math
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from burnish.data.batching.batches import BatchStream
from burnish.data.batching.mixture import Mixed
from burnish.dist.world import World
from burnish.engine.device_torch import prepare as prepare_device
from burnish.engine.device_torch import slow_precision
from burnish.engine.evaluate import Fitting
from burnish.engine.feed import BatchFeeder, Trainable, total_steps
from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.learner_torch import Learner
from burnish.engine.loop import fit
from burnish.engine.memory_torch import Memory
from burnish.engine.pace import Milestones
from burnish.engine.recovery import NO_REPAIRS, Adjustments, BadStep
from burnish.engine.snapshot_torch import Checkpointable, read_learner, read_weights, snapshot
from burnish.engine.state import TrainState, refusing_misfit
from burnish.engine.stop import Stopper, StopRequest
from burnish.run.environment_torch import environment
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.inputs import refuse_changed_plan, trained_on, write_inputs
from burnish.run.preparation.material import PreparedData
from burnish.run.ranks import (
    checkpoint_to_go_back_to,
    moment_of,
    newest_checkpoint,
    prepare_in_turn,
    refuse_processes,
)
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.provenance import provenance
from burnish.run.recover import RecoveryLog, recover
from burnish.run.saving import CheckpointContent, Saver, room_of
from burnish.run.seeding_torch import seed_everything
from burnish.run.sinks import EventDispatcher
from burnish.spec.events import Ended, Saved, Started
from burnish.spec.experiment import Batching, Experiment, TrainPolicy
from burnish.spec.interval import Interval
from burnish.spec.parts import ALONE
from burnish.spec.protocols import ChoosesBatch, ChoosesRate, CountsLabels, Expects, Growing, Joint
from burnish.storage.checkpoints import Checkpoint, CheckpointStore

_RATE_OF_TABLES, _RATE_OF_TEXTS = 2e-3, 2e-5


@dataclass(frozen=True)
class Trained:
    """A run whose loop is over."""

    experiment: Experiment
    prepared: PreparedData
    scorer: Scorer
    learner: Learner | BoostingLearner
    fitting: Fitting
    ended: Ended
    headline: str
    facts: Mapping[str, Any]


def train(
    directory: RunDirectory,
    experiment: Experiment,
    *,
    world: World,
    sinks: EventDispatcher,
    request: StopRequest,
    is_changed_data_accepted: bool = False,
) -> Trained:
    """Train from the newest good checkpoint, or from the start, until the pace is done or someone asks to stop."""
    if slow := slow_precision(prepare_device(experiment.settled_runtime)):
        sinks.note(slow)
    store = CheckpointStore(directory.checkpoints, directory.quarantine, tell=sinks.note)
    with refusing_misfit(directory.checkpoints):
        checkpoint = newest_checkpoint(store, world)
        if checkpoint is not None:
            refuse_changed_plan(checkpoint, directory, experiment, is_data_accepted=is_changed_data_accepted)
        known = trained_on(checkpoint, directory, is_accepted=is_changed_data_accepted, tell=sinks.note)
    prepared = prepare_in_turn(experiment, directory, world=world, tell=sinks.note, trained_on=known)
    scorer = Scorer(experiment, prepared, world)
    stopper = Stopper(world, request, directory.stop_file, max_minutes=experiment.train.max_minutes)
    room = room_of(directory, experiment.train, request)
    with Saver(store, room, experiment.train.keep, directory.events, sinks.emit) as saver:
        scene = RunContext(directory, scorer, RecoveryLog(directory.repairs, world.rank == 0), saver, stopper, sinks)
        scene.ledger.load(moment_of(checkpoint).repairs if checkpoint else None)
        while True:
            try:
                return _attempt(scene, checkpoint)
            except BadStep as bad:
                saver.finish()
                checkpoint = checkpoint_to_go_back_to(store, world)
                restored_step = checkpoint.step if checkpoint else 0
                rows = prepared.rows["train"]
                sinks.note(recover(bad, scene.ledger, experiment.train, rows=rows, restored_step=restored_step))


@dataclass(frozen=True)
class RunContext:
    """What stays while a run is put back to a checkpoint and tries again."""

    directory: RunDirectory
    scorer: Scorer
    ledger: RecoveryLog
    saver: Saver
    stopper: Stopper
    sinks: EventDispatcher


def _attempt(scene: RunContext, checkpoint: Checkpoint | None) -> Trained:
    scorer, ledger, saver, sinks = scene.scorer, scene.ledger, scene.saver, scene.sinks
    experiment, prepared, world = scorer.experiment, scorer.prepared, scorer.world
    learner = build_learner(experiment, prepared, world, memory=_memory_of_steps(ledger, sinks, world))
    memory = _memory_of_scoring(ledger, sinks, world)
    stream = build_stream(experiment, prepared, world)
    state = TrainState()
    _restore(checkpoint, state, learner, stream, scene)
    pace = _pace(scorer, stream)
    feed: BatchFeeder | BoostingLearner
    if isinstance(learner, BoostingLearner):
        feed = learner
    else:
        feed = build_feed(scorer, learner, stream=stream, repairs=ledger.repairs)

    inputs = partial(write_inputs, experiment=experiment, profile=prepared.profile, digests=prepared.digests)

    def evaluate() -> Mapping[str, float]:
        with learner.averaged():
            fitting = partial(memory.answer, step=state.position.step)
            return scorer.scores("validation", learner.infer, fitting=fitting)

    def save(state: TrainState) -> None:
        if world.rank == 0:
            values = {"cursor": feed.cursor(), "repairs": ledger.repairs.to_json()}
            _save(saver, state, learner, values=values, write_inputs=inputs)

    told = {"select": pace.select, "environment": environment(experiment.settled_runtime), "provenance": provenance()}
    facts = {**facts_of(scorer, learner, stream), **told}
    sinks.emit(Started(state.position.step, sinks.attempt, pace.total_steps, facts))
    ended = Ended(state.position.step, "finished")
    with closing(feed):
        for event in fit(state, feed, pace, evaluate=evaluate, save=save, should_stop=scene.stopper.reason):
            # A run has ended when its last checkpoint exists, and not before.
            (saver.finish if isinstance(event, Ended) else saver.tell)()
            sinks.emit(event)
            ended = event if isinstance(event, Ended) else ended
    world.barrier()  # or another process could look for the best checkpoint while process 0 still writes it
    fitting = partial(memory.answer, step=ended.step)
    return Trained(experiment, prepared, scorer, learner, fitting, ended, scorer.headline(), facts)


def _pace(scorer: Scorer, stream: BatchStream) -> Milestones:
    experiment = scorer.experiment
    policy = policy_of(experiment)
    length = policy.length_for(stream.batches_in(0))
    select, direction = scorer.selection()
    return Milestones(
        length=length,
        evaluate_every=policy.evaluate_every,
        checkpoint_every=policy.checkpoint_every,
        schedule=experiment.schedule,
        total_steps=total_steps(length, stream, num_examples=len(scorer.prepared.features["train"])),
        select=select,
        direction=direction,
        patience=policy.patience,
    )


def policy_of(experiment: Experiment) -> TrainPolicy:
    """Give how long to train: as the experiment says, or as the model's own options do."""
    model = experiment.model
    return model.policy(experiment.train) if isinstance(model, Growing) else experiment.train


def put_best_in_place(trained: Trained, directory: RunDirectory, *, tell: Callable[[str], None]) -> int:
    """Load the weights of the best checkpoint, the averaged ones if the run keeps an average; give its step."""
    store = CheckpointStore(directory.checkpoints, directory.quarantine, tell=tell)
    best, last = trained.ended.best_step, trained.ended.step
    if best is None:
        return last
    if best not in store.steps():
        # It was damaged, put aside at a start, and no older one was left to make it again from.
        tell(f"the best checkpoint, of step {best}, is lost; the weights of the last step, {last}, are taken instead")
        best = last
    read_weights(trained.learner, store.at(best).path)
    return best


def build_learner(
    experiment: Experiment, prepared: PreparedData, world: World, *, memory: Memory | None = None
) -> Learner | BoostingLearner:
    """Load weights and make the optimizer, seeded so that new weights are the same each time."""
    precision = prepare_device(experiment.settled_runtime)
    seed_everything(experiment.runtime.seed)
    head = experiment.task.head(prepared.profile)
    network = experiment.model.network(head, prepared.assets).to(precision.device)
    alone = prepared.parts.get(ALONE)
    if alone is not None and isinstance(network, Expects) and isinstance(alone.encoder, CountsLabels):
        network.expect(alone.encoder.counts(alone.features["train"]))
    if isinstance(experiment.model, Growing):
        refuse_processes(world)
        rate = experiment.model.learning_rate
        whole = prepared.parts[ALONE]
        return BoostingLearner(network, lambda: whole.batch_of("train"), precision=precision, learning_rate=rate)
    rate, decay = rate_of(experiment, network), experiment.optimizer.weight_decay
    groups = network.parameter_groups(learning_rate=rate, weight_decay=decay)
    return Learner(
        network,
        experiment.optimizer.build(network, groups),
        head,
        precision=precision,
        seed=experiment.runtime.seed,
        clip=experiment.train.clip,
        ema_decay=experiment.train.ema.decay if experiment.train.ema else None,
        world=world,
        memory=memory,
        loss_limit=experiment.train.loss_limit,
    )


def rate_of(experiment: Experiment, network: Any) -> float:
    """Give the learning rate, where `auto` follows from the network."""
    rate = experiment.optimizer.learning_rate
    if rate != "auto":
        return rate
    if isinstance(network, ChoosesRate):
        return network.usual_rate
    # A network of the user's own that names no rate: as for our networks on tables, or for a large transformer.
    return _RATE_OF_TABLES if "tabular" in experiment.model.heads else _RATE_OF_TEXTS


def build_stream(experiment: Experiment, prepared: PreparedData, world: World) -> BatchStream:
    """Give this process's share of the training batches, from the first one on."""
    lengths, seed = prepared.features["train"]["length"].to_numpy(), experiment.runtime.seed
    mixture = _mixture(experiment, experiment.task, prepared) if isinstance(experiment.task, Joint) else None
    place = {"rank": world.rank, "world": world.size}
    return BatchStream(lengths, _batching(experiment, len(lengths)), seed=seed, mixture=mixture, **place)


def _batching(experiment: Experiment, num_rows: int) -> Batching:
    most = {"most": experiment.model.auto_batch} if isinstance(experiment.model, ChoosesBatch) else {}
    return experiment.train.batch.settled(num_rows, **most)


def _mixture(experiment: Experiment, task: Joint, prepared: PreparedData) -> Mixed:
    lengths = [part.features["train"]["length"].to_numpy() for part in prepared.parts.values()]
    num_examples = sum(map(len, lengths))

    def power(epoch: int) -> float:
        length = policy_of(experiment).length_for(mixed.num_batches)
        return task.power(epoch, num_epochs=_num_epochs(length, mixed.num_batches, num_examples=num_examples))

    mixed = Mixed(lengths, _batching(experiment, num_examples), seed=experiment.runtime.seed, power=power)
    return mixed


def _num_epochs(length: Interval, num_batches: int, *, num_examples: int) -> int:
    """Count the epochs of a training, the last of which may be cut short; by the clock nobody knows."""
    of_one = {"epochs": 1, "steps": num_batches, "examples": num_examples, "minutes": math.inf}[length.unit]
    return max(1, math.ceil(length.amount / of_one - 1e-9))


def build_feed(
    scorer: Scorer, learner: Trainable, *, stream: BatchStream, repairs: Adjustments = NO_REPAIRS
) -> BatchFeeder:
    """Feed what learns from a stream of the training rows."""
    experiment, prepared = scorer.experiment, scorer.prepared
    return BatchFeeder(
        learner,
        stream,
        prepared.collate("train"),
        accumulate=experiment.train.accumulate,
        seed=experiment.runtime.seed,
        world=scorer.world,
        repairs=repairs,
    )


def _restore(
    checkpoint: Checkpoint | None, state: TrainState, learner: Checkpointable, stream: BatchStream, scene: RunContext
) -> None:
    sinks = scene.sinks
    sinks.file.rewind(checkpoint.step if checkpoint else 0)
    if checkpoint is None:
        return
    read_learner(learner, checkpoint.path)
    moment = moment_of(checkpoint)
    stream.cursor = {"epoch": moment.cursor.epoch, "batch": moment.cursor.batch}
    vars(state).update(vars(moment.train))
    told = EventsFile(scene.directory.events).last(Saved)
    if told is None or told.event.step != checkpoint.step:
        # The last attempt was killed when the checkpoint existed and nobody had been told yet.
        sinks.emit(Saved(checkpoint.step, str(checkpoint.path)))
    sinks.note(f"continuing from step {checkpoint.step}", step=checkpoint.step)


def _save(
    saver: Saver,
    state: TrainState,
    learner: Checkpointable,
    *,
    values: Mapping[str, Any],
    write_inputs: Callable[[Path], None],
) -> None:
    saver.finish()  # before the copy is made, so that memory never holds two of them
    copy = snapshot(learner)
    values = {"train": state.to_json(), **values}

    def write(folder: Path) -> None:
        copy.write(folder)
        write_inputs(folder)

    saver.begin(CheckpointContent(state.position.step, values, write, copy.num_bytes, state.best_step))
    if not copy.is_copy:
        saver.finish()


def _memory_of_steps(ledger: RecoveryLog, sinks: EventDispatcher, world: World) -> Memory:
    def record(step: int, size: int) -> None:
        ledger.record(ledger.repairs.with_split(step, size))
        sinks.note(f"memory ran out in step {step + 1}; micro-batches of {size:,} tokens are cut in two", step=step)

    return Memory(ledger.repairs.split, record, world)


def _memory_of_scoring(ledger: RecoveryLog, sinks: EventDispatcher, world: World) -> Memory:
    def record(step: int, size: int) -> None:
        ledger.record(ledger.repairs.with_split_evaluation(step, size))
        sinks.note(f"memory ran out in scoring; batches of {size:,} tokens are cut in two from here on", step=step)

    return Memory(ledger.repairs.split_evaluations, record, world)


def facts_of(scorer: Scorer, learner: Learner | BoostingLearner, stream: BatchStream) -> dict[str, Any]:
    """Tell the sizes of a run: rows, parameters, batches, padding if there is any; of trees only the rows are known."""
    prepared, world = scorer.prepared, scorer.world
    if isinstance(learner, BoostingLearner):
        return dict(prepared.facts)
    parameters = sum(parameter.numel() for parameter in learner.network.parameters())
    trained = sum(parameter.numel() for parameter in learner.network.parameters() if parameter.requires_grad)
    padding = stream.padding_waste(0)
    return {
        **prepared.facts,
        **({"processes": world.size} if world.size > 1 else {}),
        "parameters": parameters,
        **({"trained_parameters": trained} if trained != parameters else {}),
        "batches_per_epoch": stream.batches_in(0),
        **_chosen(scorer, learner, epoch_steps=stream.batches_in(0)),
        **({"padding": padding} if padding else {}),
    }


def _chosen(scorer: Scorer, learner: Learner, *, epoch_steps: int) -> dict[str, Any]:
    """Tell what was taken for `auto`."""
    experiment, policy = scorer.experiment, scorer.experiment.train
    found = {
        "learning_rate": (experiment.optimizer.learning_rate, rate_of(experiment, learner.network)),
        "length": (policy.length, str(policy.length_for(epoch_steps))),
        "batch": (policy.batch.examples, _batching(experiment, len(scorer.prepared.features["train"])).examples),
    }
    return {name: taken for name, (stated, taken) in found.items() if stated == "auto"}
