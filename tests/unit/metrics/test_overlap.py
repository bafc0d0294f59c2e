"""BLEU and ROUGE equal what sacrebleu and rouge-score give, and bootstrap and merge as sums."""

import random

import numpy as np
import pytest
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

from burnish.metrics.language import Bleu, Rouge
from burnish.metrics.tally import Tally
from burnish.spec.values import Outcome

WORDS = (
    *("the", "a", "cat", "sat", "3.5", "1,000", "don't", "U.S.", "end-of", "-5", "5-6", "(x)", "&quot;hi&quot;", "é"),
    *("<skipped>", "Hello,", "world!", "a/b", "中文", "_x_", "10%", "$5", "it's", "tail-", "...", "A&B", "&lt;b&gt;"),
)


def outcome(said: list[str], right: list[str]) -> Outcome:
    rows = np.arange(len(said))
    return Outcome("generated", rows, np.zeros((len(rows), 5)), np.array(said, object), np.array(right, object))


def pairs(seed: int) -> tuple[list[str], list[str]]:
    """Texts of odd words, some with many in common, some empty."""
    draw = random.Random(seed)
    right = [" ".join(draw.choices(WORDS, k=draw.randint(0, 12))) for _ in range(draw.randint(1, 8))]
    near = [" ".join(word for word in text.split() if draw.random() < 0.85) for text in right]
    said = [text if draw.random() < 0.6 else " ".join(draw.choices(WORDS, k=5)) for text in near]
    return said, right


@pytest.mark.parametrize("tokenize", ["13a", "char", "none"])
@pytest.mark.parametrize("lowercase", [False, True])
def test_bleu_is_that_of_sacrebleu(tokenize: str, lowercase: bool) -> None:
    for seed in range(150):
        said, right = pairs(seed)
        (mine,) = Bleu(tokenize=tokenize, lowercase=lowercase).scores(outcome(said, right))["bleu"]  # type: ignore[arg-type]
        theirs = sacrebleu.corpus_bleu(said, [right], tokenize=tokenize, lowercase=lowercase, force=True).score
        assert mine == pytest.approx(theirs / 100, abs=1e-12), (said, right)


def test_a_line_that_ends_in_a_hyphen_goes_on_as_in_wmt() -> None:
    said, right = ["an over-\nseas call, 7-\n8 times \n"], ["an overseas call, 78 times"]
    (mine,) = Bleu().scores(outcome(said, right))["bleu"]
    assert mine == pytest.approx(sacrebleu.corpus_bleu(said, [right]).score / 100, abs=1e-12)


def test_rouge_is_that_of_rouge_score() -> None:
    names = ("rouge1", "rouge2", "rougeL")
    scorer = RougeScorer(names)
    for seed in range(150):
        said, right = pairs(seed)
        mine = Rouge().scores(outcome(said, right))
        each = [scorer.score(one, another) for one, another in zip(right, said, strict=True)]
        for name in names:
            assert mine[name][0] == pytest.approx(np.mean([row[name].fmeasure for row in each]), abs=1e-12)


def test_a_row_of_weight_two_counts_as_two_rows() -> None:
    said, right = pairs(5)
    twice = outcome([*said, said[0]], [*right, right[0]])
    weights = np.ones((1, len(said)))
    weights[0, 0] = 2
    for metric in (Bleu(), Rouge()):
        weighed, repeated = metric.scores(outcome(said, right), weights), metric.scores(twice)
        for name in metric.names():
            assert weighed[name] == pytest.approx(repeated[name])


def test_scores_of_parts_merge_whatever_the_parts_and_have_intervals() -> None:
    said, right = (texts * 6 for texts in pairs(7))
    whole = outcome(said, right)
    odd, even = whole.part(whole.rows % 2 == 1), whole.part(whole.rows % 2 == 0)
    metrics = (Bleu(), Rouge())
    found = Tally(metrics, [odd, even]).scored(resamples=100)
    assert {name: score.value for name, score in found.items()} == Tally(metrics, [whole]).scores()
    for score in found.values():
        assert score.low is not None
        assert score.high is not None
        assert score.low < score.value < score.high
