"""Sums over tokens, kept a row at a time: unlikelihood, count, right guesses."""

import numpy as np

from burnish.metrics.sums import Array, dot, over_set
from burnish.spec.values import Outcome

UNLIKELIHOOD, TOKENS, RIGHT = range(3)
"""The columns of an outcome's `outputs`: minus the log-likelihood of a row's tokens, how many they are, how many
were the first guess."""


def perplexity(outcome: Outcome, weights: Array | None) -> Array:
    """Give exp of the mean loss of a token."""
    return np.exp(_a_token(outcome, weights, UNLIKELIHOOD))


def guess_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Give the share of tokens guessed at once."""
    return _a_token(outcome, weights, RIGHT)


def _a_token(outcome: Outcome, weights: Array | None, column: int) -> Array:
    return over_set(
        outcome,
        weights,
        lambda part: dot(part, outcome.outputs[:, column]) / dot(part, outcome.outputs[:, TOKENS]),
    )
