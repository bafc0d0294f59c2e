"""From logits of parts to one decision a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.spec.values import Profile
from burnish.tasks.labels import Measure
from burnish.tasks.text_classification.decoder import decode

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


KINDS = {
    "binary": Profile("binary", ("neg", "pos")),
    "multiclass": Profile("multiclass", ("a", "b", "c")),
    "multilabel": Profile("multilabel", ("a", "b", "c")),
}
POOLS = ["mean", "max", "first", "vote"]


@given(
    st.sampled_from(list(KINDS)), st.sampled_from(POOLS), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 99)
)
def test_probabilities_lie_between_0_and_1_for_every_kind_and_pool(
    kind: str, pool: str, sizes: list[int], seed: int
) -> None:
    given_outputs = windows(sizes, num_labels=len(KINDS[kind].labels), seed=seed)
    outcome = decode(given_outputs, KINDS[kind], pool=pool, threshold=0.5)
    assert (outcome.outputs >= 0).all()
    assert (outcome.outputs <= 1).all()
    if kind != "multilabel":
        assert np.allclose(outcome.outputs.sum(axis=1), 1)
        assert np.array_equal(outcome.decisions, outcome.outputs.argmax(axis=1))


@given(
    st.sampled_from(list(KINDS)), st.sampled_from(POOLS), st.lists(st.integers(1, 9), min_size=1), st.integers(0, 99)
)
def test_what_is_said_of_a_row_does_not_depend_on_the_other_rows(
    kind: str, pool: str, sizes: list[int], seed: int
) -> None:
    given_outputs = windows(sizes, num_labels=len(KINDS[kind].labels), seed=seed)
    together = decode(given_outputs, KINDS[kind], pool=pool, threshold=0.5).outputs
    for row in range(len(sizes)):
        own = {name: values[given_outputs["row"] == row] for name, values in given_outputs.items()}
        assert np.allclose(decode(own, KINDS[kind], pool=pool, threshold=0.5).outputs, together[row])


def windows(sizes: list[int], *, num_labels: int, seed: int) -> dict[str, np.ndarray]:
    logits = np.random.default_rng(seed).normal(size=(sum(sizes), num_labels)) * 4
    return {"logits": logits, "row": np.repeat(np.arange(len(sizes)), sizes), "part": np.arange(sum(sizes))}


def test_each_window_votes_for_every_label_that_it_finds() -> None:
    several = Profile("multilabel", ("a", "b", "c"))
    logits = [[3.0, 2.0, -3.0], [3.0, -2.0, -3.0], [3.0, 2.0, -3.0], [3.0, 2.0, -3.0]]
    outcome = decode(outputs(logits, [0, 0, 0, 0]), several, pool="vote", threshold=0.5)
    assert outcome.decisions.tolist() == [[1, 1, 0]]
    assert outcome.outputs[0] == pytest.approx([1, 0.75, 0], abs=0.07)


@pytest.mark.parametrize(("logit", "decision"), [(0.1, 0), (5.0, 1)])
def test_a_label_that_half_of_the_windows_find_is_settled_by_the_mean(logit: float, decision: int) -> None:
    outcome = decode(outputs([[logit], [-1.0]], [0, 0]), Profile("multilabel", ("a",)), pool="vote", threshold=0.5)
    assert outcome.decisions.tolist() == [[decision]]


@pytest.mark.parametrize("pool", POOLS)
def test_numbers_are_given_in_the_unit_of_the_target(pool: str) -> None:
    scaled = Profile("regression", facts={"target": Measure("none", 1250.0, 100.0).to_json()})
    outcome = decode(
        outputs([[-1.0], [1.0], [2.0]], [0, 0, 1], label=[0.5, 0.5, -2.5]), scaled, pool=pool, threshold=0.5
    )
    assert outcome.outputs.tolist() == [{"max": 1350.0, "first": 1150.0}.get(pool, 1250.0), 1450.0]
    assert outcome.truth is not None
    assert outcome.truth.tolist() == [1300.0, 1000.0]


def test_many_labels_are_decided_by_a_threshold_each() -> None:
    several = Profile("multilabel", ("a", "b", "c"))
    outcome = decode(outputs([[0.0, 3.0, -800.0]], [0]), several, pool="mean", threshold=0.6)
    assert outcome.decisions.tolist() == [[0, 1, 0]]
    assert np.isfinite(outcome.outputs).all()


def test_numbers_stay_numbers() -> None:
    outcome = decode(outputs([[2.5], [3.5]], [0, 0]), Profile("regression"), pool="mean", threshold=0.5)
    assert outcome.outputs.tolist() == [3.0]
