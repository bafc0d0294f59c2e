"""The members of a blend that are boosted trees: each fits one fold of a table, and answers with logits."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from burnish.errors import BurnishError
from burnish.extras import require
from burnish.spec.values import Array, Batch, HeadSpec, Objective

_WHY = "for a member of `model: auto`"


@dataclass(frozen=True)
class Fold:
    """The rows that a member learns from, and those that tell it when to stop."""

    learn: Batch
    held_out: Batch
    seed: int
    threads: int


class FittedMember(Protocol):
    """A member that has learned from one fold."""

    def logits(self, batch: Batch, *, threads: int) -> Array:
        """Return the logits [n, size]."""
        ...

    def to_bytes(self) -> bytes:
        """Return all that it takes to answer again."""
        ...


class Member(ABC):
    """A kind of model that a blend may hold."""

    name: ClassVar[str]
    module: ClassVar[str | None] = None
    """The package that it needs, if any."""

    @abstractmethod
    def can_learn(self, objective: Objective) -> bool:
        """Check whether it knows this loss."""

    @abstractmethod
    def fit(self, fold: Fold, head: HeadSpec) -> FittedMember:
        """Learn from a fold."""

    @abstractmethod
    def from_bytes(self, written: bytes, head: HeadSpec) -> FittedMember:
        """Read a fitted member; raise ValueError for bytes that are none."""


class LightGbm(Member):
    """Trees that grow leaf by leaf; the settings are the tuned defaults of pytabkit (Holzmüller et al., 2024)."""

    name = "lightgbm"
    module = "lightgbm"

    _ROUNDS = 2000
    _PATIENCE = 100
    _OF_CLASSES: ClassVar[Mapping[str, Any]] = {
        "learning_rate": 0.04,
        "num_leaves": 50,
        "bagging_fraction": 0.75,
        "bagging_freq": 1,
        "min_data_in_leaf": 40,
        "min_sum_hessian_in_leaf": 1e-7,
    }
    _OF_NUMBERS: ClassVar[Mapping[str, Any]] = {
        "learning_rate": 0.05,
        "num_leaves": 100,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "min_data_in_leaf": 3,
        "min_sum_hessian_in_leaf": 1e-7,
    }

    def can_learn(self, objective: Objective) -> bool:
        return lightgbm_objective(objective, size=2) is not None

    def fit(self, fold: Fold, head: HeadSpec) -> FittedMember:
        lightgbm = require("lightgbm", extra="trees", why=_WHY)
        objective = lightgbm_objective(head.objective, size=head.size)
        assert objective is not None, "a member is asked first whether it knows the loss"
        growth = self._OF_NUMBERS if head.size == 1 else self._OF_CLASSES
        settings = {**objective, **growth, **repeatable(fold.threads), "seed": fold.seed}
        rows = lightgbm.Dataset(
            matrix(fold.learn),
            fold.learn["label"],
            weight=row_weights(fold.learn, head.objective),
            categorical_feature=category_places(fold.learn),
            params=settings,
        )
        stop_rows = rows.create_valid(
            matrix(fold.held_out), fold.held_out["label"], weight=row_weights(fold.held_out, head.objective)
        )
        stop = lightgbm.early_stopping(self._PATIENCE, verbose=False)
        try:
            booster = lightgbm.train(settings, rows, self._ROUNDS, valid_sets=[stop_rows], callbacks=[stop])
        except lightgbm.basic.LightGBMError as error:
            raise BurnishError(f"LightGBM: {error}") from error
        return FittedLightGbm(booster, is_binary=objective["objective"] == "binary")

    def from_bytes(self, written: bytes, head: HeadSpec) -> FittedMember:
        lightgbm = require("lightgbm", extra="trees", why=_WHY)
        try:
            booster = lightgbm.Booster(model_str=written.decode("utf-8"))
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(str(error)) from error
        return FittedLightGbm(booster, is_binary=head.size == 2)


@dataclass(frozen=True)
class FittedLightGbm:
    """Trees of LightGBM."""

    booster: Any
    is_binary: bool

    def logits(self, batch: Batch, *, threads: int) -> Array:
        table = matrix(batch)
        raw = self.booster.predict(table, raw_score=True, num_threads=threads).reshape(len(table), -1)
        return two_columns(raw) if self.is_binary else raw

    def to_bytes(self) -> bytes:
        text: str = self.booster.model_to_string(num_iteration=self.booster.best_iteration)
        return text.encode("utf-8")


class CatBoost(Member):
    """Symmetric trees with target means of categories, made inside the library in an order that leaks nothing."""

    name = "catboost"
    module = "catboost"

    _ROUNDS = 1000
    _PATIENCE = 50
    _LOSSES: ClassVar[Mapping[str, str]] = {"mean_squared_error": "RMSE", "poisson": "Poisson"}
    _NOTES_KEPT = ("class_params", "params")
    """CatBoost also writes the time and a random number into a model, and the same trees would have other bytes."""

    def can_learn(self, objective: Objective) -> bool:
        is_plain = objective.name == "cross_entropy" and not objective.label_smoothing
        return is_plain or objective.name in self._LOSSES

    def fit(self, fold: Fold, head: HeadSpec) -> FittedMember:
        catboost = require("catboost", extra="trees", why=_WHY)
        settings: dict[str, Any] = {
            "loss_function": self._loss(head),
            "iterations": self._ROUNDS,
            "thread_count": fold.threads,
            "random_seed": fold.seed,
            "allow_writing_files": False,
            "verbose": False,
        }
        if head.size > 2:
            settings["classes_count"] = head.size
        model = catboost.CatBoost(settings)
        try:
            model.fit(
                catboost_pool(catboost, fold.learn, head),
                eval_set=catboost_pool(catboost, fold.held_out, head),
                early_stopping_rounds=self._PATIENCE,
            )
        except catboost.CatBoostError as error:
            raise BurnishError(f"CatBoost: {error}") from error
        notes = model.get_metadata()
        for name in list(notes.keys()):
            if name not in self._NOTES_KEPT:
                del notes[name]
        return FittedCatBoost(model, is_binary=head.size == 2)

    def from_bytes(self, written: bytes, head: HeadSpec) -> FittedMember:
        catboost = require("catboost", extra="trees", why=_WHY)
        model = catboost.CatBoost()
        try:
            model.load_model(blob=written)
        except catboost.CatBoostError as error:
            raise ValueError(str(error)) from error
        return FittedCatBoost(model, is_binary=head.size == 2)

    def _loss(self, head: HeadSpec) -> str:
        if head.size == 1:
            return self._LOSSES[head.objective.name]
        return "Logloss" if head.size == 2 else "MultiClass"


@dataclass(frozen=True)
class FittedCatBoost:
    """Trees of CatBoost."""

    model: Any
    is_binary: bool

    def logits(self, batch: Batch, *, threads: int) -> Array:
        catboost = require("catboost", extra="trees", why=_WHY)
        pool = catboost_pool(catboost, batch, None)
        raw = self.model.predict(pool, prediction_type="RawFormulaVal", thread_count=threads)
        raw = np.asarray(raw).reshape(pool.num_row(), -1)
        return two_columns(raw) if self.is_binary else raw

    def to_bytes(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.cbm"
            self.model.save_model(str(path))
            return path.read_bytes()


def matrix(batch: Batch) -> Array:
    """Put numbers and categories next to each other."""
    parts = [np.asarray(batch[name], dtype=np.float32) for name in ("numbers", "categories") if name in batch]
    return np.concatenate(parts, axis=1)


def category_places(batch: Batch) -> list[int]:
    """List the columns of the matrix that hold categories."""
    first = batch["numbers"].shape[1] if "numbers" in batch else 0
    count = batch["categories"].shape[1] if "categories" in batch else 0
    return list(range(first, first + count))


def catboost_pool(catboost: Any, batch: Batch, head: HeadSpec | None) -> Any:
    """Put a batch into CatBoost's own table; without a head there is no target."""
    numbers = batch.get("numbers")
    categories = batch.get("categories")
    features = catboost.FeaturesData(
        num_feature_data=None if numbers is None else np.ascontiguousarray(numbers, dtype=np.float32),
        cat_feature_data=None if categories is None else categories.astype(np.bytes_).astype(object),
    )
    if head is None:
        return catboost.Pool(features)
    return catboost.Pool(features, label=batch["label"], weight=row_weights(batch, head.objective))


def lightgbm_objective(objective: Objective, *, size: int) -> dict[str, Any] | None:
    """Say a loss in LightGBM's words; None for one that it does not know."""
    if objective.label_smoothing:
        return None
    if objective.name == "cross_entropy":
        return {"objective": "binary"} if size == 2 else {"objective": "multiclass", "num_class": size}
    if objective.name == "quantile":
        return {"objective": "quantile", "alpha": objective.quantile}
    known = {"mean_squared_error": "regression", "poisson": "poisson", "gamma": "gamma"}
    return {"objective": known[objective.name]} if objective.name in known else None


def repeatable(threads: int) -> dict[str, Any]:
    """Settings with which LightGBM grows the same trees each time."""
    return {
        "deterministic": True,
        "force_row_wise": True,  # LightGBM would choose by timing, and another choice is another sum
        "num_threads": threads,
        "verbosity": -1,
    }


def row_weights(batch: Batch, objective: Objective) -> Array | None:
    """Weigh each row by its own weight and that of its class."""
    weights = batch.get("weight")
    if objective.class_weights is None:
        return weights
    of_class = np.asarray(objective.class_weights)[np.asarray(batch["label"])]
    return np.asarray(of_class if weights is None else of_class * weights)


def two_columns(raw: Array) -> Array:
    """Write the log odds of the second class as the logits of two."""
    return np.concatenate([np.zeros_like(raw), raw], axis=1)
