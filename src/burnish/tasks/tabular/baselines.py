"""What a model over a table must beat: the majority or mean, a linear model on one-hots, and boosted trees."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import read_column
from burnish.errors import ConfigError, MissingExtra
from burnish.extras import require
from burnish.metrics.sums import Array
from burnish.registry import default_registry
from burnish.spec.protocols import Task
from burnish.spec.values import BaselineRequest, Outcome, Profile
from burnish.tasks.baselines import Standing, linear, log_linear, sample, timed
from burnish.tasks.labels import Measure
from burnish.tasks.tabular.features import Compact
from burnish.tasks.tabular.plan import TablePlan

MAX_TRAIN, MAX_TRAIN_TREES = 50_000, 200_000
"""Training rows used at most, so that a baseline takes seconds."""


def linear_baselines(asked: BaselineRequest) -> dict[str, Outcome]:
    """Predict the majority or the mean, and what a linear model learns."""
    train, scored, outcome, profile = asked.features["train"], asked.features[asked.split], asked.outcome, asked.profile
    standing = Standing(outcome.kind, outcome.labels, outcome.rows, outcome.truth, outcome.weights)
    targets = truths(train, profile)
    weights = read_column(train["weight"]).astype(np.float64) if "weight" in train.column_names else np.ones(len(train))
    found = {"mean" if outcome.kind == "regression" else "majority": standing.usual(targets, weights)}
    try:
        require("sklearn.linear_model", extra="baselines", why="for the linear baseline")
    except MissingExtra as missing:
        asked.note(f"the linear baseline was left out: {missing}")
        return found
    kept = sample(len(train), most=MAX_TRAIN, seed=asked.seed)
    plan = TablePlan.from_json(profile.facts["table"])
    learn, name = (
        partial(linear, frame=standing, seed=asked.seed),
        "ridge" if outcome.kind == "regression" else "logistic",
    )
    if profile.kind == "regression" and Measure.of_profile(profile).link == "log":
        learn, name = partial(log_linear), "log_linear"

    def fit() -> Callable[[], Array]:
        predict = learn(_design(train.take(kept), plan), targets[kept], weights=weights[kept])
        return lambda: predict(_design(scored, plan))

    return {**found, name: standing.learned(fit)}


def boosted_trees(asked: BaselineRequest, task: Task) -> Outcome | None:
    """Grow trees with LightGBM's usual settings, stopped by the validation rows; None, and a note, if it cannot."""
    kept = sample(asked.features["train"].num_rows, most=MAX_TRAIN_TREES, seed=asked.seed)
    scored = asked.batch_of(asked.split)
    model: Any = default_registry().load("models", "gbdt")()

    def fit() -> Callable[[], Array]:
        trees = model.network(task.head(asked.profile), model.assets())
        trees.begin(lambda split: asked.batch_of(split, kept), seed=asked.seed)
        trees.fit(asked.batch_of("validation"))
        return lambda: trees.logits(scored)

    try:
        logits, times = timed(fit)
    except (MissingExtra, ConfigError) as reason:
        asked.note(f"the baseline of boosted trees was left out: {reason}")
        return None
    known = {name: scored[name] for name in ("row", "label", "weight") if name in scored}
    outcome = task.decode({"logits": logits, "part": np.arange(len(logits)), **known}, asked.profile)
    return replace(outcome, times=times)


def truths(features: pa.Table, profile: Profile) -> Array:
    """Return the labels of features as an outcome tells them: class indices, or numbers in the target's own unit."""
    labels = read_column(features["label"])
    if profile.kind == "regression":
        return Measure.of_profile(profile).truth(labels)
    return labels.astype(np.int64)


def _design(features: pa.Table, plan: TablePlan) -> Any:
    sparse = import_module("scipy.sparse")
    rows = Compact(plan).unpacked({name: read_column(features[name]) for name in features.column_names})
    parts = [sparse.csr_matrix(rows["numbers"])] if "numbers" in rows else []
    sizes = plan.inputs.cardinalities
    if sizes:
        ids = rows["categories"] + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        places = (np.repeat(np.arange(len(ids)), len(sizes)), ids.ravel())
        parts.append(sparse.csr_matrix((np.ones(ids.size, np.float32), places), shape=(len(ids), sum(sizes))))
    return sparse.hstack(parts).tocsr()
