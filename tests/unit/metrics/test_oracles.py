"""Every score equals what scikit-learn or scipy gives, on whole sets and on resampled ones."""

import warnings

import numpy as np
import pytest
import sklearn.metrics as sk
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from burnish.metrics.classification import (
    F1,
    Accuracy,
    CalibrationError,
    Confusion,
    LogLoss,
    Matthews,
    PrAuc,
    Precision,
    Recall,
    RocAuc,
)
from burnish.metrics.regression import R2, Mae, Mse, Pearson, PearsonAndSpearman, Spearman
from burnish.spec.values import Outcome

# scikit-learn takes milliseconds a call, and there are many scores to compare.
FEW = settings(max_examples=20)


def examples(*arguments, **keywords):
    return lambda test: FEW(given(*arguments, **keywords)(test))


NAMES = ("ham", "spam", "egg", "tin", "jam")


def classes(truth, decisions, *, num_classes=2, outputs=None) -> Outcome:
    truth, decisions = np.asarray(truth, dtype=np.int64), np.asarray(decisions, dtype=np.int64)
    if outputs is None:
        outputs = np.eye(num_classes)[decisions] * 0.8 + 0.2 / num_classes
    kind = "binary" if num_classes == 2 else "multiclass"
    return Outcome(kind, np.arange(len(truth)), np.asarray(outputs), decisions, truth, NAMES[:num_classes])


def numbers(values, truth) -> Outcome:
    values, truth = np.asarray(values, dtype=np.float64), np.asarray(truth, dtype=np.float64)
    return Outcome("regression", np.arange(len(values)), values, values, truth)


def label_sets(truth, outputs) -> Outcome:
    truth, outputs = np.asarray(truth), np.asarray(outputs)
    decisions = (outputs >= 0.5).astype(np.int64)
    return Outcome("multilabel", np.arange(len(truth)), outputs, decisions, truth, NAMES[: truth.shape[1]])


@st.composite
def class_outcomes(draw, *, min_classes=2, max_classes=4, min_rows=1, max_rows=25) -> Outcome:
    """Few examples must still hold every odd case, so rows come from a drawn seed and not cell by cell."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    num_classes = draw(st.integers(min_classes, max_classes))
    num_rows = draw(st.integers(min_rows, max_rows))
    # Of some classes no row is true, and few distinct outputs make ties common.
    occurring = random.permutation(num_classes)[: random.integers(1, num_classes + 1)]
    odds = random.integers(0, 5, (num_rows, num_classes)) + 0.25
    outputs = odds / odds.sum(axis=1, keepdims=True)
    truth = random.choice(occurring, num_rows)
    return classes(truth, outputs.argmax(axis=1), num_classes=num_classes, outputs=outputs)


@st.composite
def label_set_outcomes(draw, *, max_rows=20) -> Outcome:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, max_rows)), draw(st.integers(2, 4))
    # A label may be true of no row, of some or of all.
    truth = random.random(shape) < random.choice([0.0, 0.4, 1.0], shape[1], p=[0.2, 0.6, 0.2])
    return label_sets(truth.astype(np.int64), random.integers(0, 6, shape) / 5)


@st.composite
def number_outcomes(draw, *, min_rows=2, max_rows=25) -> Outcome:
    num_rows = draw(st.integers(min_rows, max_rows))
    column = st.lists(st.integers(-40, 40).map(lambda n: n / 8), min_size=num_rows, max_size=num_rows)
    return numbers(draw(column), draw(column))


@st.composite
def with_counts(draw, outcomes):
    """An outcome and two sets of bootstrap-like counts, none of them empty."""
    outcome = draw(outcomes)
    size = len(outcome.rows)
    counts = np.asarray(
        draw(st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=2, max_size=2)),
        dtype=np.float64,
    )
    counts[counts.sum(axis=1) == 0, 0] = 2.0
    return outcome, counts


def take(outcome: Outcome, index) -> Outcome:
    index = np.asarray(index)
    return Outcome(
        outcome.kind,
        outcome.rows[index],
        outcome.outputs[index],
        outcome.decisions[index],
        None if outcome.truth is None else outcome.truth[index],
        outcome.labels,
    )


def repeated(outcome: Outcome, counts) -> Outcome:
    """The set that the counts describe, written out row by row."""
    return take(outcome, np.repeat(np.arange(len(outcome.rows)), np.asarray(counts, dtype=np.int64)))


def check(metric, sample, oracle) -> None:
    """Compare the whole set, and every resampled set written out row by row, with the oracle."""
    outcome, counts = sample
    name = metric.names()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole, resampled = metric.scores(outcome)[name], metric.scores(outcome, counts)[name]
    assert whole.shape == (1,)
    assert resampled.shape == (len(counts),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(whole[0], oracle(outcome), rtol=1e-9, atol=1e-9)
        expected = [oracle(repeated(outcome, row)) for row in counts]
    np.testing.assert_allclose(resampled, expected, rtol=1e-9, atol=1e-9)


@examples(with_counts(class_outcomes()))
def test_accuracy(sample) -> None:
    check(Accuracy(), sample, lambda o: sk.accuracy_score(o.truth, o.decisions))


@examples(with_counts(label_set_outcomes()))
def test_accuracy_of_label_sets(sample) -> None:
    check(Accuracy(), sample, lambda o: sk.accuracy_score(o.truth, o.decisions))


@examples(with_counts(class_outcomes()))
def test_matthews(sample) -> None:
    check(Matthews(), sample, lambda o: sk.matthews_corrcoef(o.truth, o.decisions))


AVERAGED = [(F1, sk.f1_score), (Precision, sk.precision_score), (Recall, sk.recall_score)]


@pytest.mark.parametrize(("metric", "oracle"), AVERAGED)
@pytest.mark.parametrize("average", ["macro", "micro", "weighted"])
@examples(of_classes=with_counts(class_outcomes()), of_label_sets=with_counts(label_set_outcomes()))
def test_averages(metric, oracle, average, of_classes, of_label_sets) -> None:
    for sample in (of_classes, of_label_sets):
        check(metric(average=average), sample, lambda o: oracle(o.truth, o.decisions, average=average, zero_division=0))


@pytest.mark.parametrize(("metric", "oracle"), AVERAGED)
@examples(sample=with_counts(class_outcomes(max_classes=2)))
def test_binary(metric, oracle, sample) -> None:
    check(metric(), sample, lambda o: oracle(o.truth, o.decisions, zero_division=0))
    check(metric(average="binary"), sample, lambda o: oracle(o.truth, o.decisions, zero_division=0))


@pytest.mark.parametrize(("metric", "oracle"), AVERAGED)
@examples(sample=with_counts(class_outcomes(min_classes=3)))
def test_one_positive_label_of_several(metric, oracle, sample) -> None:
    def one_against_rest(o):
        return oracle(o.truth == 2, o.decisions == 2, zero_division=0)

    check(metric(positive="egg"), sample, one_against_rest)


@pytest.mark.parametrize(("metric", "oracle"), AVERAGED)
@examples(sample=with_counts(class_outcomes(min_classes=3)))
def test_auto_is_macro_for_several_classes(metric, oracle, sample) -> None:
    check(metric(), sample, lambda o: oracle(o.truth, o.decisions, average="macro", zero_division=0))


@examples(class_outcomes(min_classes=3))
def test_confusion_counts_of_each_of_several_labels(outcome) -> None:
    labels = range(len(outcome.labels))
    expected = sk.multilabel_confusion_matrix(outcome.truth, outcome.decisions, labels=labels)
    found = np.asarray([value[0] for value in Confusion().scores(outcome).values()])
    # Ours go TP, FP, FN, TN for each label; theirs are [[TN, FP], [FN, TP]].
    np.testing.assert_array_equal(found.reshape(-1, 4), expected.reshape(-1, 4)[:, [3, 1, 2, 0]])
    one = [value[0] for value in Confusion(positive=outcome.labels[1]).scores(outcome).values()]
    np.testing.assert_array_equal(one, found[4:8])


@examples(label_set_outcomes())
def test_confusion_counts_of_label_sets(outcome) -> None:
    expected = sk.multilabel_confusion_matrix(outcome.truth, outcome.decisions)
    found = np.asarray([value[0] for value in Confusion().scores(outcome).values()])
    np.testing.assert_array_equal(found.reshape(-1, 4), expected.reshape(-1, 4)[:, [3, 1, 2, 0]])


@examples(class_outcomes(max_classes=2))
def test_confusion_counts(outcome) -> None:
    negatives, positives = sk.confusion_matrix(outcome.truth, outcome.decisions, labels=[0, 1])
    scores = {name: value[0] for name, value in Confusion().scores(outcome).items()}
    assert scores == {
        "true_positives": positives[1],
        "false_positives": negatives[1],
        "false_negatives": positives[0],
        "true_negatives": negatives[0],
    }


@examples(with_counts(class_outcomes()))
def test_log_loss(sample) -> None:
    check(LogLoss(), sample, lambda o: sk.log_loss(o.truth, o.outputs, labels=range(len(o.labels))))


@examples(with_counts(label_set_outcomes()))
def test_log_loss_of_label_sets(sample) -> None:
    def mean_over_labels(o):
        pairs = zip(o.truth.T, o.outputs.T, strict=True)
        return np.mean([sk.log_loss(truth, output, labels=[0, 1]) for truth, output in pairs])

    check(LogLoss(), sample, mean_over_labels)


def test_log_loss_of_a_certain_mistake_is_finite_as_in_scikit_learn() -> None:
    for dtype in (np.float32, np.float64):
        outputs = np.asarray([[1.0, 0.0], [0.5, 0.5]], dtype=dtype)
        outcome = classes([1, 0], [0, 0], outputs=outputs)
        assert LogLoss().scores(outcome)["log_loss"][0] == pytest.approx(sk.log_loss([1, 0], outputs), rel=1e-6)


@pytest.mark.parametrize("bins", [1, 7, 15])
@examples(sample=with_counts(st.one_of(class_outcomes(), label_set_outcomes())))
def test_calibration_error(bins, sample) -> None:
    check(CalibrationError(bins=bins), sample, lambda o: plain_calibration_error(o, bins))


def plain_calibration_error(outcome, bins) -> float:
    decided = []
    for output, decision, truth in zip(outcome.outputs, outcome.decisions, outcome.truth, strict=True):
        if outcome.kind == "multilabel":
            pairs = zip(output, decision, truth, strict=True)
            decided += [(p if said else 1 - p, said == true) for p, said, true in pairs]
        else:
            decided.append((output[decision], decision == truth))
    total = 0.0
    for at in range(bins):
        group = [(p, right) for p, right in decided if at < p * bins <= at + 1 or (p == 0 and at == 0)]
        if group:
            total += abs(sum(right for _, right in group) - sum(p for p, _ in group))
    return total / len(decided)


@examples(with_counts(class_outcomes(max_classes=2)))
def test_roc_auc(sample) -> None:
    check(RocAuc(), sample, lambda o: sk.roc_auc_score(o.truth, o.outputs[:, 1]))


@examples(with_counts(class_outcomes(max_classes=2)))
def test_pr_auc(sample) -> None:
    check(PrAuc(), sample, lambda o: sk.average_precision_score(o.truth, o.outputs[:, 1]))


@examples(class_outcomes(min_classes=3, max_classes=3, min_rows=6))
def test_roc_auc_of_several_classes_is_one_against_rest(outcome) -> None:
    assume(len(set(outcome.truth)) == 3)
    expected = sk.roc_auc_score(outcome.truth, outcome.outputs, multi_class="ovr", average="macro")
    assert RocAuc().scores(outcome)["roc_auc"][0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "oracle"), [(RocAuc(), sk.roc_auc_score), (PrAuc(), sk.average_precision_score)])
@examples(sample=with_counts(st.one_of(class_outcomes(min_classes=3), label_set_outcomes())))
def test_ranking_averages_over_labels_that_have_both_classes(metric, oracle, sample) -> None:
    def macro(o):
        is_label = o.truth if o.truth.ndim == 2 else o.truth[:, None] == np.arange(o.outputs.shape[1])
        scored = [oracle(t, p) for t, p in zip(is_label.T, o.outputs.T, strict=True) if 0 < t.sum() < len(t)]
        return np.mean(scored) if scored else np.nan

    check(metric, sample, macro)


def scipy_correlation(function, outcome) -> float:
    if len(outcome.rows) < 2:
        return np.nan
    return function(outcome.outputs, outcome.truth).statistic


@examples(with_counts(number_outcomes()))
def test_pearson(sample) -> None:
    check(Pearson(), sample, lambda o: scipy_correlation(stats.pearsonr, o))


@examples(with_counts(number_outcomes()))
def test_pearson_and_spearman(sample) -> None:
    check(
        PearsonAndSpearman(),
        sample,
        lambda o: (scipy_correlation(stats.pearsonr, o) + scipy_correlation(stats.spearmanr, o)) / 2,
    )


@examples(with_counts(number_outcomes()))
def test_spearman(sample) -> None:
    check(Spearman(), sample, lambda o: scipy_correlation(stats.spearmanr, o))


@examples(with_counts(number_outcomes(min_rows=1)))
def test_errors(sample) -> None:
    check(Mse(), sample, lambda o: sk.mean_squared_error(o.truth, o.outputs))
    check(Mae(), sample, lambda o: sk.mean_absolute_error(o.truth, o.outputs))


@examples(number_outcomes(min_rows=1))
def test_r2(outcome) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = sk.r2_score(outcome.truth, outcome.outputs)
    assert R2().scores(outcome)["r2"][0] == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


WEIGHTED = [
    (Accuracy(), sk.accuracy_score),
    (Matthews(), sk.matthews_corrcoef),
    (F1(average="macro"), lambda t, d, **w: sk.f1_score(t, d, average="macro", **w)),
    (Precision(average="weighted"), lambda t, d, **w: sk.precision_score(t, d, average="weighted", **w)),
    (Recall(average="micro"), lambda t, d, **w: sk.recall_score(t, d, average="micro", **w)),
]


@pytest.mark.parametrize(("metric", "oracle"), WEIGHTED)
@examples(outcome=class_outcomes(), data=st.data())
def test_weights_of_decisions_mean_what_sample_weight_means(metric, oracle, outcome, data) -> None:
    weights = data.draw(positive_weights(len(outcome.rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = oracle(outcome.truth, outcome.decisions, sample_weight=weights)
    assert metric.scores(outcome, weights[None])[metric.names()[0]][0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("metric", "oracle"), [(RocAuc(), sk.roc_auc_score), (PrAuc(), sk.average_precision_score)])
@examples(outcome=class_outcomes(max_classes=2), data=st.data())
def test_weights_of_rankings_mean_what_sample_weight_means(metric, oracle, outcome, data) -> None:
    weights = data.draw(positive_weights(len(outcome.rows)))
    assume(len(set(outcome.truth)) == 2)
    expected = oracle(outcome.truth, outcome.outputs[:, 1], sample_weight=weights)
    assert metric.scores(outcome, weights[None])[metric.names()[0]][0] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("metric", "oracle"),
    [(Mse(), sk.mean_squared_error), (Mae(), sk.mean_absolute_error), (R2(), sk.r2_score)],
)
@examples(outcome=number_outcomes(), data=st.data())
def test_weights_of_errors_mean_what_sample_weight_means(metric, oracle, outcome, data) -> None:
    weights = data.draw(positive_weights(len(outcome.rows)))
    expected = oracle(outcome.truth, outcome.outputs, sample_weight=weights)
    assert metric.scores(outcome, weights[None])[metric.names()[0]][0] == pytest.approx(expected, rel=1e-7, abs=1e-9)


def positive_weights(size):
    return st.lists(st.integers(1, 40), min_size=size, max_size=size).map(lambda row: np.asarray(row) / 8)


def test_the_generator_reaches_the_cases_in_which_averages_differ() -> None:
    seen = set()

    @examples(class_outcomes())
    def look(outcome) -> None:
        true, said = set(outcome.truth.tolist()), set(outcome.decisions.tolist())
        every = set(range(len(outcome.labels)))
        cases = {"said only": said - true, "true only": true - said, "neither": every - said - true}
        seen.update(name for name, labels in cases.items() if labels)

    look()
    assert seen == {"said only", "true only", "neither"}
