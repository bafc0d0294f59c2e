"""Measures how fast this machine trains and predicts an experiment, beside its own peak and transformers' Trainer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from burnish.bench.contest import Entrant, started
from burnish.bench.pairs import Block, Spread, take_turns
from burnish.bench.stage import Stage, staged
from burnish.commands.config import check

_TRAIN, _SCORE, _ROOF = "train", "score", "roof"
_THEIR_TRAIN, _THEIR_SCORE = "trainer train", "trainer predict"


@dataclass(frozen=True)
class Speed:
    """How much is done in a second."""

    examples: Spread
    tokens: Spread

    @classmethod
    def of(cls, blocks: Sequence[Block]) -> "Speed":
        """Summarise stretches of work."""
        return cls(
            Spread.of([block.rate for block in blocks]), Spread.of([block.tokens / block.seconds for block in blocks])
        )


@dataclass(frozen=True)
class Peak:
    """What the machine does at its best, in operations a second, and the model's share of it; padding does no work."""

    flops_rate: Spread
    training: Spread
    training_share: Spread
    inference_share: Spread


@dataclass(frozen=True)
class BenchResult:
    """How fast an experiment goes on this machine."""

    examples: int
    """In each stretch of work: the same for all."""
    rounds: int
    precision: str
    threads: int
    training: Speed
    inference: Speed
    waited: Spread
    """The share of training time that was spent waiting for data."""
    peak: Peak | None
    over_trainer: Mapping[str, Spread]
    """How many times faster than Trainer with its defaults `training` and `inference` are."""
    notes: tuple[str, ...]


def bench(
    experiment: str | Path,
    *,
    configs: Sequence[Path] = (),
    overrides: Sequence[str] = (),
    rows: int = 256,
    rounds: int = 3,
    tell: Callable[[str], None] = lambda _sentence: None,
) -> BenchResult:
    """Train and predict the same rows in turn with whatever they are compared to; leave nothing behind."""
    resolved = check(str(experiment), configs=[str(path) for path in configs], overrides=overrides)
    tell("preparing the data")
    with staged(resolved, rows=rows) as stage:
        tell("loading")
        with started(_entrants(stage)) as contestants:
            results = take_turns(contestants, rounds=rounds, tell=tell)
        return _result(stage, results)


def _entrants(stage: Stage) -> dict[str, Entrant]:
    ours = {_TRAIN: stage.ours("train"), _SCORE: stage.ours("score")}
    if stage.no_peers:
        return ours
    peers = {_THEIR_TRAIN: stage.peer("train"), _THEIR_SCORE: stage.peer("predict")}
    return {**ours, **peers, _ROOF: stage.roof(stage.precision)}


def _result(stage: Stage, results: Mapping[str, list[Block]]) -> BenchResult:
    training, inference = results[_TRAIN], results[_SCORE]
    return BenchResult(
        examples=stage.num_examples,
        rounds=len(training),
        precision=stage.precision,
        threads=stage.threads,
        training=Speed.of(training),
        inference=Speed.of(inference),
        waited=Spread.of([block.waited_seconds / block.seconds for block in training]),
        peak=_peak(stage, results),
        over_trainer=_over_trainer(results),
        notes=(f"not compared: {stage.no_peers}",) if stage.no_peers else (),
    )


def _peak(stage: Stage, results: Mapping[str, list[Block]]) -> Peak | None:
    if stage.forward_flops is None:
        return None
    from burnish.bench.roof_torch import TRAINING_PASSES

    roof = [block.flops_rate for block in results[_ROOF]]
    training = [TRAINING_PASSES * stage.forward_flops / block.seconds for block in results[_TRAIN]]
    inference = [stage.forward_flops / block.seconds for block in results[_SCORE]]
    return Peak(
        Spread.of(roof), Spread.of(training), Spread.of_ratios(training, roof), Spread.of_ratios(inference, roof)
    )


def _over_trainer(results: Mapping[str, list[Block]]) -> dict[str, Spread]:
    pairs = {"training": (_TRAIN, _THEIR_TRAIN), "inference": (_SCORE, _THEIR_SCORE)}
    return {
        name: Spread.of_ratios([block.rate for block in results[ours]], [block.rate for block in results[theirs]])
        for name, (ours, theirs) in pairs.items()
        if theirs in results
    }
