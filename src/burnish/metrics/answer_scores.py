"""Scores of answers by SQuAD's rules: words without case, punctuation and articles, judged once a row, then weighed."""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from burnish.metrics.sums import Array, dot, known_truth, mean, over_set, ratio
from burnish.spec.values import Outcome

Rule = Callable[[str, tuple[str, ...]], float]
NULL_ODDS = 1
"""The column of the outputs that tells how much better no answer is than the best one."""
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
ANSWERS_JOINED_BY = " | "
"""What stands between the right answers where people read them as one text."""
_JUDGED = 1 << 17
"""A bootstrap scores the same rows again and again: the answers of a large set are compared once."""


def mean_f1(outcome: Outcome, weights: Array | None) -> Array:
    """Average the F1 of each answer."""
    each = judge(outcome.decisions, known_truth(outcome), f1)
    return over_set(outcome, weights, lambda part: mean(part, each))


def mean_exact_match(outcome: Outcome, weights: Array | None) -> Array:
    """Average what is right."""
    each = judge(outcome.decisions, known_truth(outcome), exact_match)
    return over_set(outcome, weights, lambda part: mean(part, each))


def by_answerability(outcome: Outcome, weights: Array | None) -> tuple[Array, Array, Array]:
    """Score F1 and exact match of the questions with an answer, and F1 of those without."""
    truth = known_truth(outcome)
    has = has_answer(truth).astype(np.float64)
    partial = judge(outcome.decisions, truth, f1)
    exact = judge(outcome.decisions, truth, exact_match)
    return (
        over_set(outcome, weights, lambda part: mean(part * has, partial)),
        over_set(outcome, weights, lambda part: mean(part * has, exact)),
        over_set(outcome, weights, lambda part: mean(part * (1 - has), partial)),
    )


def at_best_threshold(outcome: Outcome, weights: Array | None) -> tuple[Array, Array]:
    """Score F1 and exact match with the threshold that is best for each set."""
    if not len(outcome.rows):
        nothing = over_set(outcome, weights, lambda part: part.sum(axis=1))
        return nothing, nothing
    partial, exact = (_best(outcome, weights, rule) for rule in (f1, exact_match))
    return partial, exact


def _best(outcome: Outcome, weights: Array | None, rule: Rule) -> Array:
    order = np.argsort(outcome.outputs[:, NULL_ODDS], kind="stable")
    gain = _gain_of_answering(outcome, rule)[order]
    open_ones = (~has_answer(known_truth(outcome))).astype(np.float64)

    def compute(part: Array) -> Array:
        unanswered = dot(part, open_ones)
        answered = unanswered[:, None] + np.cumsum(part[:, order] * gain, axis=1)
        return ratio(np.maximum(unanswered, answered.max(axis=1)), part.sum(axis=1))

    return over_set(outcome, weights, compute)


def best_threshold(outcome: Outcome) -> float:
    """Find above which odds a question is best left unanswered, by F1: halfway between two that were seen."""
    odds = outcome.outputs[:, NULL_ODDS]
    order = np.argsort(odds, kind="stable")
    ordered = odds[order]
    won = np.concatenate([[0.0], np.cumsum(_gain_of_answering(outcome, f1)[order])])
    # No threshold lies between questions of the same odds.
    won[1:-1][ordered[1:] == ordered[:-1]] = -np.inf
    edges = np.concatenate([[ordered[0] - 1.0], ordered, [ordered[-1] + 1.0]])
    answered = int(np.argmax(won))
    return float(edges[answered] + edges[answered + 1]) / 2


def _gain_of_answering(outcome: Outcome, rule: Rule) -> Array:
    """Compute what is won by answering each question instead of leaving it open; where that is right, it is lost."""
    assert outcome.answers is not None, "spans come with a table of answers"
    truth, best = known_truth(outcome), np.asarray(outcome.answers["best_answer"].to_numpy(zero_copy_only=False))
    return np.where(has_answer(truth), judge(best, truth, rule), -(best != "").astype(np.float64))


def judge(answers: Array, truth: Array, rule: Rule) -> Array:
    """Score every row by a rule of its own."""
    return np.array([rule(said, right) for said, right in zip(answers, truth, strict=True)], dtype=np.float64)


def has_answer(truth: Array) -> Array:
    """Tell which questions have an answer."""
    return np.array([len(right) > 0 for right in truth], dtype=bool)


@lru_cache(maxsize=_JUDGED)
def exact_match(answer: str, right: tuple[str, ...]) -> float:
    """Tell whether an answer is one of the right ones (1.0 or 0.0); with none right, whether it is empty."""
    said = words(answer)
    return float(any(said == each for each in _right_words(right)))


@lru_cache(maxsize=_JUDGED)
def f1(answer: str, right: tuple[str, ...]) -> float:
    """Compute the harmonic mean of the shares of words in common, with the right answer that makes it largest."""
    said = words(answer)
    return max(_overlap(said, each) for each in _right_words(right))


def words(text: str) -> tuple[str, ...]:
    """Split a text into the words that count."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _right_words(right: Sequence[str]) -> list[tuple[str, ...]]:
    """Leave out right answers that say nothing, such as an article alone; a question without any has the empty one."""
    return [each for each in map(words, right) if each] or [()]


def _overlap(said: tuple[str, ...], right: tuple[str, ...]) -> float:
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(said), shared / len(right)
    return 2 * precision * recall / (precision + recall)
