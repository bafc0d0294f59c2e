"""Whatever takes rows with weights: a row that weighs 0 is not there, one that weighs 3 is there three times."""

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.errors import DataError
from burnish.metrics.classification import Accuracy
from burnish.metrics.compare import Told, compare, compare_means
from burnish.metrics.regression import Rmse
from burnish.metrics.tally import Tally, mean_score
from burnish.registry import default_registry
from burnish.report.classes import class_scores, ranking_curves
from burnish.report.predictions import read_predictions
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Profile, RowOrigins, Rows
from burnish.tasks.baselines import Standing, constant, linear
from burnish.tasks.probabilities import best_threshold, fit_calibration, refined
from burnish.tasks.tabular import Tabular

NUM_ROWS = 240
LABELS = ("a", "b", "c")
KINDS = ("binary", "multiclass", "multilabel", "regression")


@dataclass(frozen=True)
class Weighed:
    """Rows with whole weights, and the same rows repeated or left out as their weights say."""

    weights: np.ndarray

    @property
    def repeated(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.weights)), self.weights.astype(np.int64))

    def both(self, outcome: Outcome) -> tuple[Outcome, Outcome]:
        """Give an outcome with weights, and the one that says the same without."""
        spelled = replace(outcome.part(self.repeated), rows=np.arange(len(self.repeated)))
        return replace(outcome, weights=self.weights), spelled


def some_weights(seed: int = 0, *, most: int = 4) -> Weighed:
    return Weighed(np.random.default_rng(seed).integers(0, most, NUM_ROWS).astype(np.float64))


def present_or_not() -> Weighed:
    return some_weights(most=2)


def outcome(kind: str, *, seed: int = 0) -> Outcome:
    """Give rows of which the weighty ones are easier, so that weights matter."""
    random = np.random.default_rng(seed)
    rows = np.arange(NUM_ROWS)
    if kind == "regression":
        truth = np.random.default_rng(7).gamma(2.0, size=NUM_ROWS) + 0.1
        said = np.abs(truth + random.normal(size=NUM_ROWS) * (1 + rows % 3)) + 0.1
        return Outcome(kind, rows, said, said, truth)
    size = 2 if kind == "binary" else 3
    truth = np.random.default_rng(7).integers(0, 2, (NUM_ROWS, size))
    shares = random.dirichlet(np.ones(size), NUM_ROWS)
    if kind == "multilabel":
        return Outcome(kind, rows, shares, (shares > 0.4).astype(np.int64), truth, LABELS)
    classes = truth.argmax(axis=1)
    shares = 0.7 * shares + 0.3 * np.eye(size)[classes]
    return Outcome(kind, rows, shares, shares.argmax(axis=1), classes, LABELS[:size])


REQUIRED = {"sklearn": {"name": "mean_absolute_error"}}
"""What a metric must be told."""


def scoring(kind: str) -> list[Metric]:
    """Give every metric of the catalog that scores this kind."""
    registry = default_registry()
    names = [listing.name for listing in registry.names("metrics")]
    made = [registry.load("metrics", name)(**REQUIRED.get(name, {})) for name in names]
    return [metric for metric in made if metric.applies(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_score_counts_rows_by_their_weight(kind: str) -> None:
    weighed, spelled = some_weights().both(outcome(kind))
    for metric in scoring(kind):
        found, expected = (Tally([metric], [each]).scores() for each in (weighed, spelled))
        assert found == pytest.approx(expected, rel=1e-9), metric


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_weigh_nothing_show_in_no_digit_of_a_score_or_its_interval(kind: str) -> None:
    weighed, spelled = present_or_not().both(outcome(kind))
    metrics = scoring(kind)
    assert Tally(metrics, [weighed]).scored(resamples=20) == Tally(metrics, [spelled]).scored(resamples=20)
    parts = [[(metrics[0], each)] for each in (weighed, spelled)]
    assert mean_score(parts[0], resamples=20) == mean_score(parts[1], resamples=20)


@pytest.mark.parametrize(("kind", "metric"), [("binary", Accuracy()), ("regression", Rmse())])
def test_rows_that_weigh_nothing_show_in_no_digit_of_a_comparison(kind: str, metric: Metric) -> None:
    first, second = (present_or_not().both(outcome(kind, seed=seed)) for seed in (1, 2))
    weighed, spelled = (
        compare(left, right, metric=metric, resamples=200) for left, right in zip(first, second, strict=True)
    )
    assert weighed == spelled
    told = [Told([left], [right], metric, metric.names()[0]) for left, right in zip(first, second, strict=True)]
    means = [compare_means([each], score="mean", resamples=200) for each in told]
    assert means[0] == means[1]


def test_a_comparison_of_weighted_rows_draws_its_p_from_the_weights() -> None:
    # By their number the second run is right far more often; by their weight the two are the same.
    truth = np.zeros(NUM_ROWS, np.int64)
    group = np.repeat([0, 1, 2, 3], [40, 10, 10, NUM_ROWS - 60])
    said = [np.isin(group, wrong).astype(np.int64) for wrong in ([0, 1], [2])]
    weights = np.where(group == 0, 1e-6, 1.0)
    first, second = (
        Outcome("binary", np.arange(NUM_ROWS), np.eye(2)[each], each, truth, ("no", "yes"), weights=weights)
        for each in said
    )
    plain = compare(replace(first, weights=None), replace(second, weights=None), metric=Accuracy())
    assert (plain.test, plain.is_shown) == ("McNemar, exact", True)
    found = compare(first, second, metric=Accuracy())
    assert (found.test, found.is_shown) == ("paired bootstrap", False)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 0 < found.high


@pytest.mark.parametrize("amount", [1.0, 2.5])
def test_equal_weights_leave_the_exact_test_as_it_is(amount: float) -> None:
    first, second = (outcome("binary", seed=seed) for seed in (1, 2))
    plain = compare(first, second, metric=Accuracy())
    even = np.full(NUM_ROWS, amount)
    found = compare(replace(first, weights=even), replace(second, weights=even), metric=Accuracy())
    assert (found.test, found.p_value) == ("McNemar, exact", plain.p_value)


@pytest.mark.parametrize("other", [None, some_weights(1).weights])
def test_runs_whose_rows_weigh_otherwise_are_not_paired(other: np.ndarray | None) -> None:
    first = replace(outcome("binary"), weights=some_weights(0).weights)
    second = replace(outcome("binary", seed=1), weights=other)
    with pytest.raises(DataError, match="A and B were scored with different row weights"):
        compare(first, second, metric=Accuracy())
    with pytest.raises(DataError, match="A and B were scored with different row weights"):
        compare_means([Told([first], [second], Accuracy(), "accuracy")], score="accuracy")


def test_a_run_without_weights_is_paired_with_one_whose_weights_are_all_1() -> None:
    first, second = outcome("binary", seed=1), replace(outcome("binary", seed=2), weights=np.ones(NUM_ROWS))
    assert compare(first, second, metric=Accuracy()).test == "McNemar, exact"


@pytest.mark.parametrize("how", ["temperature", "platt"])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_calibration_is_fitted_to_weights(kind: str, how: str) -> None:
    weighed, spelled = some_weights().both(outcome(kind))
    found = fit_calibration(weighed.outputs, weighed.truth, how=how, weights=weighed.weights)
    expected = fit_calibration(spelled.outputs, spelled.truth, how=how)
    assert np.asarray(found.slope) == pytest.approx(np.asarray(expected.slope), abs=1e-6)
    assert np.asarray(found.shift) == pytest.approx(np.asarray(expected.shift), abs=1e-6)


@pytest.mark.parametrize("score", ["f1", "accuracy", "matthews"])
def test_a_threshold_is_fitted_to_weights(score: str) -> None:
    weighed, spelled = some_weights().both(outcome("binary"))
    assert best_threshold(weighed, score) == pytest.approx(best_threshold(spelled, score))


def test_what_a_task_refines_is_fitted_to_weights() -> None:
    profile = Profile("binary", LABELS[:2])
    weighed, spelled = (
        refined(each, profile, calibration="platt", threshold="f1").facts["fitted"]
        for each in some_weights().both(outcome("binary"))
    )
    assert weighed["threshold"] == pytest.approx(spelled["threshold"], abs=1e-6)
    assert weighed["calibration"]["slope"] == pytest.approx(spelled["calibration"]["slope"], abs=1e-6)
    assert weighed["calibration"]["shift"] == pytest.approx(spelled["calibration"]["shift"], abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_baselines_learn_from_weighted_rows(kind: str) -> None:
    weighed = some_weights()
    said = outcome(kind)
    features = np.random.default_rng(5).normal(size=(NUM_ROWS, 4)) + np.resize(said.truth, NUM_ROWS)[:, None]
    frame = Standing(kind, said.labels, said.rows, said.truth)
    again = weighed.repeated
    assert constant(said.truth, frame, weighed.weights) == pytest.approx(constant(said.truth[again], frame))
    found = linear(features, said.truth, frame=frame, seed=0, weights=weighed.weights)(features)
    expected = linear(features[again], said.truth[again], frame=frame, seed=0)(features)
    assert found == pytest.approx(expected, abs=2e-2 if kind == "multiclass" else 1e-3)


def test_a_baseline_does_not_learn_a_class_whose_rows_weigh_nothing() -> None:
    targets = np.arange(NUM_ROWS) % 2
    features = np.random.default_rng(5).normal(size=(NUM_ROWS, 4))
    frame = Standing("binary", LABELS[:2], np.arange(NUM_ROWS), targets)
    found = linear(features, targets, frame=frame, seed=0, weights=1.0 - targets)(features)
    assert (found[:, 1] == 0).all()


@pytest.fixture
def figures(tmp_path):
    """Give the report's view of the same rows, weighted and spelled out."""

    def read(kind: str):
        found = []
        for name, each in zip(("weighed", "spelled"), some_weights().both(outcome(kind)), strict=True):
            truth, said = ([str(value) for value in column] for column in (each.truth, each.decisions))
            columns = {"row": each.rows, "truth": truth, "predicted": said, "confidence": each.outputs.max(axis=1)}
            if each.weights is not None:
                columns["weight"] = each.weights
            pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
            found.append(read_predictions(tmp_path / f"{name}.parquet", kind=kind, labels=("0", "1", "2"), names={}))
        return found

    return read


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_the_report_draws_calibration_and_confusion_by_weight(figures, kind: str) -> None:
    weighed, spelled = figures(kind)
    points = [[(p.confidence, p.accuracy, p.count) for p in each.calibration().points] for each in (weighed, spelled)]
    assert np.asarray(points[0]) == pytest.approx(np.asarray(points[1]))
    assert weighed.confusion().counts == spelled.confusion().counts


def test_the_report_shows_no_row_that_weighs_nothing(figures) -> None:
    weighed, _ = figures("binary")
    weights = some_weights().weights
    assert weights.min() == 0
    assert all(weights[int(mistake.row.removeprefix("row "))] > 0 for mistake in weighed.mistakes())
    assert sum(weighed.label_counts().values()) == int((weights > 0).sum())


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel"])
def test_the_report_scores_classes_and_draws_curves_by_weight(kind: str) -> None:
    weighed, spelled = some_weights().both(outcome(kind))
    found, expected = ([(s.precision, s.recall, s.f1) for s in class_scores(each)] for each in (weighed, spelled))
    assert np.asarray(found) == pytest.approx(np.asarray(expected))
    found, expected = ([(c.roc_auc, c.average_precision) for c in ranking_curves(each)] for each in (weighed, spelled))
    assert np.asarray(found) == pytest.approx(np.asarray(expected))


def test_balanced_classes_are_balanced_by_weight() -> None:
    labels, weights = np.array(["no", "yes"])[outcome("binary").truth], some_weights()
    columns = {"x": np.random.default_rng(2).normal(size=NUM_ROWS), "y": labels, "w": weights.weights}
    spelled = {name: column[weights.repeated] for name, column in columns.items() if name != "w"}
    weighed, expected = (
        task.head(task.profile(rows_of(pa.table(table)))).objective.class_weights
        for task, table in (
            (Tabular(target="y", weight="w", class_weights="balanced"), columns),
            (Tabular(target="y", class_weights="balanced"), spelled),
        )
    )
    assert weighed == pytest.approx(expected)


def rows_of(table: pa.Table) -> Rows:
    return Rows(table, RowOrigins(("t.csv",), np.zeros(len(table), np.int32), np.arange(len(table)), (2,)))
