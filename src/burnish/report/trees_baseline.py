"""The score of boosted trees on the features of a run: what a user would pick instead of its network."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from burnish.errors import ConfigError, MissingExtra
from burnish.report.linear import timed
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.spec.protocols import Task
from burnish.spec.values import Array, Batch, HeadSpec, Outcome

MAX_TRAIN = 200_000
"""Training rows used at most, so that a baseline takes seconds."""


def boosted_trees(
    prepared: PreparedTask, task: Task, *, split: str, seed: int, note: Callable[[str], None] = lambda _: None
) -> Outcome | None:
    """Grow trees with LightGBM's usual settings, stopped by the validation rows; None, and a note, if it cannot."""
    head = task.head(prepared.profile)
    train = prepared.batch_of("train", _some(prepared.features["train"].num_rows, seed=seed))
    asked = prepared.batch_of(split)
    try:
        logits, times = timed(lambda: _fit(head, train, prepared.batch_of("validation"), asked=asked))
    except (MissingExtra, ConfigError) as reason:
        note(f"the baseline of boosted trees was left out: {reason}")
        return None
    kept = {name: asked[name] for name in ("row", "label", "weight") if name in asked}
    outcome = task.decode({"logits": logits, "part": np.arange(len(logits)), **kept}, prepared.profile)
    return replace(outcome, times=times)


def _fit(head: HeadSpec, train: "Batch", validation: "Batch", *, asked: "Batch") -> "Callable[[], Array]":
    from burnish.models.tabular.boosted_trees_torch import BoostedTrees
    from burnish.models.tabular.models import Gbdt

    trees = BoostedTrees(Gbdt(), head)
    trees.begin(train)
    trees.fit(validation)
    return lambda: trees.logits(asked)


def _some(size: int, *, seed: int) -> "Array":
    if size <= MAX_TRAIN:
        return np.arange(size)
    return np.sort(np.random.Generator(np.random.Philox(seed)).choice(size, MAX_TRAIN, replace=False))
