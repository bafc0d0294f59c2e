"""What a written text shares with the right one: BLEU by counts of the whole set, ROUGE as a mean over rows."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np

from burnish.metrics.sums import Array, known_truth, mean, over_set
from burnish.spec.values import Outcome

_ORDER = 4
_REMEMBERED = 1 << 17
"""A bootstrap scores the same rows again and again: the texts of a large set are compared once."""
_ENTITIES = {"&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}
_ALONE = re.compile(r"([!-&(-+:-@\[-`{-~/])")
"""Marks that are words of their own; not the comma, hyphen and point, which numbers hold, nor the apostrophe."""
_AFTER_NO_DIGIT, _BEFORE_NO_DIGIT = re.compile(r"([^0-9])([.,])"), re.compile(r"([.,])([^0-9])")
_HYPHEN_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_NO_WORD = re.compile(r"[^a-z0-9]+")


def bleu(outcome: Outcome, weights: Array | None, *, tokenize: str, lowercase: bool) -> Array:
    """Compute the geometric mean of the precisions of 1 to 4 words, times the penalty for brevity."""
    pairs = zip(outcome.decisions, known_truth(outcome), strict=True)
    counts = np.array([_bleu_counts(said, right, tokenize, lowercase) for said, right in pairs], dtype=np.float64)
    return over_set(outcome, weights, lambda part: _bleu(np.einsum("bn,nc->bc", part, counts)))


def rouge(outcome: Outcome, weights: Array | None) -> tuple[Array, Array, Array]:
    """Average the F1 of single words, of pairs of words and of the longest common subsequence."""
    pairs = zip(outcome.decisions, known_truth(outcome), strict=True)
    each = np.array([_rouge_scores(said, right) for said, right in pairs], dtype=np.float64).reshape(-1, 3)
    first, second, longest = (over_set(outcome, weights, partial(mean, values=column)) for column in each.T)
    return first, second, longest


def _bleu(counts: Array) -> Array:
    """Score sums of right and of all runs of 1 to 4 words, and of words said and wanted [b, 10]."""
    right, total, (said, wanted) = counts[:, :_ORDER], counts[:, _ORDER : 2 * _ORDER], counts[:, -2:].T
    is_missed = right == 0
    # A length of which nothing is right counts as half of one right, the next such length as a quarter, and so on.
    smoothed = np.where(is_missed, 0.5 ** np.cumsum(is_missed, axis=1), right)
    score = np.exp(np.log(smoothed / total).mean(axis=1)) * np.exp(np.minimum(0, 1 - wanted / said))
    return np.where(right.any(axis=1) & (total > 0).all(axis=1), score, 0.0)


@lru_cache(maxsize=_REMEMBERED)
def _bleu_counts(said: str, right: str, tokenize: str, lowercase: bool) -> tuple[int, ...]:
    mine, theirs = (_words(text.lower() if lowercase else text, tokenize) for text in (said, right))
    runs = [(_runs(mine, size), _runs(theirs, size)) for size in range(1, _ORDER + 1)]
    shared = [(found & wanted).total() for found, wanted in runs]
    return (*shared, *(found.total() for found, _ in runs), len(mine), len(theirs))


def _words(text: str, tokenize: str) -> list[str]:
    if tokenize == "char":
        return [letter for letter in text if not letter.isspace()]
    return (_in_wmt_words(text.rstrip()) if tokenize == "13a" else text).split()


def _in_wmt_words(text: str) -> str:
    """Put blanks around marks, as the script mteval-v13a does."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, letter in _ENTITIES.items():
        text = text.replace(name, letter)
    text = _ALONE.sub(r" \1 ", f" {text} ")
    text = _BEFORE_NO_DIGIT.sub(r" \1 \2", _AFTER_NO_DIGIT.sub(r"\1 \2 ", text))
    return _HYPHEN_AFTER_DIGIT.sub(r"\1 \2 ", text)


@lru_cache(maxsize=_REMEMBERED)
def _rouge_scores(said: str, right: str) -> tuple[float, ...]:
    mine, theirs = (_NO_WORD.sub(" ", text.lower()).split() for text in (said, right))
    counted = [
        ((found & wanted).total(), found.total(), wanted.total())
        for found, wanted in ((_runs(mine, size), _runs(theirs, size)) for size in (1, 2))
    ]
    longest = (_common_subsequence(mine, theirs), len(mine), len(theirs))
    return tuple(2 * shared / max(1, found + wanted) for shared, found, wanted in (*counted, longest))


def _runs(words: Sequence[str], size: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(words[start:] for start in range(size)), strict=False))


def _common_subsequence(mine: Sequence[str], theirs: Sequence[str]) -> int:
    """Find the length of the longest common subsequence, a row of the table at a time in the bits of one number."""
    where: dict[str, int] = {}
    for place, word in enumerate(theirs):
        where[word] = where.get(word, 0) | 1 << place
    ended = 0  # a bit for each place at which a longer subsequence begins to end
    for word in mine:
        can = ended | where.get(word, 0)
        ended = can & ~(can - (ended << 1 | 1))
    return ended.bit_count()
