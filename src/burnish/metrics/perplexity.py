"""Metrics of a language model: perplexity, the accuracy of its first guess, and of its judgement on pairs of texts."""

from typing import ClassVar

from burnish.metrics.metric import Better, FunctionMetric, Scale

_PAIRS = "likelihood_of_pairs"
_KINDS = ("likelihood", _PAIRS)


class Perplexity(FunctionMetric):
    """Exponential of the mean loss per token; lower is better."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"
    gives = ("perplexity",)
    kinds = _KINDS
    compute = "tokens:perplexity"


class GuessAccuracy(FunctionMetric):
    """Share of tokens whose most likely prediction is correct."""

    gives = ("guess_accuracy",)
    kinds = _KINDS
    compute = "tokens:guess_accuracy"


class PairAccuracy(FunctionMetric):
    """Share of text pairs classified correctly: sentence order or next sentence."""

    gives = ("pair_accuracy",)
    kinds = (_PAIRS,)
    compute = "tokens:pair_accuracy"
