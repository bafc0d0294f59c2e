"""Schemes are told apart, impossible tags are found, and rewriting loses no entity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.metrics.entities import find_chunks, read_marks
from burnish.tasks.token_classification.schemes import impossible, rewritten, scheme_of, tags_of

SCHEMES = ("bio", "iob1", "iobes", "bilou")
TYPES = ("LOC", "PER")

# Pieces of a sentence: a type with a number of words, or a word outside.
parts = st.one_of(st.none(), st.tuples(st.sampled_from(TYPES), st.integers(1, 4)))
sentences = st.lists(st.lists(parts, max_size=6), min_size=1, max_size=5)


def written(sentence: list[tuple[str, int] | None], scheme: str) -> list[str]:
    """Write a sentence by hand, entity by entity."""
    tags: list[str] = []
    before = None
    for part in sentence:
        if part is None:
            tags.append("O")
        else:
            kind, size = part
            letters = {
                "bio": "B" + "I" * (size - 1),
                "iob1": ("B" if before is not None and before[0] == kind else "I") + "I" * (size - 1),
                "iobes": "S" if size == 1 else "B" + "I" * (size - 2) + "E",
                "bilou": "U" if size == 1 else "B" + "I" * (size - 2) + "L",
            }[scheme]
            tags += [f"{letter}-{kind}" for letter in letters]
        before = part
    return tags


def numbered(rows: list[list[str]], names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    flat = np.array([names.index(tag) for row in rows for tag in row], dtype=np.int64)
    return flat, np.array([len(row) for row in rows], dtype=np.int64)


@pytest.mark.parametrize("source", SCHEMES)
@pytest.mark.parametrize("target", SCHEMES)
@settings(max_examples=25)
@given(text=sentences)
def test_rewriting_gives_what_the_other_scheme_would_have_written(source, target, text) -> None:
    names, others = tags_of(TYPES, source), tags_of(TYPES, target)
    tags, lengths = numbered([written(row, source) for row in text], names)
    assert not len(impossible(tags, lengths, read_marks(names), source).words)
    found = rewritten(tags, lengths, marks=read_marks(names), scheme=target, names=others)
    assert found.tolist() == numbered([written(row, target) for row in text], others)[0].tolist()


@given(text=sentences)
def test_chunks_are_the_entities_that_were_written(text) -> None:
    names = tags_of(TYPES, "iobes")
    tags, lengths = numbered([written(row, "iobes") for row in text], names)
    chunks = find_chunks(tags, lengths, read_marks(names))
    expected = [part for row in text for part in row if part is not None]
    found = [
        (TYPES[kind], end - start) for kind, start, end in zip(chunks.types, chunks.starts, chunks.ends, strict=True)
    ]
    assert found == expected


@pytest.mark.parametrize("scheme", SCHEMES)
@given(text=sentences)
def test_a_scheme_is_recognised_or_no_other_would_read_otherwise(scheme, text) -> None:
    rows = [written(row, scheme) for row in text]
    names = tuple(sorted({tag for row in rows for tag in row})) or ("O",)
    tags, lengths = numbered(rows, names)
    marks = read_marks(names)
    told = scheme_of(tags, lengths, names=names, marks=marks)
    assert not len(impossible(tags, lengths, marks, told).words)


@pytest.mark.parametrize(
    ("scheme", "row", "wrong"),
    [
        ("bio", "O I-PER", [1]),
        ("bio", "B-LOC I-PER", [1]),
        ("bio", "B-PER I-PER B-PER", []),
        ("iob1", "O B-PER", [1]),
        ("iob1", "I-PER B-PER I-LOC", []),
        ("iob1", "I-LOC B-PER", [1]),
        ("iobes", "B-PER O", [0]),
        ("iobes", "B-PER E-LOC", [0, 1]),
        ("iobes", "S-PER B-PER E-PER", []),
        ("bilou", "I-PER L-PER", [0]),
        ("bilou", "B-PER U-PER", [0]),
    ],
)
def test_impossible_tags_are_found_where_they_stand(scheme: str, row: str, wrong: list[int]) -> None:
    names = tags_of(TYPES, scheme)
    tags, lengths = numbered([row.split(), ["O"]], names)
    assert sorted(impossible(tags, lengths, read_marks(names), scheme).words.tolist()) == wrong


def test_a_chunk_never_reaches_into_the_next_row() -> None:
    names = tags_of(TYPES, "bio")
    tags, lengths = numbered([["B-PER"], ["I-PER"]], names)
    assert impossible(tags, lengths, read_marks(names), "bio").words.tolist() == [1]
    assert len(find_chunks(tags, lengths, read_marks(names))) == 2


def test_tags_without_a_type_are_a_scheme_too() -> None:
    assert tags_of(("",), "bio") == ("O", "B", "I")
    tags, lengths = numbered([["B", "I", "O"]], ("O", "B", "I"))
    found = rewritten(tags, lengths, marks=read_marks(("O", "B", "I")), scheme="iobes", names=tags_of(("",), "iobes"))
    assert [tags_of(("",), "iobes")[tag] for tag in found] == ["B", "E", "O"]
