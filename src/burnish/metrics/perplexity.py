"""Scores of a language model: perplexity, how often its first guess is right, and how often it tells a pair rightly."""

from __future__ import annotations

from typing import ClassVar

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome

_PAIRS = "likelihood_of_pairs"
_KINDS = ("likelihood", _PAIRS)


class Perplexity(Component):
    """Exponential of the mean loss per token; lower is better."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("perplexity",)

    def applies(self, kind: str) -> bool:
        """Score likelihoods of tokens."""
        return kind in _KINDS

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.tokens import perplexity  # numpy, which checking a config must not load

        return {"perplexity": perplexity(outcome, weights)}


class GuessAccuracy(Component):
    """Share of tokens whose most likely prediction is correct."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("guess_accuracy",)

    def applies(self, kind: str) -> bool:
        """Score likelihoods of tokens."""
        return kind in _KINDS

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.tokens import guess_accuracy  # numpy, which checking a config must not load

        return {"guess_accuracy": guess_accuracy(outcome, weights)}


class PairAccuracy(Component):
    """Share of text pairs classified correctly: sentence order or next sentence."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("pair_accuracy",)

    def applies(self, kind: str) -> bool:
        """Score likelihoods of tokens in pairs of texts."""
        return kind == _PAIRS

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.tokens import pair_accuracy  # numpy, which checking a config must not load

        return {"pair_accuracy": pair_accuracy(outcome, weights)}
