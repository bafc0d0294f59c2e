import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from burnish.data.inspection.audit import NEAR, audit

WORDS = [f"word{number}" for number in range(400)]


def text(seed: int, length: int = 40) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, length))


def test_a_held_out_row_that_training_has_is_found_whatever_its_case_and_blanks() -> None:
    train = pa.table({"text": ["Good  film", "bad film", None], "label": ["a", "b", "a"]})
    test = pa.table({"text": ["good film ", "other film", None], "label": ["a", "b", "a"]})
    repeated = audit({"train": train, "test": test}, inputs=["text"], labels=["label"]).repeated["test"]
    assert repeated.twin.tolist() == [0, -1, 2]
    assert repeated.is_exact.tolist() == [True, False, True]


def test_all_inputs_must_be_the_same() -> None:
    train = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"]})
    test = pa.table({"a": [2, 1, 1], "b": ["y", "y", None]})
    assert audit({"train": train, "test": test}, inputs=["a", "b"]).repeated["test"].twin.tolist() == [-1, 1, -1]


def test_a_text_with_a_few_other_words_is_a_near_duplicate() -> None:
    texts = [text(seed) for seed in range(200)]
    changed = texts[17].split()
    changed[-1] = "new"
    test = pa.table({"text": [" ".join(changed), text(999), "a b c d e f g h i j"]})
    repeated = audit({"train": pa.table({"text": texts}), "test": test}, inputs=["text"]).repeated["test"]
    assert repeated.twin.tolist() == [17, -1, -1]
    assert not repeated.is_exact.any()


def test_texts_that_share_a_beginning_are_no_duplicates() -> None:
    half = text(1, 20)
    train, test = pa.table({"text": [f"{half} {text(2, 20)}"]}), pa.table({"text": [f"{half} {text(3, 20)}"]})
    assert audit({"train": train, "test": test}, inputs=["text"]).repeated["test"].twin.tolist() == [-1]


def test_one_input_with_two_labels_is_a_conflict_and_with_one_none() -> None:
    train = pa.table({"text": ["a", "b", "A", "a", "b"], "label": [1, 2, 0, 1, 2]})
    found = audit({"train": train}, inputs=["text"], labels=["label"])
    assert len(found.conflicts) == 1
    assert set(found.conflicts[0]) <= {0, 2, 3}
    assert 2 in found.conflicts[0]


def test_lists_of_words_are_compared_and_structures_are_left_out() -> None:
    train = pa.table({"words": [["a", "b"], ["c"]], "other": [{"x": 1}, {"x": 2}]})
    test = pa.table({"words": [["c"], ["A", "B"]], "other": [{"x": 2}, {"x": 3}]})
    assert audit({"train": train, "test": test}, inputs=["words"]).repeated["test"].twin.tolist() == [1, 0]
    assert audit({"train": train, "test": test}, inputs=["other"]).repeated == {}


def test_nothing_to_compare_is_no_finding() -> None:
    empty = pa.table({"text": pa.array([], pa.string())})
    assert audit({"train": empty, "test": empty}, inputs=["text"]).repeated == {}
    assert audit({"train": empty}, inputs=["absent"]).conflicts == ()


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=14), min_size=1, max_size=30), st.integers(1, 29))
def test_what_is_found_is_what_a_plain_search_finds(rows: list[list[str]], cut: int) -> None:
    texts = [" ".join(row) for row in rows]
    train, test = texts[:cut], texts[cut:]
    found = audit(
        {"train": pa.table({"text": train}), "test": pa.table({"text": pa.array(test, pa.string())})}, inputs=["text"]
    )
    for row, (twin, is_exact) in enumerate(
        zip(found.repeated["test"].twin, found.repeated["test"].is_exact, strict=True)
    ):
        assert is_exact == (test[row] in train)
        if twin >= 0 and not is_exact:
            assert similarity(train[twin], test[row]) >= NEAR


def similarity(first: str, second: str) -> float:
    sets = [{tuple(words[i : i + 3]) for i in range(len(words) - 2)} for words in (first.split(), second.split())]
    return len(sets[0] & sets[1]) / max(1, len(sets[0] | sets[1]))
