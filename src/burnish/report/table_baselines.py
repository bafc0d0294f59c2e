"""What a model over a table must beat: the majority or mean, and a linear model on scaled numbers and one-hots."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.errors import MissingExtra
from burnish.extras import require
from burnish.metrics.sums import Array
from burnish.report.linear import Matrices, Standing, constant, linear, sample
from burnish.spec.values import Outcome, Profile
from burnish.tasks.table_encoder import array_of
from burnish.tasks.table_target import Measure

MAX_TRAIN = 50_000
"""Training rows used at most, so that a baseline takes seconds."""


def table_baselines(
    train: pa.Table, scored: pa.Table, outcome: Outcome, *, profile: Profile, seed: int, note: Callable[[str], None]
) -> dict[str, Outcome]:
    """Learn simple models from the training features and give their outcomes on the rows that were scored."""
    standing = Standing(outcome.kind, outcome.labels, outcome.rows, outcome.truth, outcome.weights)
    targets = truths(train, profile)
    found = {"mean" if outcome.kind == "regression" else "majority": standing.outcome(constant(targets, standing))}
    try:
        require("sklearn.linear_model", extra="demo", why="for the linear baseline")
    except MissingExtra as missing:
        note(f"the linear baseline was left out: {missing}")
        return found
    kept = sample(len(train), most=MAX_TRAIN, seed=seed)
    sizes = _sizes(profile)
    matrices = Matrices(_design(train.take(kept), sizes), _design(scored, sizes))
    name = "ridge" if outcome.kind == "regression" else "logistic"
    found[name] = standing.outcome(linear(matrices, targets[kept], frame=standing, seed=seed))
    return found


def truths(features: pa.Table, profile: Profile) -> Array:
    """Give the labels of features as an outcome tells them: class indices, or numbers in the target's own unit."""
    labels = array_of(features["label"])
    return Measure.from_json(profile.facts["target"]).truth(labels) if profile.kind == "regression" else labels


def _sizes(profile: Profile) -> list[int]:
    from burnish.tasks.table_plan import TablePlan

    return list(TablePlan.from_json(profile.facts["table"]).inputs.cardinalities)


def _design(features: pa.Table, sizes: list[int]) -> Any:
    sparse = import_module("scipy.sparse")
    parts = [sparse.csr_matrix(array_of(features["numbers"]))] if "numbers" in features.column_names else []
    if sizes:
        ids = array_of(features["categories"]).astype(np.int64) + np.concatenate([[0], np.cumsum(sizes)[:-1]])
        places = (np.repeat(np.arange(len(ids)), len(sizes)), ids.ravel())
        parts.append(sparse.csr_matrix((np.ones(ids.size, np.float32), places), shape=(len(ids), sum(sizes))))
    return sparse.hstack(parts).tocsr()
