"""Greedy ensemble selection: which members a blend holds, and with what weight (Caruana et al., 2004)."""

import numpy as np

from burnish.spec.values import Array, Objective

_TINY = 1e-12


def choose_weights(answers: Array, labels: Array, weights: Array | None, objective: Objective, *, rounds: int) -> Array:
    """Choose the weight of each member from its answers [members, rows, size] to rows that it did not learn from.

    Each round adds the member, again if need be, whose share lowers the loss most; the best round is kept.
    """
    counts = np.zeros(len(answers))
    total = np.zeros_like(answers[0])
    best_loss, best = np.inf, counts
    for number in range(1, rounds + 1):
        losses = [loss_of((total + each) / number, labels, weights, objective) for each in answers]
        chosen = int(np.argmin(losses))
        counts[chosen] += 1
        total = total + answers[chosen]
        if losses[chosen] < best_loss:
            best_loss, best = losses[chosen], counts.copy()
    return np.asarray(best / best.sum())


def loss_of(answers: Array, labels: Array, weights: Array | None, objective: Objective) -> float:
    """Return the mean loss of blended answers: probabilities of classes, or numbers."""
    if objective.name == "cross_entropy":
        each = -np.log(np.maximum(answers[np.arange(len(labels)), labels], _TINY))
    else:
        each = loss_of_numbers(answers[:, 0], labels, objective)
    return float(np.average(each, weights=weights))


def loss_of_numbers(answers: Array, labels: Array, objective: Objective) -> Array:
    """Return the loss of each number; those of counts and sizes are logarithms of means."""
    if objective.name == "poisson":
        return np.asarray(np.exp(answers) - labels * answers)
    if objective.name == "gamma":
        return labels * np.exp(-answers) + answers
    short = labels - answers
    if objective.name == "quantile":
        return np.maximum(objective.quantile * short, (objective.quantile - 1) * short)
    return np.asarray(short**2)


def to_answers(logits: Array) -> Array:
    """Turn logits into what is blended: probabilities of classes, or numbers as they are."""
    if logits.shape[1] == 1:
        return logits
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))


def to_logits(answers: Array) -> Array:
    """Turn blended answers back into logits."""
    return answers if answers.shape[1] == 1 else np.log(np.maximum(answers, _TINY))
