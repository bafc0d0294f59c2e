"""Finds the word that was most likely meant."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Find the known word that was most likely meant: a slip of the fingers away, or else alike enough."""
    words = list(dict.fromkeys(known))
    if not words:
        return None
    best = min(words, key=lambda each: _edits(word, each))
    if _edits(word, best) <= max(1, len(word) // 4):
        return best
    return next(iter(get_close_matches(word, words, n=1, cutoff=likeness)), None)


def _edits(left: str, right: str) -> int:
    """Count insertions, deletions, substitutions and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]
