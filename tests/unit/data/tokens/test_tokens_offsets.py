"""Tokens know where they stand, and characters are found among them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Punctuation, Sequence, WhitespaceSplit

from burnish.data.tokens.tokens import PlacedTokens, tokenize_placed

TEXTS = ["", "é$12 ab-c", "x", " ab  ab"]


def placed(texts: list[str]) -> PlacedTokens:
    tokenizer = Tokenizer(WordLevel({"?": 0, "ab": 1}, unk_token="?"))
    tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Punctuation()])
    return tokenize_placed(texts, tokenizer)


def test_places_count_characters() -> None:
    found = placed(TEXTS)
    assert found.ids.lengths.tolist() == [0, 6, 1, 2]
    spans = list(zip(found.begins.tolist(), found.ends.tolist(), strict=True))
    assert spans == [(0, 1), (1, 2), (2, 4), (5, 7), (7, 8), (8, 9), (0, 1), (1, 3), (5, 7)]


@given(st.lists(st.text("ab -$", max_size=12), min_size=1, max_size=5), st.data())
def test_characters_are_found_as_by_looking_at_every_token(texts: list[str], data: st.DataObject) -> None:
    found = placed(texts)
    which = np.array([data.draw(st.integers(0, len(texts) - 1)) for _ in range(4)])
    characters = np.array([data.draw(st.integers(0, len(texts[text]) + 1)) for text in which])
    for text, character, first, last in zip(
        which,
        characters,
        found.reaching(which, characters),
        found.beginning_before(which, characters),
        strict=True,
    ):
        inside = slice(found.ids.starts[text], found.ids.starts[text] + found.ids.lengths[text])
        assert first == sum(end <= character for end in found.ends[inside])
        assert last == sum(begin < character for begin in found.begins[inside]) - 1


def test_a_token_that_stands_for_nothing_hides_no_other() -> None:
    whole = placed(["ab ab"])
    odd = PlacedTokens(whole.ids, np.array([0, 0]), np.array([2, 0]))  # the second one has no place of its own
    assert odd.reaching(np.array([0]), np.array([0])).tolist() == [0]
    assert odd.beginning_before(np.array([0]), np.array([2])).tolist() == [1]
