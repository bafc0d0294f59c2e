"""Answers a second against Trainer.predict on encoded rows, and against a pipeline on texts."""

from collections.abc import Callable, Iterator, Sequence

from bench.harness.contest import Entrant, started
from bench.harness.pairs import take_turns
from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from bench.tables import RATES_HEAD, rates
from bench.training import fastest_peer
from burnish.commands.config import check

_BATCHES = (32, 64, 8)


def evaluation(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Race on each set, once from encoded rows and once from texts."""
    yield from RATES_HEAD
    for each in sets:
        tell(f"evaluation on {each.name}")
        with staged(check(each.experiment, overrides=each.overrides), rows=each.rows) as stage:
            assert stage.no_peers is None, stage.no_peers
            name = f"{each.name}, {stage.num_examples:,} rows" + (f" ({each.note})" if each.note else "")
            for entrants in (_encoded(each, stage), _texts(each, stage)):
                with started(entrants) as contestants:
                    results = take_turns(contestants, rounds=rounds, tell=tell)
                yield from rates(name, results, ours=next(iter(entrants)))


def _encoded(each: DataSet, stage: Stage) -> dict[str, Entrant]:
    is_bf16 = stage.precision == "bf16"
    usual = {"is_grouped": True, "attention": "sdpa"}
    tried = {
        f"batches of {size}{', bf16' * is_bf16}": {
            **usual,
            "arguments": {"per_device_eval_batch_size": size, "bf16_full_eval": is_bf16},
        }
        for size in _BATCHES
    }
    chosen = fastest_peer(each, stage, "predict", tried)
    return {
        "Burnish, encoded rows": stage.ours("score"),
        "Trainer.predict, defaults": stage.peer("predict"),
        f"Trainer.predict, grouped by length, {chosen}": stage.peer("predict", **tried[chosen]),
    }


def _texts(each: DataSet, stage: Stage) -> dict[str, Entrant]:
    is_bf16 = stage.precision == "bf16"
    tried = {f"batch_size={size}{', bf16' * is_bf16}": {"batch_size": size, "bf16": is_bf16} for size in (*_BATCHES, 1)}
    chosen = fastest_peer(each, stage, "pipe", tried)
    return {
        "Burnish, texts": stage.ours("answer"),
        "pipeline, defaults": stage.peer("pipe"),
        f"pipeline, {chosen}": stage.peer("pipe", **tried[chosen]),
    }
