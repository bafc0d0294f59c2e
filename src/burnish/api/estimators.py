"""Estimators in the shape of scikit-learn's, for its pipelines, cross-validation and searches."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Self

import numpy as np
import pyarrow as pa

from burnish.api.frames import is_frame, is_series, table_of_frame
from burnish.api.verbs import load, train
from burnish.data.codecs.answers import free_name
from burnish.extras import require
from burnish.spec.values import Array

_WHY = "for BurnishClassifier and BurnishRegressor"
_base: Any = require("sklearn.base", extra="baselines", why=_WHY)
_validation: Any = require("sklearn.utils.validation", extra="baselines", why=_WHY)
_multiclass: Any = require("sklearn.utils.multiclass", extra="baselines", why=_WHY)


class _Estimator(_base.BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Train a run at each fit: on a table, or on texts where rows are texts."""

    def __init__(
        self,
        *,
        model: str | Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        dir: str | Path | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.options = options
        self.random_state = random_state
        self.dir = dir
        self.progress = progress

    def _fit(self, X: Any, target: Array, sample_weight: Any, *, kind: str) -> Self:  # noqa: N803  # as scikit-learn calls it
        table = self._table(X, is_fit=True)
        label = free_name("target", table)
        rows = table.append_column(label, pa.array(target))
        task = self._task(table, label, kind)
        if sample_weight is not None:
            if self._are_texts:
                raise ValueError("sample_weight is for tables: a loss over texts has no weights of rows")
            weights = _validation._check_sample_weight(sample_weight, target, ensure_non_negative=True)
            task["weight"] = free_name("weight", rows)
            rows = rows.append_column(task["weight"], pa.array(weights.astype(np.float64)))
        options = {"name": type(self).__name__, "task": task, "data": {"train": rows}}
        options |= {} if self.model is None else {"model": self.model}
        options |= {} if self.random_state is None else {"runtime": {"seed": self._seed()}}
        self._folder = TemporaryDirectory(prefix="burnish-fit-") if self.dir is None else None
        folder = Path(mkdtemp(prefix="fit-", dir=self.dir)) if self._folder is None else Path(self._folder.name)
        self.run_ = train(options, self.options or {}, dir=folder / "run", progress=self.progress)
        self.model_ = self.run_.load(trust_code=True)
        return self

    def _seed(self) -> int:
        return int(_validation.check_random_state(self.random_state).randint(1 << 31))

    def _task(self, table: pa.Table, label: str, kind: str) -> dict[str, Any]:
        if self._are_texts:
            return {"type": "text_classification", "text": "text", "label": label, "kind": kind}
        # Columns of an array are numbers, whatever they look like; of a DataFrame it is found out.
        columns = {} if hasattr(self, "feature_names_in_") else _numbers(table)
        return {"type": "tabular", "target": label, "kind": kind, "columns": columns}

    def _table(self, X: Any, *, is_fit: bool = False) -> pa.Table:  # noqa: N803  # as above
        if is_fit:
            is_flat = is_series(X) or isinstance(X, list | tuple) or getattr(X, "ndim", 0) == 1
            self._are_texts = is_flat and len(X) > 0 and all(isinstance(each, str) for each in X)
        else:
            _validation.check_is_fitted(self, "model_")
        if self._are_texts:
            return pa.table({"text": pa.array([*X], pa.string())})
        if is_frame(X):
            _validation.validate_data(self, X, reset=is_fit, skip_check_array=True)
            table = table_of_frame(X)
        else:
            least = {"ensure_min_samples": 1 + is_fit}  # one to learn from, and one to choose by
            array = _validation.validate_data(self, X, reset=is_fit, dtype=None, ensure_all_finite="allow-nan", **least)
            table = pa.table({f"x{at}": pa.array(array[:, at], from_pandas=True) for at in range(array.shape[1])})
        if is_fit:
            self._columns = table.column_names
        # Fitted on a DataFrame, it may be asked with an array, and the other way round: columns then go by their place.
        return table.rename_columns(self._columns)

    def __getstate__(self) -> dict[str, Any]:
        """Carry the files of the artifact instead of the loaded model, and leave the run where it is."""
        state = {name: value for name, value in super().__getstate__().items() if name not in ("_folder", "run_")}
        if "model_" in state:
            path = self.model_.path
            files = (file for file in path.rglob("*") if file.is_file())
            state["model_"] = {file.relative_to(path).as_posix(): file.read_bytes() for file in files}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "model_" not in state:
            return
        self._folder = TemporaryDirectory(prefix="burnish-fit-")
        for name, content in state["model_"].items():
            file = Path(self._folder.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        self.model_ = load(self._folder.name, trust_code=True)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


class BurnishClassifier(_base.ClassifierMixin, _Estimator):  # type: ignore[misc]  # as above
    """Classify rows of a table, or texts.

    `model` and `options` are options of an experiment, like `model="gbdt"` and `options={"train.length": "5 epochs"}`;
    runs go to a temporary folder, or below `dir`.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # as scikit-learn calls it
        """Train on rows and their classes; a row of weight 2 counts as two, in the loss and in the scores."""
        y = _labels(X, y)
        _multiclass.check_classification_targets(y)
        self.classes_, numbers = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must hold two classes or more, and it has one class: {self.classes_[0]!r}")
        return self._fit(X, numbers, sample_weight, kind="binary" if len(self.classes_) == 2 else "multiclass")

    def predict(self, X: Any) -> Array:  # noqa: N803  # as above
        """Predict the class of each row."""
        table = self._table(X)
        chosen = self.model_.predict(table, allow_missing=True)["predicted"].cast(pa.int64())
        classes: Array = self.classes_[chosen.to_numpy()]
        return classes

    def predict_proba(self, X: Any) -> Array:  # noqa: N803  # as above
        """Give the probability of each of `classes_`; one that validation rows alone had is 0."""
        table = self._table(X)
        found = self.model_.predict_proba(table, allow_missing=True)
        known = {int(name): found[name].to_numpy() for name in self.model_.classes}
        absent = np.zeros(table.num_rows)
        return np.column_stack([known.get(at, absent) for at in range(len(self.classes_))])


class BurnishRegressor(_base.RegressorMixin, _Estimator):  # type: ignore[misc]  # as above
    """Predict a number for rows of a table, or for texts; its parameters are those of `BurnishClassifier`."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:  # noqa: N803  # as scikit-learn calls it
        """Train on rows and their numbers; a row of weight 2 counts as two, in the loss and in the scores."""
        return self._fit(X, _labels(X, y).astype(np.float64), sample_weight, kind="regression")

    def predict(self, X: Any) -> Array:  # noqa: N803  # as above
        """Predict a number for each row."""
        table = self._table(X)
        numbers: Array = self.model_.predict(table, allow_missing=True)["predicted"].to_numpy()
        return numbers


def _labels(X: Any, y: Any) -> Array:  # noqa: N803  # as above
    if y is None:
        raise ValueError("this estimator requires y to be passed, but the target y is None")
    y = _validation.column_or_1d(y, warn=True)
    _validation.check_consistent_length(X, y)
    labels: Array = _validation.check_array(y, ensure_2d=False, dtype=None)
    return labels


def _numbers(table: pa.Table) -> dict[str, str]:
    kinds = {field.name: field.type for field in table.schema}
    return {name: "number" for name, kind in kinds.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind)}
