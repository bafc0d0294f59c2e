"""Metrics of answers to questions, by the rules of SQuAD: exact match, F1, and both by whether there is an answer."""

from burnish.metrics.metric import FunctionMetric


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
