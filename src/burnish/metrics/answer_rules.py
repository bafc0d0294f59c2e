"""How SQuAD compares an answer with the right ones: words without case, punctuation and articles."""

import re
import string
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
ANSWERS_JOINED_BY = " | "
"""What stands between the right answers where people read them as one text."""
_JUDGED = 1 << 17
"""A bootstrap scores the same rows again and again: the answers of a large set are compared once."""


@lru_cache(maxsize=_JUDGED)
def exact_match(answer: str, right: tuple[str, ...]) -> float:
    """Tell whether an answer is one of the right ones (1.0 or 0.0); with none right, whether it is empty."""
    said = words(answer)
    return float(any(said == each for each in _told(right)))


@lru_cache(maxsize=_JUDGED)
def f1(answer: str, right: tuple[str, ...]) -> float:
    """Give the harmonic mean of the shares of words in common, with the right answer that makes it largest."""
    said = words(answer)
    return max(_overlap(said, each) for each in _told(right))


def words(text: str) -> tuple[str, ...]:
    """Give the words that count."""
    return tuple(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def _told(right: Sequence[str]) -> list[tuple[str, ...]]:
    """Leave out right answers that say nothing, such as an article alone; a question without any has the empty one."""
    return [each for each in map(words, right) if each] or [()]


def _overlap(said: tuple[str, ...], right: tuple[str, ...]) -> float:
    if not said or not right:
        return float(said == right)
    shared = sum((Counter(said) & Counter(right)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(said), shared / len(right)
    return 2 * precision * recall / (precision + recall)
