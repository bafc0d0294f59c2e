"""The rules of the conlleval script, written anew word by word, to check the counting of whole arrays against."""

from collections import Counter
from collections.abc import Sequence


def ends_chunk(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Tell whether a chunk ends between two words."""
    pairs = {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O"), ("E", "E"), ("E", "I"), ("E", "O"), ("E", "B")}
    singles = before[0] == "S" or (before[0] in "BI" and now[0] == "S") or (before[0] == "E" and now[0] == "S")
    return (before[0], now[0]) in pairs or singles or (before[0] != "O" and before[1] != now[1])


def starts_chunk(before: tuple[str, str], now: tuple[str, str]) -> bool:
    """Tell whether a chunk starts between two words."""
    pairs = {("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"), ("E", "E"), ("E", "I"), ("O", "E"), ("E", "B")}
    singles = now[0] == "S" or (before[0] == "S" and now[0] in "BIE")
    return (before[0], now[0]) in pairs or singles or (now[0] != "O" and before[1] != now[1])


def split(tag: str) -> tuple[str, str]:
    letter, _, kind = tag.partition("-")
    return letter, kind


def conlleval(truth: Sequence[Sequence[str]], said: Sequence[Sequence[str]]) -> dict[str | None, Counter[str]]:
    """Count right, predicted and true chunks by type and, under None, of all; and words."""
    counts: dict[str | None, Counter[str]] = {None: Counter()}
    for true_row, said_row in zip(truth, said, strict=True):
        _count_row([*map(split, true_row), ("O", "")], [*map(split, said_row), ("O", "")], counts)
        counts[None]["words"] += len(true_row)
        counts[None]["right words"] += sum(a == b for a, b in zip(true_row, said_row, strict=True))
    return counts


def _count_row(
    truth: list[tuple[str, str]], said: list[tuple[str, str]], counts: dict[str | None, Counter[str]]
) -> None:
    before_true = before_said = ("O", "")
    in_right = False
    for true, guess in zip(truth, said, strict=True):
        true_ends, said_ends = ends_chunk(before_true, true), ends_chunk(before_said, guess)
        if in_right and true_ends and said_ends and before_true[1] == before_said[1]:
            in_right = False
            _add(counts, before_true[1], "right")
        elif in_right and (true_ends != said_ends or true[1] != guess[1]):
            in_right = False
        true_starts, said_starts = starts_chunk(before_true, true), starts_chunk(before_said, guess)
        if true_starts and said_starts and true[1] == guess[1]:
            in_right = True
        if true_starts:
            _add(counts, true[1], "true")
        if said_starts:
            _add(counts, guess[1], "predicted")
        before_true, before_said = true, guess


def _add(counts: dict[str | None, Counter[str]], kind: str, what: str) -> None:
    counts.setdefault(kind, Counter())[what] += 1
    counts[None][what] += 1


def rates(counts: Counter[str]) -> tuple[float, float, float]:
    """Give precision, recall and F1, 0 where there is nothing to divide by."""
    precision = counts["right"] / counts["predicted"] if counts["predicted"] else 0.0
    recall = counts["right"] / counts["true"] if counts["true"] else 0.0
    total = precision + recall
    return precision, recall, 2 * precision * recall / total if total else 0.0
