"""Any batch size, order or number of processes gives the same digits; intervals are deterministic."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.errors import ConfigError, DataError
from burnish.metrics.classification import F1, Accuracy, CalibrationError, Confusion, LogLoss, Matthews, PrAuc, RocAuc
from burnish.metrics.regression import R2, Mae, Mse, Pearson, Spearman
from burnish.metrics.tally import Tally, interval, join_outcomes, mean_score, rehearse, resample
from burnish.spec.values import Outcome, Score

ON_CLASSES = (Accuracy(), F1(), Matthews(), Confusion(), LogLoss(), CalibrationError(), RocAuc(), PrAuc())
ON_NUMBERS = (Pearson(), Spearman(), Mse(), Mae(), R2())


def binary(num_rows: int, *, seed: int = 0) -> Outcome:
    random = np.random.default_rng(seed)
    outputs = random.dirichlet([1, 1], num_rows)
    truth = (outputs[:, 1] + random.normal(0, 0.3, num_rows) > 0.5).astype(np.int64)
    return Outcome("binary", np.arange(num_rows) * 3, outputs, outputs.argmax(axis=1), truth, ("no", "yes"))


def regression(num_rows: int) -> Outcome:
    random = np.random.default_rng(1)
    values = random.normal(size=num_rows)
    truth = values + random.normal(size=num_rows)
    return Outcome("regression", np.arange(num_rows), values, values, truth)


def take(outcome: Outcome, index) -> Outcome:
    return Outcome(
        outcome.kind,
        outcome.rows[index],
        outcome.outputs[index],
        outcome.decisions[index],
        None if outcome.truth is None else outcome.truth[index],
        outcome.labels,
    )


@settings(max_examples=40)
@given(
    order=st.permutations(range(41)),
    cuts=st.lists(st.integers(0, 41), max_size=6),
    numeric=st.booleans(),
)
def test_any_split_and_order_gives_equal_digits(order, cuts, numeric) -> None:
    outcome, metrics = (regression(41), ON_NUMBERS) if numeric else (binary(41), ON_CLASSES)
    merged = Tally(metrics, [take(outcome, index) for index in np.split(np.asarray(order), sorted(cuts))])
    assert merged.scores() == Tally(metrics, [outcome]).scores()
    assert merged.scored(resamples=20) == Tally(metrics, [outcome]).scored(resamples=20)


def test_the_outcome_is_in_row_order() -> None:
    whole = join_outcomes([take(binary(9), slice(5, 9)), take(binary(9), slice(0, 5))])
    assert whole.rows.tolist() == [0, 3, 6, 9, 12, 15, 18, 21, 24]
    assert (whole.truth == binary(9).truth).all()


def test_an_interval_holds_the_score_and_is_the_same_each_time() -> None:
    tally = Tally(ON_CLASSES, [binary(200)])
    scored = tally.scored(seed=7)
    assert scored == tally.scored(seed=7)
    assert scored != tally.scored(seed=8)
    accuracy = scored["accuracy"]
    assert accuracy.low is not None
    assert accuracy.high is not None
    assert accuracy.low < accuracy.value < accuracy.high


def test_the_interval_of_a_share_is_as_wide_as_theory_says() -> None:
    num_rows = 2000
    accuracy = Tally([Accuracy()], [binary(num_rows)]).scored(resamples=2000)["accuracy"]
    error = np.sqrt(accuracy.value * (1 - accuracy.value) / num_rows)
    assert accuracy.high - accuracy.low == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_the_number_of_sets_in_memory_changes_no_digit(monkeypatch) -> None:
    whole = resample([Accuracy()], binary(50), seed=0, resamples=65)["accuracy"]
    monkeypatch.setattr("burnish.metrics.sums.CHUNK", 130)
    in_pieces = resample([Accuracy()], binary(50), seed=0, resamples=65)["accuracy"]
    assert len(whole) == 65
    assert in_pieces.tolist() == whole.tolist()


def test_rows_without_truth_have_no_scores() -> None:
    outcome = binary(5)
    unlabelled = Outcome("binary", outcome.rows, outcome.outputs, outcome.decisions, None, outcome.labels)
    assert Tally(ON_CLASSES, [unlabelled]).scores() == {}
    with pytest.raises(DataError, match="some have labels and others have none"):
        join_outcomes([unlabelled, Outcome("binary", *[np.zeros(0)] * 4)])


def test_one_row_has_a_score_and_no_interval() -> None:
    assert Tally([Accuracy()], [take(binary(5), slice(0, 1))]).scored()["accuracy"].low is None


def test_an_undefined_score_has_no_interval() -> None:
    constant = Outcome("regression", np.arange(4), np.ones(4), np.ones(4), np.arange(4.0))
    score = Tally([Pearson()], [constant]).scored()["pearson"]
    assert np.isnan(score.value)
    assert (score.low, score.high) == (None, None)
    assert interval(np.asarray([np.nan, 0.5]), value=0.5) == (0.5, 0.5)


def test_an_interval_holds_the_score_even_where_resampling_is_biased() -> None:
    assert interval(np.asarray([0.2, 0.3]), value=0.1)[0] == 0.1
    assert interval(np.asarray([0.2, 0.3]), value=0.5)[1] == 0.5


def test_metrics_that_do_not_apply_are_left_out() -> None:
    assert set(Tally([Accuracy(), Mse()], [binary(5)]).scored(intervals=False)) == {"accuracy"}
    assert Tally([Mse()], [regression(3)]).scored(intervals=False)["mse"] == Score(
        Tally([Mse()], [regression(3)]).scores()["mse"]
    )


def test_a_score_given_twice_is_refused() -> None:
    with pytest.raises(ConfigError, match="the score `f1` is given by more than one metric"):
        Tally([F1(), F1()])


def test_a_row_scored_twice_is_refused() -> None:
    with pytest.raises(DataError, match="row 0 was scored more than once"):
        Tally(ON_CLASSES, [binary(3), take(binary(3), slice(0, 1))]).scores()


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to score"):
        Tally(ON_CLASSES).scores()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "multilabel", "regression"])
def test_a_rehearsal_passes_for_every_kind_and_finds_a_wrong_label(kind) -> None:
    rehearse([*ON_CLASSES, *ON_NUMBERS], kind=kind, labels=() if kind == "regression" else ("a", "b"))
    if kind != "regression":
        with pytest.raises(ConfigError, match="is 'c', which is not one of the labels a, b"):
            rehearse([F1(positive="c")], kind=kind, labels=("a", "b"))


@pytest.mark.parametrize("cut", [0, 11, 30])
@pytest.mark.parametrize("outcome", [binary(30), regression(30)], ids=["classes", "numbers"])
def test_a_row_of_weight_three_counts_as_three_rows(outcome: Outcome, cut: int) -> None:
    metrics = ON_NUMBERS if outcome.kind == "regression" else ON_CLASSES
    weights = np.arange(30) % 4
    weighed = replace(outcome, weights=weights.astype(np.float64))
    repeated = take(outcome, np.repeat(np.arange(30), weights))
    expected = Tally(metrics, [replace(repeated, rows=np.arange(len(repeated.rows)))]).scores()
    parts = [weighed_part(weighed, index) for index in (slice(cut), slice(cut, None))]
    assert Tally(metrics, parts).scores() == pytest.approx(expected, abs=1e-12)


def weighed_part(outcome: Outcome, index: slice) -> Outcome:
    assert outcome.weights is not None
    return replace(take(outcome, index), weights=outcome.weights[index])


def test_the_mean_of_several_sets_is_narrower_than_its_parts_and_repeatable() -> None:
    parts = [(Accuracy(), binary(200)), (Matthews(), binary(120, seed=2))]
    alone = [Tally([metric], [outcome]).scored()[metric.names()[0]] for metric, outcome in parts]
    mean = mean_score(parts)
    assert mean.value == pytest.approx(np.mean([score.value for score in alone]))
    assert mean == mean_score(parts)
    # of independent sets, variances add up: half the root of the sum of squares
    widths = [score.high - score.low for score in alone]  # type: ignore[operator]  # both are known
    assert mean.high - mean.low == pytest.approx(np.hypot(*widths) / 2, rel=0.15)  # type: ignore[operator]  # as above
    assert mean_score(parts, intervals=False) == Score(mean.value)


def test_a_score_that_is_not_defined_says_why() -> None:
    one_class = replace(binary(20), truth=np.zeros(20, np.int64))
    found = Tally([RocAuc(), Accuracy()], [one_class]).scored()
    assert np.isnan(found["roc_auc"].value)
    assert found["roc_auc"].why == "the truth is `no` in every row"
    assert found["accuracy"].why is None
    flat = replace(regression(20), truth=np.full(20, 2.5))
    assert Tally([Pearson()], [flat]).scored(intervals=False)["pearson"].why == "the truth is 2.5 in every row"
    same = replace(regression(20), outputs=np.ones(20), decisions=np.ones(20))
    assert Tally([Pearson()], [same]).scored()["pearson"].why == "the prediction is the same for every row"
    mean = mean_score([(RocAuc(), one_class), (RocAuc(), binary(20))])
    assert (np.isnan(mean.value), mean.why) == (True, "a score that it is the mean of is not defined")
