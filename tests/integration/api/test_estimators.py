"""Estimators fit into what scikit-learn does with them: cross-validation, searches, pipelines, copies."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import burnish
from tests.project import BAD, GOOD, PLAIN

pytestmark = pytest.mark.usefixtures("quick_workers")

FAST = {"train.length": "20 epochs", "optimizer.learning_rate": 0.05}


def table(rows: int = 120) -> tuple[pd.DataFrame, pd.Series]:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"area": draw.normal(size=rows), "city": draw.choice(["a", "b"], rows)})
    frame.loc[::9, "area"] = np.nan
    return frame, pd.Series(np.where(frame.area.fillna(0) + (frame.city == "a") > 0.5, 7, 3))


@pytest.fixture(scope="module")
def fitted() -> burnish.BurnishClassifier:
    return burnish.BurnishClassifier(model="linear", options=FAST, random_state=3).fit(*table())


def test_a_frame_is_learned_with_its_own_labels(fitted: burnish.BurnishClassifier) -> None:
    frame, labels = table()
    assert fitted.score(frame, labels) > 0.85
    assert fitted.classes_.tolist() == [3, 7]
    assert fitted.n_features_in_ == 2
    assert fitted.feature_names_in_.tolist() == ["area", "city"]
    probabilities = fitted.predict_proba(frame)
    assert probabilities.shape == (120, 2)
    assert np.allclose(probabilities.sum(axis=1), 1)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"city": "town"}))


def test_an_array_of_the_same_columns_is_answered_alike(fitted: burnish.BurnishClassifier) -> None:
    frame, _ = table()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = fitted.predict_proba(frame.to_numpy())
    assert np.array_equal(found, fitted.predict_proba(frame))


def test_rows_of_no_weight_are_not_learned() -> None:
    frame, labels = table()
    wrong, weights = labels.to_numpy().copy(), np.ones(len(labels))
    wrong[::2] = 10 - wrong[::2]  # the other class
    weights[::2] = 0
    estimator = burnish.BurnishClassifier(model="linear", options=FAST, random_state=3)
    assert estimator.fit(frame, wrong, sample_weight=weights).score(frame, labels) > 0.8
    assert estimator.model_.columns == ("area", "city")
    with pytest.raises(ValueError, match="Negative values"):
        estimator.fit(frame, labels, sample_weight=-weights)
    with pytest.raises(ValueError, match="sample_weight is for tables"):
        estimator.fit(["good", "bad", "good", "bad"], [0, 1, 0, 1], sample_weight=[1, 1, 1, 1])


def test_parameters_are_those_of_the_constructor(fitted: burnish.BurnishClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "model_")
    assert copy.set_params(model="gbdt").model == "gbdt"


def test_a_fitted_estimator_may_be_pickled(fitted: burnish.BurnishClassifier) -> None:
    frame, _ = table()
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(frame), fitted.predict_proba(frame))


def test_runs_go_below_a_folder_that_is_given_and_arrays_are_searched_over(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    values = draw.normal(size=(60, 3))
    target = values @ [1.0, 2.0, 3.0]
    steps = make_pipeline(StandardScaler(), burnish.BurnishRegressor(options=FAST, dir=tmp_path))
    grid = {"burnishregressor__model": ["linear"]}
    search = GridSearchCV(steps, grid, cv=2, refit=False, error_score="raise").fit(values, target)
    assert search.best_score_ > 0.5
    assert len([*tmp_path.glob("fit-*/run/plan.yaml")]) == 2


def test_texts_are_cross_validated(tiny_bert: Path) -> None:
    draw = np.random.default_rng(3)
    words = [(GOOD if number % 2 else BAD, number % 2) for number in range(64)]
    texts = pd.Series([" ".join([*draw.choice(PLAIN, 3), *draw.choice(tone, 3)]) for tone, _ in words])
    options = {"train.length": "30 epochs", "train.batch": 8, "optimizer.learning_rate": 3e-3, "task.max_length": 16}
    estimator = burnish.BurnishClassifier(model=str(tiny_bert), options=options)
    scores = cross_val_score(estimator, texts, [label for _, label in words], cv=2, error_score="raise")
    assert scores.mean() > 0.7


@pytest.mark.parametrize(
    ("rows", "labels", "sentence"),
    [
        ([[1.0], [2.0]], [1, 1], "y must hold two classes or more"),
        ([[1.0], [2.0]], [1, 2, 3], "inconsistent numbers of samples"),
        ([[1.0], [2.0]], None, "requires y to be passed"),
        ([1.0, 2.0], [1, 2], "Expected 2D array, got 1D array"),
        ([[np.inf], [2.0]], [1, 2], "infinity"),
    ],
)
def test_what_cannot_be_fitted_is_a_value_error(rows: object, labels: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        burnish.BurnishClassifier().fit(rows, labels)
