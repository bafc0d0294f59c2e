"""The pieces of a Unigram tokenizer: likelihoods over all ways to write a word, against an enumeration of them."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.tokens.unigram import Lattice, learn_pieces

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 9), min_size=1, max_size=6)


def every_way(word: str, pieces: set[str]) -> list[list[str]]:
    cuts = [places for n in range(len(word)) for places in combinations(range(1, len(word)), n)]
    ways = [[word[a:b] for a, b in zip((0, *each), (*each, len(word)), strict=True)] for each in cuts]
    return [way for way in ways if set(way) <= pieces]


@given(words=WORDS, pieces=st.sets(st.text("abc", min_size=2, max_size=4), max_size=6), data=st.data())
def test_expected_counts_and_best_ways_are_those_of_all_ways_tried(
    words: dict[str, int], pieces: set[str], data: st.DataObject
) -> None:
    names = ["a", "b", "c", *sorted(pieces)]
    chances = np.array(data.draw(st.lists(st.floats(0.01, 1), min_size=len(names), max_size=len(names))))
    price = dict(zip(names, chances, strict=True))
    lattice = Lattice.of([*words], {name: place for place, name in enumerate(names)})
    wanted: Counter[str] = Counter()
    best = []
    for word, count in words.items():
        weights = {tuple(way): math.prod(price[piece] for piece in way) for way in every_way(word, set(names))}
        best.append(math.log(max(weights.values())))
        for way, weight in weights.items():
            for piece in way:
                wanted[piece] += count * weight / sum(weights.values())
    assert lattice.expected(chances, np.array([*words.values()], dtype=float)) == pytest.approx(
        [wanted[n] for n in names]
    )
    assert lattice.best(np.log(chances)) == pytest.approx(best)


@given(words=WORDS)
def test_letters_stay_and_the_size_holds(words: dict[str, int]) -> None:
    letters = sorted(set("".join(words)))
    pieces = learn_pieces(words, size=5, letters=letters)
    assert set(letters) <= set(pieces)
    assert len(pieces) <= max(5, len(letters))
    assert sum(math.exp(score) for score in pieces.values()) == pytest.approx(1)


def test_frequent_words_become_pieces() -> None:
    pieces = learn_pieces({"▁film": 50, "▁films": 20, "▁warm": 30, "▁xyz": 1}, size=16, letters=sorted("▁filmswarxyz"))
    assert {"▁film", "▁warm"} <= set(pieces)
