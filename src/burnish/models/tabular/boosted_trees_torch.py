"""Trees behind the face of a network: tensors in, logits out, and a text as their only weight."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from burnish.errors import CheckpointError, ConfigError, Problem
from burnish.extras import require
from burnish.models.tabular.members import (
    category_places,
    lightgbm_objective,
    matrix,
    repeatable,
    row_weights,
    two_columns,
)
from burnish.models.tabular.models import Gbdt
from burnish.models.tabular.networks_torch import TableNetwork, check_shape, write_shape
from burnish.spec.values import Array, Batch, HeadSpec

_TREES = "trees.txt"
_TEXT = "text"
_LOSSES = ("cross_entropy", "mean_squared_error", "poisson", "gamma", "quantile")


class BoostedTrees(TableNetwork):
    """Trees that are there, and the means to grow more."""

    rows_together: int = 1  # a tree looks at each row alone

    def __init__(self, options: Gbdt, head: HeadSpec) -> None:
        super().__init__(head)
        self._options = options
        self._lightgbm = require("lightgbm", extra="trees", why="to grow boosted trees")
        self._settings = {**_objective(head), **_growth(options)}
        self._trees: Any = None
        self._table: Any = None
        self._is_growing = False

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        return torch.from_numpy(self.logits({name: tensor.cpu().numpy() for name, tensor in batch.items()}))

    def logits(self, batch: "Batch") -> "Array":
        """Return the logits [n, size] of arrays."""
        table = matrix(batch)
        if self._trees is None:
            return np.zeros((len(table), self.head.size))
        raw = self._trees.predict(table, raw_score=True, num_threads=torch.get_num_threads()).reshape(len(table), -1)
        return two_columns(raw) if self._settings["objective"] == "binary" else raw

    def begin(self, rows: Callable[[str], "Batch"], *, seed: int) -> None:
        """Take the training rows; trees that are there are grown on, exactly as if they had just been grown."""
        batch = rows("train")
        if not batch.get("weight", np.ones(1)).all():  # a row that weighs nothing would still count as one of a leaf
            batch = {name: values[batch["weight"] > 0] for name, values in batch.items()}
        weights = row_weights(batch, self.head.objective)
        self._settings["num_threads"] = torch.get_num_threads()
        self._table = self._lightgbm.Dataset(
            matrix(batch),
            batch["label"],
            weight=weights,
            categorical_feature=category_places(batch),
            params=self._settings,
        )

    def grow(self) -> float:
        """Grow a round of trees, and give the loss on the training rows."""
        if self._is_growing:
            self._trees.update()
        else:
            # LightGBM begins with the scores of trees that were read: the same sums in the same order, bit for bit.
            self._trees = self._lightgbm.train(
                self._settings, self._table, num_boost_round=1, init_model=self._trees, keep_training_booster=True
            )
            self._is_growing = True
        return float(self._trees.eval_train()[0][2])

    def fit(self, validation: "Batch") -> None:
        """Grow until the loss on other rows has not fallen for as many rounds as the options allow."""
        rows = self._table.create_valid(matrix(validation), validation["label"], weight=validation.get("weight"))
        patience = self._options.evaluate_every * (self._options.patience or self._options.rounds)
        stop = self._lightgbm.early_stopping(patience, verbose=False)
        self._trees = self._lightgbm.train(
            self._settings, self._table, self._options.rounds, valid_sets=[rows], callbacks=[stop]
        )

    @property
    def text(self) -> str:
        """The trees as LightGBM writes them."""
        return "" if self._trees is None else str(self._trees.model_to_string(num_iteration=-1))

    @text.setter
    def text(self, text: str) -> None:
        try:
            self._trees = self._lightgbm.Booster(model_str=text) if text else None
        except self._lightgbm.basic.LightGBMError as error:
            raise ValueError(f"this is no text of trees: {error}") from error
        self._is_growing = False

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        letters = np.frombuffer(self.text.encode("utf-8"), dtype=np.uint8).copy()
        destination[prefix + _TEXT] = torch.from_numpy(letters)

    def _load_from_state_dict(self, state_dict: Mapping[str, Tensor], prefix: str, *_rest: object) -> None:
        letters = state_dict.get(prefix + _TEXT)
        if letters is None or letters.dtype != torch.uint8:
            raise ValueError(f"{prefix}{_TEXT} does not hold the text of trees")
        self.text = bytes(letters.numpy()).decode("utf-8")


def save_trees(network: TableNetwork, directory: Path) -> None:
    """Write trees and the shape of what they are fed."""
    assert isinstance(network, BoostedTrees), "trees save trees"
    (directory / _TREES).write_text(network.text, encoding="utf-8")
    write_shape(network.head, directory)


def load_trees(network: BoostedTrees, directory: Path) -> BoostedTrees:
    """Put saved trees in place; refuse those that are fed otherwise."""
    check_shape(network.head, directory)
    try:
        network.text = (directory / _TREES).read_text(encoding="utf-8")
    except (OSError, ValueError, network._lightgbm.basic.LightGBMError) as error:
        raise CheckpointError(f"{directory / _TREES} does not hold boosted trees: {error}") from error
    return network


def _objective(head: HeadSpec) -> dict[str, Any]:
    found = lightgbm_objective(head.objective, size=head.size)
    if found is None:
        what = "label smoothing" if head.objective.label_smoothing else f"the loss {head.objective.name}"
        raise ConfigError([Problem(f"model: gbdt does not know {what}; it knows {', '.join(_LOSSES)}")])
    return found


def _growth(options: Gbdt) -> dict[str, Any]:
    return {
        "learning_rate": options.learning_rate,
        "num_leaves": options.leaves,
        "min_data_in_leaf": options.least_rows,
        "lambda_l2": options.l2,
        **repeatable(torch.get_num_threads()),
    }
