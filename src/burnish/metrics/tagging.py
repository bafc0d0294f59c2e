"""Scores of tagged words: entities by the rules of conlleval, and words one by one."""

from __future__ import annotations

from typing import ClassVar

from burnish.metrics.averaging import suffixed
from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class Entities(Component):
    """Entity precision, recall and F1, overall and per type; span and type must match exactly."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the scores of all types; each type's scores end in its name."""
        return ("f1", "precision", "recall")

    def applies(self, kind: str) -> bool:
        """Score tagged words."""
        return kind == "tags"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.entities import entity_scores  # numpy, which checking a config must not load

        found: dict[str, Array] = {}
        for kind, scores in entity_scores(outcome, weights):
            names = list(scores) if kind is None else [suffixed(name, kind) for name in scores]
            if names[0] in found:  # `A b` and `a-b` are two types
                names = [f"{name}_{kind}" for name in scores]
            found |= zip(names, scores.values(), strict=True)
        return found


class TokenAccuracy(Component):
    """Share of words with the correct tag."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("token_accuracy",)

    def applies(self, kind: str) -> bool:
        """Score tagged words."""
        return kind == "tags"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.entities import token_accuracy  # numpy, which checking a config must not load

        return {"token_accuracy": token_accuracy(outcome, weights)}
