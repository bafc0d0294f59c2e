"""What a model over a table must beat: the majority or mean, and a linear model on scaled numbers and one-hots."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import read_column
from burnish.errors import MissingExtra
from burnish.extras import require
from burnish.metrics.sums import Array
from burnish.report.linear import Standing, linear, log_linear, sample
from burnish.spec.values import Outcome, Profile
from burnish.tasks.labels import Measure
from burnish.tasks.tabular.features import Compact
from burnish.tasks.tabular.plan import TablePlan

MAX_TRAIN = 50_000
"""Training rows used at most, so that a baseline takes seconds."""


def table_baselines(
    train: pa.Table, scored: pa.Table, outcome: Outcome, *, profile: Profile, seed: int, note: Callable[[str], None]
) -> dict[str, Outcome]:
    """Learn simple models from the training features and give their outcomes on the rows that were scored."""
    standing = Standing(outcome.kind, outcome.labels, outcome.rows, outcome.truth, outcome.weights)
    targets = truths(train, profile)
    weights = read_column(train["weight"]).astype(np.float64) if "weight" in train.column_names else np.ones(len(train))
    found = {"mean" if outcome.kind == "regression" else "majority": standing.usual(targets, weights)}
    try:
        require("sklearn.linear_model", extra="baselines", why="for the linear baseline")
    except MissingExtra as missing:
        note(f"the linear baseline was left out: {missing}")
        return found
    kept = sample(len(train), most=MAX_TRAIN, seed=seed)
    plan = TablePlan.from_json(profile.facts["table"])
    learn, name = partial(linear, frame=standing, seed=seed), "ridge" if outcome.kind == "regression" else "logistic"
    if profile.kind == "regression" and Measure.of_profile(profile).link == "log":
        learn, name = partial(log_linear), "log_linear"

    def fit() -> Callable[[], Array]:
        predict = learn(_design(train.take(kept), plan), targets[kept], weights=weights[kept])
        return lambda: predict(_design(scored, plan))

    return {**found, name: standing.learned(fit)}


def truths(features: pa.Table, profile: Profile) -> Array:
    """Give the labels of features as an outcome tells them: class indices, or numbers in the target's own unit."""
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
