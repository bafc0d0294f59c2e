"""Metrics of text: answers to questions, tagged words, language models and retrieval."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, PositiveInt

from burnish.metrics.classification import suffix
from burnish.metrics.metric import Better, FunctionMetric, Scale
from burnish.spec.values import Array, Outcome

_PAIRS = "likelihood_of_pairs"
_GENERATED = "generated"
_KINDS = ("likelihood", _PAIRS, _GENERATED)


class AnswerF1(FunctionMetric):
    """SQuAD F1: word overlap with the closest correct answer."""

    gives = ("f1",)
    kinds = ("spans",)
    compute = "answer_scores:mean_f1"


class ExactMatch(FunctionMetric):
    """Share of answers that match a correct one, ignoring case, punctuation and articles."""

    gives = ("exact_match",)
    kinds = ("spans",)
    compute = "answer_scores:mean_exact_match"


class Answerability(FunctionMetric):
    """Scores of answerable questions, and the share of unanswerable ones left unanswered."""

    # Of questions without an answer, exact match and F1 are the same.
    gives = ("has_answer_f1", "has_answer_exact_match", "no_answer_f1")
    kinds = ("spans",)
    compute = "answer_scores:by_answerability"


class BestThreshold(FunctionMetric):
    """SQuAD 2.0 scores at the best possible no-answer threshold."""

    gives = ("best_f1", "best_exact_match")
    kinds = ("spans",)
    compute = "answer_scores:at_best_threshold"


class Entities(FunctionMetric):
    """Entity precision, recall and F1, overall and per type; span and type must match exactly."""

    gives = ("f1", "precision", "recall")
    kinds = ("tags",)

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score all types together, and each type under names that end in its own."""
        from burnish.metrics.entities import entity_scores  # numpy, which checking a config must not load

        found: dict[str, Array] = {}
        for kind, scores in entity_scores(outcome, weights):
            names = list(scores) if kind is None else [suffix(name, kind) for name in scores]
            if names[0] in found:  # `A b` and `a-b` are two types
                names = [f"{name}_{kind}" for name in scores]
            found |= zip(names, scores.values(), strict=True)
        return found


class TokenAccuracy(FunctionMetric):
    """Share of words with the correct tag."""

    gives = ("token_accuracy",)
    kinds = ("tags",)
    compute = "entities:token_accuracy"


class Perplexity(FunctionMetric):
    """Exponential of the mean loss per token; lower is better."""

    better: ClassVar[Better] = "lower"
    scale: ClassVar[Scale] = "value"
    gives = ("perplexity",)
    kinds = _KINDS
    compute = "confidence:perplexity"


class GuessAccuracy(FunctionMetric):
    """Share of tokens whose most likely prediction is correct."""

    gives = ("guess_accuracy",)
    kinds = _KINDS
    compute = "confidence:guess_accuracy"


class PairAccuracy(FunctionMetric):
    """Share of text pairs classified correctly: sentence order or next sentence."""

    gives = ("pair_accuracy",)
    kinds = (_PAIRS,)
    compute = "confidence:pair_accuracy"


class Mrr(FunctionMetric):
    """Mean reciprocal rank: 1 if the right passage always comes first, 0.5 if always second."""

    gives = ("mrr",)
    kinds = ("retrieval",)
    compute = "ranks:mean_reciprocal_rank"


class RecallAt(FunctionMetric):
    """Recall at k: how often the right passage is among the first k."""

    kinds = ("retrieval",)
    compute = "ranks:recall_at"
    shorthand: ClassVar[str | None] = "k"

    k: Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = (1, 5, 10)

    def names(self) -> tuple[str, ...]:
        return tuple(f"recall_at_{k}" for k in self.k)


class Bleu(FunctionMetric):
    """BLEU of the whole set as sacrebleu computes it, from 0 to 1."""

    gives = ("bleu",)
    kinds = (_GENERATED,)
    compute = "overlap:bleu"

    tokenize: Literal["13a", "char", "none"] = "13a"
    """How texts are cut into words: as WMT does, by characters (Chinese, Japanese), or at blanks."""
    lowercase: bool = False


class Rouge(FunctionMetric):
    """F1 of shared words, word pairs and the longest common subsequence, as rouge-score computes them."""

    gives = ("rouge1", "rouge2", "rougeL")
    kinds = (_GENERATED,)
    compute = "overlap:rouge"
