"""Finds the word or the file that was most likely meant."""

import os
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_SHOWN = 8
_LIKENESS_OF_FILES = 0.75


def nearest(word: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """Find the known word that was most likely meant: a slip of the fingers away, or else alike enough."""
    words = list(dict.fromkeys(known))
    if not words:
        return None
    best = min(words, key=lambda each: _edits(word, each))
    if _edits(word, best) <= max(1, len(word) // 4):
        return best
    return next(iter(get_close_matches(word, words, n=1, cutoff=likeness)), None)


def absent_file(path: str, *, written: str, suffixes: Sequence[str] = ()) -> str:
    """Say that a file is not there, and which one was likely meant, or which files of its kind are next to it.

    Endings in `suffixes` are of one kind; by default every ending is its own.
    """
    folder, name = os.path.split(path)
    place = os.path.abspath(folder)
    if not os.path.isdir(place):
        return f"there is no file {written}, nor a folder {place}"
    stem, suffix = _split(name)
    there = {each: _split(each) for each in sorted(os.listdir(place))}
    # compared without their endings: two files are not alike because both are CSV
    close = nearest(stem, (each for each, _ in there.values()), likeness=_LIKENESS_OF_FILES)
    if close is not None:
        meant = next(each for each, (stem, _) in there.items() if stem == close)
        return f"there is no file {written}. Did you mean `{os.path.join(os.path.dirname(written), meant)}`?"
    alike = [each for each, (_, ending) in there.items() if suffix and ending in (*suffixes, suffix)]
    kind = f"{suffix[1:].upper()} files" if alike else "files"
    return f"there is no file {name} in {place}; {kind} here: {_listed(alike or list(there))}"


def _split(name: str) -> tuple[str, str]:
    """Divide a name before its ending, which says of a compressed file what is inside of it."""
    stem, suffix = os.path.splitext(name.removesuffix(".gz").removesuffix(".zst"))
    return stem, suffix.lower()


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:_SHOWN])}{' …' if len(names) > _SHOWN else ''}" or "none"


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
