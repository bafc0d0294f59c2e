"""Builds what a run trains with: the learner, the stream of batches, the feeder, the milestones."""

from typing import Any, overload

from burnish.data.batching.batches import BatchStream
from burnish.data.batching.mixture import Mixed
from burnish.dist.world import World
from burnish.engine.device_torch import prepare as prepare_device
from burnish.engine.device_torch import seed_everything
from burnish.engine.feed import BatchFeeder, Trainable, total_steps
from burnish.engine.grower_torch import BoostingLearner
from burnish.engine.learner_torch import Clipping, Learner
from burnish.engine.memory_torch import Memory
from burnish.engine.progress import Milestones
from burnish.engine.recovery import NO_REPAIRS, Adjustments
from burnish.errors import ConfigError, LaunchError, Problem
from burnish.run.predicting.scoring import Scorer
from burnish.run.preparation.prepared_data import PreparedData
from burnish.spec.experiment import Batching, Experiment, TrainPolicy
from burnish.spec.parts import ALONE


def build_learner(
    experiment: Experiment, prepared: PreparedData, world: World, *, memory: Memory | None = None
) -> Learner | BoostingLearner:
    """Load weights and make the optimizer, seeded so that new weights are the same each time."""
    precision = prepare_device(experiment.settled_runtime)
    seed_everything(experiment.runtime.seed)
    head = experiment.task.head(prepared.profile)
    network = experiment.model.network(head, prepared.assets).to(precision.device)
    alone = prepared.parts.get(ALONE)
    if alone is not None:
        experiment.model.expect(network, lambda: alone.encoder.counts(alone.features["train"]))
    if experiment.model.is_grown:
        if world.size > 1:
            sentence = f"this model is trained by one process, but there are {world.size}; train without --processes"
            raise LaunchError(sentence)
        rate = experiment.model.usual_rate(network)
        whole = prepared.parts[ALONE]
        return BoostingLearner(
            network,
            whole.batch_of,
            num_rows=whole.features["train"].num_rows,
            seed=experiment.runtime.seed,
            precision=precision,
            learning_rate=rate,
        )
    policy = experiment.train
    if policy.recompute:
        _recompute(network)
    rate, decay = rate_of(experiment, network), experiment.optimizer.weight_decay
    groups = network.parameter_groups(learning_rate=rate, weight_decay=decay)
    return Learner(
        network,
        experiment.optimizer.build(network, groups),
        head,
        precision=precision,
        seed=experiment.runtime.seed,
        clip=Clipping(policy.clip, policy.clip_tensor, policy.clip_value),
        ema=policy.ema,
        world=world,
        memory=memory,
        loss_limit=policy.loss_limit,
        own_loss=policy.loss,
    )


def _recompute(network: Any) -> None:
    if not hasattr(network, "recompute"):
        raise ConfigError([Problem("train.recompute: only transformers have layers to compute again; leave it out")])
    network.recompute()


def rate_of(experiment: Experiment, network: Any) -> float:
    """Give the learning rate, where `auto` follows from the network."""
    rate = experiment.optimizer.learning_rate
    return experiment.model.usual_rate(network) if rate == "auto" else rate


def build_stream(experiment: Experiment, prepared: PreparedData, world: World) -> BatchStream:
    """Give this process's share of the training batches, from the first one on."""
    lengths, seed = prepared.features["train"]["length"].to_numpy(), experiment.runtime.seed
    batching, policy = _batching(experiment, len(lengths)), policy_of(experiment, num_rows=len(lengths))
    parts = [part.features["train"]["length"].to_numpy() for part in prepared.parts.values()]
    mixture: Mixed | None = experiment.task.mixture(parts, batching, seed=seed, policy=policy)
    return BatchStream(lengths, batching, seed=seed, mixture=mixture, rank=world.rank, world=world.size)


def _batching(experiment: Experiment, num_rows: int) -> Batching:
    return experiment.train.batch.settled(num_rows, most=experiment.model.auto_batch)


@overload
def build_feed(
    scorer: Scorer, learner: Trainable, *, stream: BatchStream, repairs: Adjustments = ...
) -> BatchFeeder: ...
@overload
def build_feed(
    scorer: Scorer, learner: BoostingLearner, *, stream: BatchStream, repairs: Adjustments = ...
) -> BoostingLearner: ...
def build_feed(
    scorer: Scorer,
    learner: Trainable | BoostingLearner,
    *,
    stream: BatchStream,
    repairs: Adjustments = NO_REPAIRS,
) -> BatchFeeder | BoostingLearner:
    """Feed what learns from a stream of the training rows; trees read all rows themselves."""
    if isinstance(learner, BoostingLearner):
        return learner
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


def build_milestones(scorer: Scorer, stream: BatchStream) -> Milestones:
    """Say when to evaluate, save and end, and by which score the best checkpoint is chosen."""
    experiment = scorer.experiment
    policy = policy_of(experiment, num_rows=len(scorer.prepared.features["train"]))
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
        evaluate_at_start=policy.evaluate_at_start,
    )


def policy_of(experiment: Experiment, *, num_rows: int) -> TrainPolicy:
    """Give how long to train on so many rows: as the experiment says, or as the model's own options do."""
    return experiment.model.policy(experiment.train, num_rows=num_rows)


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
        **_partly_read(learner.network),
    }


def _partly_read(network: Any) -> dict[str, str]:
    """Name the weights that no file held though others came from one, and those of the file that have no place."""
    fresh, unread = sorted(getattr(network, "fresh", ())), getattr(network, "left_unread", ())
    is_partial = bool(fresh) and len(fresh) < sum(1 for _ in network.parameters())
    told = {"new_weights": ", ".join(fresh) if is_partial else "", "unread_weights": ", ".join(unread)}
    return {name: text for name, text in told.items() if text}


def _chosen(scorer: Scorer, learner: Learner, *, epoch_steps: int) -> dict[str, Any]:
    """Tell what was taken for `auto`."""
    experiment, policy = scorer.experiment, scorer.experiment.train
    found = {
        "learning_rate": (experiment.optimizer.learning_rate, rate_of(experiment, learner.network)),
        "length": (policy.length, str(policy.length_for(epoch_steps))),
        "batch": (policy.batch.examples, _batching(experiment, len(scorer.prepared.features["train"])).examples),
    }
    return {name: taken for name, (stated, taken) in found.items() if stated == "auto"}
