"""Metrics of tagged words: entities by the rules of conlleval, and words one by one."""

from __future__ import annotations

from burnish.metrics.averaging import suffixed
from burnish.metrics.metric import FunctionMetric
from burnish.spec.values import Array, Outcome


class Entities(FunctionMetric):
    """Entity precision, recall and F1, overall and per type; span and type must match exactly."""

    gives = ("f1", "precision", "recall")
    kinds = ("tags",)

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score all types together, and each type under names that end in its own."""
        from burnish.metrics.entities import entity_scores  # numpy, which checking a config must not load

        found: dict[str, Array] = {}
        for kind, scores in entity_scores(outcome, weights):
            names = list(scores) if kind is None else [suffixed(name, kind) for name in scores]
            if names[0] in found:  # `A b` and `a-b` are two types
                names = [f"{name}_{kind}" for name in scores]
            found |= zip(names, scores.values(), strict=True)
        return found


class TokenAccuracy(FunctionMetric):
    """Share of words with the correct tag."""

    gives = ("token_accuracy",)
    kinds = ("tags",)
    compute = "entities:token_accuracy"
