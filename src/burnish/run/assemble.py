"""Puts data, model and engine together and trains: the only file that knows everybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from burnish.data.batches import BatchStream
from burnish.dist.world import Solo, World
from burnish.engine.device_torch import prepare as prepare_device
from burnish.engine.feed import Feed, total_steps
from burnish.engine.learner_torch import Learner
from burnish.engine.loop import fit
from burnish.engine.pace import Pace
from burnish.engine.position import Position, is_due
from burnish.engine.snapshot_torch import read_learner, read_weights, write_learner
from burnish.engine.state import TrainState
from burnish.engine.stop import Stopper, StopRequest
from burnish.metrics.tally import rehearse
from burnish.run.directory import RunDirectory
from burnish.run.environment_torch import environment
from burnish.run.prepare import Prepared, prepare
from burnish.run.scoring import Scorer, selection
from burnish.run.seeding_torch import seed_everything
from burnish.run.sinks import Sinks
from burnish.spec.events import Ended, Saved, Started
from burnish.spec.experiment import Experiment
from burnish.storage.checkpoints import CheckpointStore


@dataclass(frozen=True)
class Trained:
    """A run whose loop is over."""

    experiment: Experiment
    prepared: Prepared
    scorer: Scorer
    learner: Learner
    ended: Ended
    headline: str
    facts: Mapping[str, Any]


def train(directory: RunDirectory, experiment: Experiment, *, sinks: Sinks, request: StopRequest) -> Trained:
    """Train from the newest good checkpoint, or from the start, until the pace is done or someone asks to stop."""
    world: World = Solo()
    prepared = prepare(experiment, directory, tell=sinks.note)
    scorer = Scorer(experiment, prepared)
    rehearse(scorer.metrics, kind=prepared.profile.kind, labels=prepared.profile.labels)
    headline, direction = selection(experiment, scorer.metrics)
    learner = build_learner(experiment, prepared, world)
    stream = _stream(experiment, prepared, world)
    state = TrainState()
    store = CheckpointStore(directory.checkpoints, directory.quarantine, tell=sinks.note)
    _restore(store, state, learner, stream, sinks)
    feed = Feed(
        learner,
        stream,
        lambda indices, draw: prepared.encoder.collate(prepared.features["train"], indices, draw),
        accumulate=experiment.train.accumulate,
        seed=experiment.runtime.seed,
    )
    policy = experiment.train
    pace = Pace(
        length=policy.length,
        evaluate_every=policy.evaluate_every,
        checkpoint_every=policy.checkpoint_every,
        schedule=experiment.schedule,
        total_steps=total_steps(policy.length, stream, num_examples=len(prepared.features["train"])),
        select=headline,
        direction=direction,
        patience=policy.patience,
    )

    def evaluate() -> Mapping[str, float]:
        with learner.averaged():
            return scorer.scores("validation", learner.infer)

    def save(state: TrainState) -> Saved:
        return _save(store, state, learner, feed, experiment)

    stopper = Stopper(world, request, directory.stop_file, max_minutes=policy.max_minutes)
    facts = {**_facts(prepared, learner, stream), "select": headline, "environment": environment(experiment.runtime)}
    sinks.emit(Started(state.position.step, sinks.attempt, pace.total_steps, facts))
    ended = Ended(state.position.step, "finished")
    for event in fit(state, feed, pace, evaluate=evaluate, save=save, should_stop=stopper.reason):
        sinks.emit(event)
        ended = event if isinstance(event, Ended) else ended
    feed.close()
    return Trained(experiment, prepared, scorer, learner, ended, headline, facts)


def put_best_in_place(trained: Trained, directory: RunDirectory) -> None:
    """Load the weights of the best checkpoint; the averaged ones if the run keeps an average."""
    store = CheckpointStore(directory.checkpoints, directory.quarantine, tell=lambda _sentence: None)
    best = trained.ended.best_step
    if best is not None:
        read_weights(trained.learner, store.at(best).path)


def build_learner(experiment: Experiment, prepared: Prepared, world: World) -> Learner:
    """Load weights and make the optimizer, seeded so that new weights are the same each time."""
    precision = prepare_device(experiment.runtime)
    seed_everything(experiment.runtime.seed)
    head = experiment.task.head(prepared.profile)
    network = experiment.model.network(head, prepared.assets).to(precision.device)
    groups = network.parameter_groups(
        learning_rate=experiment.optimizer.learning_rate, weight_decay=experiment.optimizer.weight_decay
    )
    return Learner(
        network,
        experiment.optimizer.build(network, groups),
        head.objective,
        precision=precision,
        seed=experiment.runtime.seed,
        clip=experiment.train.clip,
        ema_decay=experiment.train.ema.decay if experiment.train.ema else None,
        world=world,
    )


def _stream(experiment: Experiment, prepared: Prepared, world: World) -> BatchStream:
    lengths = prepared.features["train"]["length"].to_numpy()
    return BatchStream(lengths, experiment.train.batch, seed=experiment.runtime.seed, rank=world.rank, world=world.size)


def _restore(store: CheckpointStore, state: TrainState, learner: Learner, stream: BatchStream, sinks: Sinks) -> None:
    checkpoint = store.newest()
    sinks.file.rewind(checkpoint.step if checkpoint else 0)
    if checkpoint is None:
        return
    saved = checkpoint.state()
    read_learner(learner, checkpoint.path)
    stream.cursor = saved["cursor"]
    vars(state).update(vars(TrainState.from_json(saved["train"])))
    sinks.note(f"going on from step {checkpoint.step}", step=checkpoint.step)


def _save(store: CheckpointStore, state: TrainState, learner: Learner, feed: Feed, experiment: Experiment) -> Saved:
    step = state.position.step
    values = {"train": state.to_json(), "cursor": feed.cursor()}
    checkpoint = store.save(step, values, lambda folder: write_learner(learner, folder))
    keep = experiment.train.keep
    store.retain(
        lambda old: old == state.best_step or is_due(keep.every, before=Position(step=old - 1), now=Position(step=old)),
        last=keep.last,
    )
    return Saved(step, str(checkpoint.path))


def _facts(prepared: Prepared, learner: Learner, stream: BatchStream) -> dict[str, Any]:
    parameters = sum(parameter.numel() for parameter in learner.network.parameters())
    trained = sum(parameter.numel() for parameter in learner.network.parameters() if parameter.requires_grad)
    return {
        **prepared.facts,
        "parameters": parameters,
        **({"trained_parameters": trained} if trained != parameters else {}),
        "batches_per_epoch": stream.batches_in(0),
        "padding": stream.padding_waste(0),
    }
