"""The same training by Burnish and by transformers' Trainer: whether both end with the same accuracy."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from bench.harness.stage import Stage, staged
from bench.sets import DataSet
from burnish.commands.config import check
from burnish.commands.train import train
from burnish.metrics.compare import mcnemar
from burnish.metrics.sums import Array
from burnish.run.record.directory import RunDirectory

_ROWS = 20_000
_RATE, _WARMUP, _DECAY = 1.5e-4, 0.06, 0.01
_SAME = (
    "model.layer_decay=null",
    f"optimizer={{type: adamw, learning_rate: {_RATE}, weight_decay: {_DECAY}}}",
    f"schedule={{type: linear, warmup: {_WARMUP:.0%}}}",
    "train.length=1 epochs",
    "train.evaluate_every=1 epochs",
)
"""What both are told; the shipped experiment does a little more than Trainer can."""


def accuracy(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Train both once a seed, from the same weights, with the same rates; compare their answers row by row."""
    yield "| set | seed | Burnish | Trainer, best flags | right by one of them alone | p of no difference |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    each = sets[0]
    rows = min(_ROWS, _ROWS * each.rows // 1024)
    for seed in range(rounds):
        tell(f"accuracy on {each.name}, seed {seed}")
        ours, theirs = _answers(each, rows=rows, seed=seed)
        alone = f"{int((ours & ~theirs).sum())} and {int((theirs & ~ours).sum())} of {len(ours)}"
        name, shares = f"{each.name}, {rows:,} rows, one epoch", [f"{side.mean():.4f}" for side in (ours, theirs)]
        yield f"| {name} | {seed} | {shares[0]} | {shares[1]} | {alone} | {mcnemar(ours, theirs):.2f} |"


def _answers(each: DataSet, *, rows: int, seed: int) -> tuple[Array, Array]:
    """Tell of each validation row whether Burnish, and whether Trainer, got it right."""
    overrides = (*each.overrides, *_SAME, f"data.limit.train={rows}", f"runtime.seed={seed}")
    resolved = check(each.experiment, overrides=overrides)
    with staged(resolved, rows=rows) as stage, TemporaryDirectory(prefix="burnish-bench-") as folder:
        theirs = _trainer_answers(stage, seed=seed)
        run = RunDirectory(Path(folder, "run"))
        train(each.experiment, overrides=overrides, directory=run.path)
        table = pq.read_table(run.predictions / "validation.parquet").sort_by("row")
    truth, ours = (table[name].to_numpy().astype(np.int64) for name in ("truth", "predicted"))
    return ours == truth, theirs == truth


def _trainer_answers(stage: Stage, *, seed: int) -> Array:
    from bench.harness.peers_torch import learned

    arguments = {
        "num_train_epochs": 1,
        "learning_rate": _RATE,
        "weight_decay": _DECAY,
        "warmup_steps": _WARMUP,
        "optim": "adamw_torch_fused",
        "seed": seed,
    }
    logits = learned({**stage.request, "is_grouped": True, "attention": "eager", "arguments": arguments})
    classes: Array = logits.argmax(axis=1)
    return classes
