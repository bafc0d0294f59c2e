"""Sentences of documents, and stretches of whole sentences."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.batching.ragged import from_lists
from burnish.data.tokens.packing import fill_stretches, split_sentences

DOCUMENTS = st.lists(st.lists(st.integers(0, 7), max_size=6), min_size=1, max_size=5)


def test_running_text_is_cut_after_its_marks() -> None:
    column = pa.chunked_array([["It rains. (Really!) So what? Version 1.5 is out", None, "One\nper. line"]])
    sentences, rows = split_sentences(column)
    assert [text for text in sentences.to_pylist() if text] == [
        "It rains.",
        "(Really!)",
        "So what?",
        "Version 1.5 is out",
        "One",
        "per. line",
    ]
    assert rows.tolist() == [0, 0, 0, 0, 1, 2, 2]


def test_paragraphs_are_cut_after_their_marks_and_at_their_ends() -> None:
    column = pa.chunked_array([["It rains. Still.\nSo what? Nothing. The end", "Mr. Fox ran.\nHe hid."]])
    sentences, rows = split_sentences(column)
    prose, lines = ["It rains.", "Still.", "So what?", "Nothing.", "The end"], ["Mr. Fox ran.", "He hid."]
    assert [text for text in sentences.to_pylist() if text] == [*prose, *lines]
    assert rows.tolist() == [0, 0, 0, 0, 0, 1, 1]


@given(documents=DOCUMENTS, room=st.integers(2, 12))
def test_stretches_hold_whole_sentences_of_one_row_and_lose_only_single_tokens(
    documents: list[list[int]], room: int
) -> None:
    lengths = [length for document in documents for length in document]
    rows = np.array([row for row, document in enumerate(documents) for _ in document], dtype=np.int64)
    tokens = np.arange(sum(lengths), dtype=np.int32)
    sentences = from_lists(np.split(tokens, np.cumsum(lengths)[:-1]) if lengths else [])
    owner = np.repeat(rows, lengths)
    ends = set(np.cumsum(lengths).tolist())
    found = fill_stretches(sentences, rows, room=room)
    seen = found.tokens.values.tolist()
    assert seen == sorted(set(seen))
    for at, row in enumerate(found.rows):
        stretch = found.tokens[at]
        assert 2 <= len(stretch) <= room
        assert (owner[stretch] == row).all()
        assert (np.diff(stretch) == 1).all()
        cuts = found.cuts[at]
        assert len(cuts) >= 1
        assert 1 <= cuts.min() <= cuts.max() < len(stretch)
        between, within = {int(stretch[cut]) for cut in cuts}, ends & set(stretch[1:].tolist())
        if max(lengths) <= room:
            assert between == within or (not within and len(cuts) == 1)
    lone = sorted(set(tokens.tolist()) - set(seen))
    for token in lone:
        # What is missing had no neighbour of its own row beside it that was left in the same stretch.
        assert token + 1 not in lone or owner[token] != owner[token + 1] or room < 3 or token + 1 in ends
