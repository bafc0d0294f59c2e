"""Perplexity weighs tokens, not rows."""

from dataclasses import replace

import numpy as np
import pytest

from burnish.metrics.language import GuessAccuracy, PairAccuracy, Perplexity
from burnish.metrics.tally import Tally, rehearse
from burnish.spec.values import Outcome

METRICS = (Perplexity(), GuessAccuracy())


def outcome(sums: list[list[float]]) -> Outcome:
    values = np.array(sums, dtype=float)
    return Outcome("likelihood", np.arange(len(values)), values, values[:, 2], values[:, 1])


def test_a_long_row_counts_for_all_its_tokens() -> None:
    losses = [np.array([1.0, 2.0, 0.5, 0.1]), np.array([4.0]), np.array([])]
    rows = [[each.sum(), len(each), (each < 1).sum()] for each in losses]
    scores = Tally(METRICS, [outcome(rows)]).scores()
    assert scores["perplexity"] == pytest.approx(np.exp(np.concatenate(losses).mean()))
    assert scores["guess_accuracy"] == pytest.approx(2 / 5)


def test_sets_with_weights_are_scored_as_if_rows_were_repeated() -> None:
    whole = outcome([[3.0, 2, 1], [8.0, 3, 0], [0.5, 1, 1]])
    repeated = outcome([[3.0, 2, 1], [3.0, 2, 1], [0.5, 1, 1]])
    weights = np.array([[2.0, 0.0, 1.0]])
    for metric in METRICS:
        (name,) = metric.names()
        assert metric.scores(whole, weights)[name] == pytest.approx(metric.scores(repeated)[name])


def test_an_empty_set_has_names_and_no_value() -> None:
    assert rehearse(METRICS, kind="likelihood", labels=()) == ("perplexity", "guess_accuracy")
    assert np.isnan(METRICS[0].scores(outcome([[0.0, 0, 0]]))["perplexity"]).all()


def test_pairs_are_scored_where_there_are_any() -> None:
    pairs = replace(outcome([[3.0, 2, 1, 4, 1], [8.0, 3, 0, 1, 1]]), kind="likelihood_of_pairs")
    assert PairAccuracy().scores(pairs)["pair_accuracy"] == pytest.approx(2 / 5)
    assert PairAccuracy().scores(pairs, np.array([[0.0, 1.0]]))["pair_accuracy"] == pytest.approx(1)
    assert Perplexity().scores(pairs)["perplexity"] == pytest.approx(np.exp(11 / 5))
    assert [metric.applies("likelihood") for metric in (*METRICS, PairAccuracy())] == [True, True, False]
