"""SQuAD's rules of scoring, written down a second time and in another way: what the scores of answers are held to."""

import string
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any


@cache
def plain(text: str) -> str:
    """Lower the case, drop ASCII punctuation, then the words a, an, the, and make every blank one space."""
    letters = "".join(each for each in text.lower() if each not in string.punctuation)
    return " ".join("".join(" " if run in ("a", "an", "the") else run for run in _runs(letters)).split())


def _runs(text: str) -> Iterator[str]:
    """Cut a text wherever a letter, digit or underscore meets something else."""
    run = ""
    for each in text:
        if run and _is_word(run[-1]) != _is_word(each):
            yield run
            run = ""
        run += each
    if run:
        yield run


def _is_word(each: str) -> bool:
    return each.isalnum() or each == "_"


def exact(said: str, right: Sequence[str]) -> int:
    return max(int(plain(said) == each) for each in _golds(right))


def overlap(said: str, right: Sequence[str]) -> float:
    return max(_overlap(plain(said).split(), each.split()) for each in _golds(right))


def _golds(right: Sequence[str]) -> list[str]:
    return [plain(each) for each in right if plain(each) != ""] or [""]


def _overlap(said: list[str], gold: list[str]) -> float:
    if len(said) == 0 or len(gold) == 0:
        return 1.0 if said == gold else 0.0
    left, common = list(gold), 0
    for word in said:
        if word in left:
            left.remove(word)
            common += 1
    if common == 0:
        return 0.0
    precision, recall = common / len(said), common / len(gold)
    return 2 * precision * recall / (precision + recall)


def official(golds: Mapping[str, Sequence[str]], said: Mapping[str, str]) -> dict[str, float]:
    """Score as the published evaluation does: over all, over what has an answer, over what has none; in shares."""
    ems = {name: exact(said[name], right) for name, right in golds.items()}
    f1s = {name: overlap(said[name], right) for name, right in golds.items()}
    groups = {"": list(golds), "HasAns_": [n for n in golds if golds[n]], "NoAns_": [n for n in golds if not golds[n]]}
    return {
        f"{prefix}{name}": sum(values[each] for each in group) / len(group)
        for prefix, group in groups.items()
        for name, values in (("exact", ems), ("f1", f1s))
        if group
    }


def best_with_threshold(
    golds: Mapping[str, Sequence[str]], said: Mapping[str, str], odds: Mapping[str, float], *, score: Any
) -> tuple[float, float]:
    """Find the threshold for no answer that scores best, trying each: questions with higher odds are left open.

    As in SQuAD's own search, words said of a question without an answer are wrong, even if they are only an article.
    """

    def scored(name: str, answer: str) -> float:
        return score(answer, golds[name]) if golds[name] else float(not answer)

    best, threshold = sum(1 for right in golds.values() if not right) / len(golds), 0.0
    for candidate in sorted(set(odds.values())):
        total = sum(scored(name, said[name] if odds[name] <= candidate else "") for name in golds)
        if total / len(golds) > best + 1e-12:
            best, threshold = total / len(golds), candidate
    return best, threshold
