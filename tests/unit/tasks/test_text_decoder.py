"""From logits of parts to one decision a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.spec.values import Profile
from burnish.tasks.text_decoder import decode

TWO = Profile("binary", ("neg", "pos"))


def outputs(logits: list[list[float]], rows: list[int], **more: object) -> dict[str, np.ndarray]:
    return {
        "logits": np.array(logits, np.float32),
        "row": np.array(rows),
        "part": np.arange(len(rows)),
        **{name: np.array(value) for name, value in more.items()},
    }


def test_probabilities_sum_to_one_and_the_largest_decides() -> None:
    outcome = decode(outputs([[0, 2], [3, 1]], [0, 1], label=[1, 1]), TWO, pool="mean", threshold=0.5)
    assert np.allclose(outcome.outputs.sum(axis=1), 1)
    assert outcome.decisions.tolist() == [1, 0]
    assert outcome.truth is not None
    assert outcome.truth.tolist() == [1, 1]


@pytest.mark.parametrize(("pool", "decision"), [("mean", 0), ("max", 1), ("first", 0), ("vote", 0)])
def test_windows_of_one_row_are_pooled(pool: str, decision: int) -> None:
    logits = [[0.6, 0.0], [0.7, 0.0], [0.0, 0.9]]
    outcome = decode(outputs(logits, [0, 0, 0]), TWO, pool=pool, threshold=0.5)
    assert outcome.decisions.tolist() == [decision]
    assert np.allclose(outcome.outputs.sum(axis=1), 1)


def test_equal_votes_are_settled_by_the_mean() -> None:
    outcome = decode(outputs([[0.1, 0.0], [0.0, 5.0]], [0, 0]), TWO, pool="vote", threshold=0.5)
    assert outcome.decisions.tolist() == [1]


@given(st.permutations(range(12)), st.sampled_from(["mean", "max", "first", "vote"]))
def test_the_order_of_parts_never_shows(order: list[int], pool: str) -> None:
    logits = np.random.default_rng(0).normal(size=(12, 3))
    given_outputs = {"logits": logits, "row": np.arange(12) // 3, "part": np.arange(12)}
    shuffled = {name: values[list(order)] for name, values in given_outputs.items()}
    three = Profile("multiclass", ("a", "b", "c"))
    plain = decode(given_outputs, three, pool=pool, threshold=0.5)
    other = decode(shuffled, three, pool=pool, threshold=0.5)
    assert np.array_equal(plain.outputs, other.outputs)


def test_many_labels_are_decided_by_a_threshold_each() -> None:
    several = Profile("multilabel", ("a", "b", "c"))
    outcome = decode(outputs([[0.0, 3.0, -800.0]], [0]), several, pool="mean", threshold=0.6)
    assert outcome.decisions.tolist() == [[0, 1, 0]]
    assert np.isfinite(outcome.outputs).all()


def test_numbers_stay_numbers() -> None:
    outcome = decode(outputs([[2.5], [3.5]], [0, 0]), Profile("regression"), pool="mean", threshold=0.5)
    assert outcome.outputs.tolist() == [3.0]
