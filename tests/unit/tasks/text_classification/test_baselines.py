"""Baselines learn what words tell, in every kind, and never fail a report."""

import sys
import warnings

import numpy as np
import pytest

from burnish.errors import DataError
from burnish.metrics.classification import F1, Accuracy
from burnish.metrics.regression import Pearson
from burnish.metrics.tally import Tally
from burnish.tasks.text_classification.baselines import baselines

GOOD, BAD = "a splendid and moving film", "a dreadful and tedious film"
TEXTS = [f"{GOOD} number {n}" if n % 3 else f"{BAD} number {n}" for n in range(60)]
IS_GOOD = np.asarray([int(n % 3 > 0) for n in range(60)])


def learn(truth, *, kind, texts=TEXTS, labels=(), **options):
    return baselines(
        texts[:40], truth[:40], eval_texts=texts[40:], eval_truth=truth[40:], kind=kind, labels=labels, **options
    )


def test_two_classes() -> None:
    found = learn(IS_GOOD, kind="binary", labels=("bad", "good"))
    assert list(found) == ["majority", "tfidf_logistic"]
    assert found["majority"].decisions.tolist() == [1] * 20
    assert found["majority"].outputs[0].tolist() == [14 / 40, 26 / 40]
    assert Tally([Accuracy()], [found["tfidf_logistic"]]).scores() == {"accuracy": 1.0}
    assert all(each.times.fit_seconds > 0 and each.times.predict_seconds > 0 for each in found.values())


def test_several_classes_of_which_one_is_never_seen() -> None:
    truth = np.where(np.arange(60) % 5 == 0, 3, IS_GOOD)
    texts = [text + (" with penguins" if n % 5 == 0 else "") for n, text in enumerate(TEXTS)]
    found = learn(truth, kind="multiclass", texts=texts, labels=("bad", "good", "never", "penguins"))
    assert found["tfidf_logistic"].outputs.shape == (20, 4)
    assert (found["tfidf_logistic"].outputs[:, 2] == 0).all()
    assert Tally([Accuracy()], [found["tfidf_logistic"]]).scores()["accuracy"] == 1.0


def test_label_sets_of_which_one_is_constant() -> None:
    truth = np.stack([IS_GOOD, 1 - IS_GOOD, np.ones_like(IS_GOOD)], axis=1)
    found = learn(truth, kind="multilabel", labels=("good", "bad", "film"))
    assert found["majority"].decisions[0].tolist() == [1, 0, 1]
    assert Tally([F1()], [found["tfidf_logistic"]]).scores()["f1"] == 1.0


def test_numbers() -> None:
    truth = IS_GOOD * 4.0
    found = learn(truth, kind="regression")
    assert list(found) == ["mean", "tfidf_ridge"]
    assert (found["mean"].outputs == truth[:40].mean()).all()
    assert Tally([Pearson()], [found["tfidf_ridge"]]).scores()["pearson"] > 0.95


@pytest.mark.parametrize("labels", [("a", "b"), ("a", "b", "c")])
def test_a_single_class_in_training_is_always_predicted(labels) -> None:
    kind = "binary" if len(labels) == 2 else "multiclass"
    found = learn(np.ones(60, dtype=np.int64), kind=kind, labels=labels)
    assert (found["tfidf_logistic"].decisions == 1).all()


def test_texts_that_share_no_word_fall_back_to_words_seen_once() -> None:
    found = baselines(["red", "blue"], [0, 1], eval_texts=["blue"], eval_truth=[1], kind="binary", labels=("r", "b"))
    assert found["tfidf_logistic"].decisions.tolist() == [1]


def test_texts_without_words_leave_the_majority_and_a_note() -> None:
    notes: list[str] = []
    found = learn(IS_GOOD, kind="binary", texts=["?"] * 60, labels=("bad", "good"), note=notes.append)
    assert list(found) == ["majority"]
    assert notes == ["the TF-IDF baseline was left out: the training texts hold no words of two letters or more"]


def test_without_scikit_learn_only_the_majority_is_told_and_how_to_get_the_other(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
    notes: list[str] = []
    assert list(learn(IS_GOOD, kind="binary", labels=("bad", "good"), note=notes.append)) == ["majority"]
    assert "the TF-IDF baseline was left out" in notes[0]
    assert "burnish[baselines]" in notes[0]


def test_the_sample_of_training_texts_is_seeded_and_gives_no_warning() -> None:
    def run(seed):
        return learn(IS_GOOD, kind="binary", labels=("bad", "good"), max_train=15, seed=seed)["tfidf_logistic"].outputs

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (run(1) == run(1)).all()
        assert (run(1) != run(2)).any()


def test_rows_are_kept() -> None:
    rows = np.arange(20) + 100
    assert (
        learn(IS_GOOD, kind="binary", labels=("bad", "good"), eval_rows=rows)["majority"].rows.tolist() == rows.tolist()
    )


def test_rows_without_labels_are_predicted_and_not_scored() -> None:
    found = baselines(
        TEXTS[:40], IS_GOOD[:40], eval_texts=TEXTS[40:], eval_truth=None, kind="binary", labels=("b", "g")
    )
    assert found["tfidf_logistic"].truth is None
    assert Tally([Accuracy()], [found["tfidf_logistic"]]).scored() == {}


def test_texts_and_labels_of_other_lengths_are_refused() -> None:
    with pytest.raises(DataError, match="60 evaluation texts came with 0"):
        baselines(TEXTS, IS_GOOD, eval_texts=TEXTS, eval_truth=[], kind="binary", labels=("bad", "good"))
    with pytest.raises(DataError, match="60 training texts came with 3"):
        baselines(TEXTS, IS_GOOD[:3], eval_texts=TEXTS, eval_truth=IS_GOOD, kind="binary", labels=("bad", "good"))
