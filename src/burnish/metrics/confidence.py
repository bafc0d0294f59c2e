"""How sure decisions and guesses of tokens are, and how right that is."""

from dataclasses import dataclass

import numpy as np

from burnish.metrics.metric import DECISIONS
from burnish.metrics.sums import Array, count, dot, known_truth, mean, over_set
from burnish.spec.values import Outcome

UNLIKELIHOOD, TOKENS, RIGHT, PAIRS, RIGHT_PAIRS = range(5)
"""The columns of an outcome's `outputs`: minus the log-likelihood of a row's tokens, how many they are, how many
were the first guess; and where pairs of texts were told apart, how many there were and how many rightly."""


def log_loss(outcome: Outcome, weights: Array | None) -> Array:
    """Average minus the log of the probability given to the truth, over all decisions of all rows."""
    if outcome.kind in DECISIONS:
        losses = _row_losses(outcome)
        return over_set(outcome, weights, lambda part: mean(part, losses))
    told = np.full((len(outcome.rows), 2), np.nan) if outcome.unlikelihood is None else outcome.unlikelihood
    return over_set(outcome, weights, lambda part: dot(part, told[:, 0]) / dot(part, told[:, 1]))


def calibration_error(outcome: Outcome, weights: Array | None, *, bins: int) -> Array:
    """Average the gap between confidence and accuracy over bins of confidence."""
    return over_set(outcome, weights, lambda part: _gap(outcome, part, num_bins=bins))


@dataclass(frozen=True)
class Reliability:
    """How often decisions of like confidence were right."""

    confidence: float
    accuracy: float
    count: float
    """How many there are, by their weight."""


def reliability(confidence: Array, right: Array, weights: Array, *, num_bins: int = 10) -> tuple[Reliability, ...]:
    """Group decisions by confidence, leaving out empty groups."""
    keys = find_bin(confidence, num_bins=num_bins)
    columns = (confidence * weights, right * weights, weights)
    sums = np.stack([np.bincount(keys, weights=column, minlength=num_bins) for column in columns])
    return tuple(Reliability(sure / total, hits / total, total) for sure, hits, total in sums.T.tolist() if total > 0)


def confidences(outcome: Outcome) -> tuple[Array, Array]:
    """Pair each decision's probability with whether it was right (1.0 or 0.0)."""
    outputs, decisions = outcome.outputs.astype(np.float64), np.asarray(outcome.decisions)
    right = (decisions == known_truth(outcome)).astype(np.float64)
    if outcome.kind == "multilabel":
        return np.where(decisions == 1, outputs, 1 - outputs).ravel(), right.ravel()
    return np.take_along_axis(outputs, decisions.astype(np.int64)[:, None], axis=1)[:, 0], right


def find_bin(confidence: Array, *, num_bins: int) -> Array:
    """Find the bin of each confidence; a bin holds its upper edge."""
    return np.asarray(np.clip(np.ceil(confidence * num_bins).astype(np.int64) - 1, 0, num_bins - 1))


def _row_losses(outcome: Outcome) -> Array:
    smallest = np.finfo(outcome.outputs.dtype).eps
    outputs = np.clip(outcome.outputs.astype(np.float64), smallest, 1 - smallest)
    truth = known_truth(outcome)
    if outcome.kind == "multilabel":
        return np.asarray(-np.where(truth == 1, np.log(outputs), np.log1p(-outputs)).mean(axis=1))
    return np.asarray(-np.log(np.take_along_axis(outputs, truth.astype(np.int64)[:, None], axis=1)[:, 0]))


def _gap(outcome: Outcome, weights: Array, *, num_bins: int) -> Array:
    confidence, right = confidences(outcome)
    keys = find_bin(confidence, num_bins=num_bins)
    # Every decision of a row counts with the row's weight: a label set has several.
    num_decisions = len(confidence) // weights.shape[1]
    each = (np.repeat(row, num_decisions) for row in weights)
    gaps = [count((row * (right - confidence))[None], keys, size=num_bins)[0] for row in each]
    return np.asarray(np.abs(gaps).sum(axis=1) / (weights.sum(axis=1) * num_decisions))


def perplexity(outcome: Outcome, weights: Array | None) -> Array:
    """Compute exp of the mean loss of a token."""
    return np.exp(_share(outcome, weights, UNLIKELIHOOD, TOKENS))


def guess_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the share of tokens guessed at once."""
    return _share(outcome, weights, RIGHT, TOKENS)


def pair_accuracy(outcome: Outcome, weights: Array | None) -> Array:
    """Compute the share of pairs classified correctly."""
    return _share(outcome, weights, RIGHT_PAIRS, PAIRS)


def _share(outcome: Outcome, weights: Array | None, column: int, among: int) -> Array:
    return over_set(
        outcome,
        weights,
        lambda part: dot(part, outcome.outputs[:, column]) / dot(part, outcome.outputs[:, among]),
    )
