"""Scores of answers to questions, by the rules of SQuAD: exact match, F1, and both by whether there is an answer."""

from __future__ import annotations

from typing import ClassVar

from burnish.metrics.vocabulary import Better, Scale
from burnish.spec.component import Component
from burnish.spec.values import Array, Outcome


class AnswerF1(Component):
    """SQuAD F1: word overlap with the closest correct answer."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("f1",)

    def applies(self, kind: str) -> bool:
        """Score answers."""
        return kind == "spans"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.answer_scores import mean_f1  # numpy, which checking a config must not load

        return {"f1": mean_f1(outcome, weights)}


class ExactMatch(Component):
    """Share of answers that match a correct one, ignoring case, punctuation and articles."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the score."""
        return ("exact_match",)

    def applies(self, kind: str) -> bool:
        """Score answers."""
        return kind == "spans"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`."""
        from burnish.metrics.answer_scores import mean_exact_match  # numpy, which checking a config must not load

        return {"exact_match": mean_exact_match(outcome, weights)}


class Answerability(Component):
    """Scores of answerable questions, and the share of unanswerable ones left unanswered."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the scores; of questions without an answer, exact match and F1 are the same."""
        return ("has_answer_f1", "has_answer_exact_match", "no_answer_f1")

    def applies(self, kind: str) -> bool:
        """Score answers."""
        return kind == "spans"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`; nan where there are no such questions."""
        from burnish.metrics.answer_scores import by_answerability  # numpy, which checking a config must not load

        return dict(zip(self.names(), by_answerability(outcome, weights), strict=True))


class BestThreshold(Component):
    """SQuAD 2.0 scores at the best possible no-answer threshold."""

    better: ClassVar[Better] = "higher"
    scale: ClassVar[Scale] = "share"

    def names(self) -> tuple[str, ...]:
        """Name the scores."""
        return ("best_f1", "best_exact_match")

    def applies(self, kind: str) -> bool:
        """Score answers."""
        return kind == "spans"

    def scores(self, outcome: Outcome, weights: Array | None = None) -> dict[str, Array]:
        """Score the whole set once a row of `weights`; each time with the threshold that suits it best."""
        from burnish.metrics.answer_scores import at_best_threshold  # numpy, which checking a config must not load

        return dict(zip(self.names(), at_best_threshold(outcome, weights), strict=True))
