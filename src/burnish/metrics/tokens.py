"""Sums over tokens, kept a row at a time: unlikelihood, count, right guesses."""

import numpy as np

from burnish.metrics.sums import Array, dot, over_set
from burnish.spec.values import Outcome

UNLIKELIHOOD, TOKENS, RIGHT, PAIRS, RIGHT_PAIRS = range(5)
"""The columns of an outcome's `outputs`: minus the log-likelihood of a row's tokens, how many they are, how many
were the first guess; and where pairs of texts were told apart, how many there were and how many rightly."""


def perplexity(outcome: Outcome, weights: Array | None) -> Array:
    """Give exp of the mean loss of a token."""
    return np.exp(_share(outcome, weights, UNLIKELIHOOD, TOKENS))


def guess_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Give the share of tokens guessed at once."""
    return _share(outcome, weights, RIGHT, TOKENS)


def pair_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Give the share of pairs that were told rightly."""
    return _share(outcome, weights, RIGHT_PAIRS, PAIRS)


def _share(outcome: Outcome, weights: Array | None, column: int, among: int) -> Array:
    return over_set(
        outcome,
        weights,
        lambda part: dot(part, outcome.outputs[:, column]) / dot(part, outcome.outputs[:, among]),
    )
