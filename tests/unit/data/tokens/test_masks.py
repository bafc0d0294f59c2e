"""Masks: how much is chosen, in what pieces, and that only the key decides."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from burnish.data.tokens.masks import Key, MaskSelection, Replacement

CHOICES = st.builds(
    MaskSelection,
    probability=st.floats(0.05, 0.6),
    spans=st.sampled_from(["single", "ngram", "geometric"]),
    max_span=st.integers(1, 6),
)


@st.composite
def batches(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, Key]:
    """Rows of different lengths with special tokens at both ends, cut into words."""
    number, width = draw(st.integers(1, 5)), draw(st.integers(3, 30))
    random = np.random.default_rng(draw(st.integers(0, 999)))
    lengths = random.integers(2, width + 1, number)
    places = np.arange(width)
    can = (places > 0) & (places < lengths[:, None] - 1)
    begins = random.random((number, width)) < 0.6
    return can, begins, Key(draw(st.integers(0, 9)), draw(st.integers(0, 9)), random.permutation(100)[:number])


@settings(max_examples=25)
@given(batch=batches(), choice=CHOICES)
def test_only_what_may_be_chosen_is_and_units_are_chosen_whole(batch: tuple, choice: MaskSelection) -> None:
    can, begins, key = batch
    chosen, _ = choice.choose(can, begins, key)
    assert not (chosen & ~can).any()
    assert (chosen.any(axis=1) == can.any(axis=1)).all()
    within = can[:, 1:] & can[:, :-1] & ~begins[:, 1:]
    assert (chosen[:, 1:] == chosen[:, :-1])[within].all()


@settings(max_examples=25)
@given(batch=batches(), choice=CHOICES)
def test_an_example_is_masked_alike_in_any_batch(batch: tuple, choice: MaskSelection) -> None:
    can, begins, key = batch
    together, _ = choice.choose(can, begins, key)
    for row in range(len(can)):
        alone, _ = choice.choose(can[[row]], begins[[row]], Key(key.seed, key.epoch, key.rows[[row]]))
        assert (alone[0] == together[row]).all()
        wider = np.pad(can[[row]], ((0, 0), (0, 7)))
        padded, _ = choice.choose(
            wider, np.pad(begins[[row]], ((0, 0), (0, 7))), Key(key.seed, key.epoch, key.rows[[row]])
        )
        assert (padded[0, : can.shape[1]] == together[row]).all()


@pytest.mark.parametrize("spans", ["single", "ngram", "geometric"])
@pytest.mark.parametrize("words", [False, True])
def test_the_share_is_the_one_asked_for(spans: str, words: bool) -> None:
    can = np.ones((400, 100), dtype=bool)
    begins = np.ones_like(can) if not words else np.random.default_rng(0).random(can.shape) < 0.6
    chosen, _ = MaskSelection(0.15, spans, max_span=4).choose(can, begins, Key(1, 0, np.arange(400)))
    assert chosen.mean() == pytest.approx(0.15, abs=0.003)
    # Nearly the same at every place, too; the standard deviation of a place's share is 0.018.
    assert 0.06 < chosen.mean(axis=0).min() <= chosen.mean(axis=0).max() < 0.24


def test_single_tokens_are_masked_to_the_token() -> None:
    can = np.arange(40) < np.arange(10, 40)[:, None]
    chosen, _ = MaskSelection(0.2).choose(can, np.ones_like(can), Key(0, 0, np.arange(30)))
    assert (np.abs(chosen.sum(axis=1) - 0.2 * can.sum(axis=1)) < 1).all()


def test_geometric_spans_have_geometric_lengths() -> None:
    can = np.ones((4000, 60), dtype=bool)
    _, pieces = MaskSelection(0.1, "geometric", max_span=3, geometric=0.5).choose(can, can, Key(0, 0, np.arange(4000)))
    inner = [np.bincount(row)[1:-1] for row in pieces]
    shares = np.bincount(np.concatenate(inner), minlength=4)[1:] / sum(map(len, inner))
    assert shares == pytest.approx(np.array([4, 2, 1]) / 7, abs=0.01)


def test_every_epoch_seed_and_row_draws_its_own() -> None:
    can = np.ones((1, 200), dtype=bool)
    keys = [Key(0, 0, np.array([0])), Key(1, 0, np.array([0])), Key(0, 1, np.array([0])), Key(0, 0, np.array([1]))]
    drawn = [tuple(MaskSelection(0.15).choose(can, can, key)[0][0]) for key in keys]
    assert len(set(drawn)) == 4


def test_fates_are_80_10_10() -> None:
    ids = np.full((300, 100), 7)
    chosen = np.zeros_like(ids, dtype=bool)
    chosen[:, ::2] = True
    given = Replacement(3, np.arange(10, 1000)).apply(ids, chosen, Key(0, 0, np.arange(300)))
    assert (given[~chosen] == 7).all()
    shares = [(given[chosen] == 3).mean(), (given[chosen] >= 10).mean(), (given[chosen] == 7).mean()]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.01)
    assert len(np.unique(given[given >= 10])) > 700


def test_the_tokens_of_a_piece_share_one_fate() -> None:
    can = np.ones((50, 60), dtype=bool)
    key = Key(0, 0, np.arange(50))
    chosen, pieces = MaskSelection(0.5, "geometric").choose(can, can, key)
    given = Replacement(3, np.array([9]), masked=0.5, random=0.0).apply(
        np.full(can.shape, 7), chosen, key, pieces=pieces
    )
    same = (pieces[:, 1:] == pieces[:, :-1]) & chosen[:, 1:]
    assert (given[:, 1:] == given[:, :-1])[same].all()
