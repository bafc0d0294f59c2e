"""Every policy fills the limit exactly and keeps its own promise about order and repetition."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from burnish.config import load
from burnish.data.batching.rng import generator
from burnish.data.truncation import (
    Head,
    HeadTail,
    RandomSpans,
    RandomSpansDeleting,
    RandomSpansOverlapping,
    Tail,
    Windows,
)
from burnish.spec.protocols import Truncation

RANDOM = (RandomSpans, RandomSpansOverlapping, RandomSpansDeleting)


@st.composite
def long_texts(draw):
    limit = draw(st.integers(1, 80))
    return draw(st.integers(limit + 1, limit * 4 + 3)), limit


spans = st.integers(1, 100)
seeds = st.integers(0, 10**6)


def stream(seed=0, epoch=0, row=0):
    return generator(seed, "truncation", epoch=epoch, row=row)


def chosen(policy, length, limit, random=None):
    (positions,) = policy.select(length, limit=limit, random=random or stream())
    return positions


def runs(positions):
    return np.split(positions, np.flatnonzero(np.diff(positions) != 1) + 1)


@pytest.mark.parametrize("policy", [Head(), Tail(), HeadTail(), *(kind() for kind in RANDOM), Windows()])
def test_every_policy_is_a_truncation(policy):
    assert isinstance(policy, Truncation)
    assert policy.is_random == isinstance(policy, RANDOM)


@given(long_texts())
def test_head_and_tail_keep_the_two_ends(text):
    length, limit = text
    assert chosen(Head(), length, limit).tolist() == list(range(length))[:limit]
    assert chosen(Tail(), length, limit).tolist() == list(range(length))[-limit:]


@given(long_texts(), st.integers(0, 600), st.integers(0, 600))
def test_head_tail_fills_the_limit_with_two_ends_in_proportion(text, head, tail):
    length, limit = text
    if head + tail == 0:
        return
    positions = chosen(HeadTail(head=head, tail=tail), length, limit)
    kept_head = int((positions == np.arange(limit)).sum())
    assert len(positions) == limit
    assert positions.tolist() == [*range(kept_head), *range(length - limit + kept_head, length)]
    assert abs(kept_head - limit * head / (head + tail)) <= 1
    if head and tail and limit > 1:
        assert 0 < kept_head < limit


def test_head_tail_is_taken_as_written_when_it_adds_up_to_the_limit():
    positions = chosen(HeadTail(head=128, tail=382), 600, 510)
    assert positions.tolist() == [*range(128), *range(600 - 382, 600)]


def test_head_tail_with_an_empty_part_keeps_only_the_other():
    assert chosen(HeadTail(head=0, tail=5), 20, 4).tolist() == [16, 17, 18, 19]
    assert chosen(HeadTail(head=5, tail=0), 20, 4).tolist() == [0, 1, 2, 3]


def test_head_tail_of_nothing_is_refused():
    with pytest.raises(ValidationError, match="must not both be 0"):
        HeadTail(head=0, tail=0)


@pytest.mark.parametrize("kind", RANDOM)
@given(text=long_texts(), span=spans, seed=seeds)
def test_random_policies_fill_the_limit_exactly_within_the_text(kind, text, span, seed):
    length, limit = text
    positions = chosen(kind(span=span), length, limit, stream(seed))
    assert len(positions) == limit
    assert positions.min() >= 0
    assert positions.max() < length


@pytest.mark.parametrize("kind", RANDOM)
@given(text=long_texts(), span=spans, seed=seeds)
def test_random_policies_repeat_themselves_for_the_same_generator(kind, text, span, seed):
    first = chosen(kind(span=span), *text, stream(seed))
    assert np.array_equal(first, chosen(kind(span=span), *text, stream(seed)))


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize("span", [1, 16, 1000])
def test_random_policies_differ_from_epoch_to_epoch(kind, span):
    seen = {chosen(kind(span=span), 1600, 510, stream(epoch=epoch)).tobytes() for epoch in range(20)}
    assert len(seen) >= (3 if span > 510 and kind is RandomSpans else 15)


@pytest.mark.parametrize("kind", RANDOM)
@pytest.mark.parametrize(("length", "limit", "span"), [(2, 1, 1), (2, 1, 9), (511, 510, 16), (511, 510, 1), (9, 8, 8)])
def test_random_policies_hold_at_the_edges(kind, length, limit, span):
    assert len(chosen(kind(span=span), length, limit)) == limit


@given(long_texts(), spans, seeds)
def test_random_spans_are_whole_chunks_in_document_order_but_for_one(text, span, seed):
    length, limit = text
    positions = chosen(RandomSpans(span=span), length, limit, stream(seed))
    assert (np.diff(positions) > 0).all()
    span = min(span, limit)
    numbers, counts = np.unique(positions // span, return_counts=True)
    whole = np.minimum(span, length - numbers * span)
    assert (counts != whole).sum() <= 1
    for number, count in zip(numbers, counts, strict=True):
        assert number * span in positions, "a chunk that is cut keeps its beginning"
        assert count >= 1


@given(long_texts(), spans, seeds)
def test_overlapping_spans_stand_whole_in_draw_order(text, span, seed):
    length, limit = text
    positions = chosen(RandomSpansOverlapping(span=span), length, limit, stream(seed))
    for start in range(0, limit, min(span, limit)):
        part = positions[start : start + min(span, limit)]
        assert (np.diff(part) == 1).all()


def test_overlapping_spans_do_overlap_and_leave_document_order():
    positions = chosen(RandomSpansOverlapping(span=16), 600, 510)
    assert len(np.unique(positions)) < 510
    assert (np.diff(positions) < 0).any()


@given(long_texts(), spans, seeds)
def test_deleting_spans_never_repeat_a_token(text, span, seed):
    length, limit = text
    positions = chosen(RandomSpansDeleting(span=span), length, limit, stream(seed))
    assert len(np.unique(positions)) == limit


@given(long_texts(), spans, seeds)
def test_deleting_spans_never_reach_over_a_hole(text, span, seed):
    length, limit = text
    positions = chosen(RandomSpansDeleting(span=span), length, limit, stream(seed)).tolist()
    left = set(range(length))
    while positions:
        width = min(span, len(positions), max(map(len, runs(np.array(sorted(left))))))
        part, positions = positions[:width], positions[width:]
        assert part == list(range(part[0], part[0] + width))
        assert left.issuperset(part)
        left.difference_update(part)


def test_deleting_spans_stand_in_draw_order():
    positions = chosen(RandomSpansDeleting(span=16), 3000, 510)
    assert (np.diff(positions) < 0).any()


@pytest.mark.parametrize("kind", RANDOM)
def test_every_token_has_a_fair_chance(kind):
    counts = np.zeros(64)
    for row in range(600):
        counts[np.unique(chosen(kind(span=4), 64, 32, stream(row=row)))] += 1
    assert counts.min() > 40, "no token is left out"
    if kind is not RandomSpansOverlapping:
        assert counts.sum() == 600 * 32


@given(long_texts(), st.integers(0, 100))
def test_windows_cover_every_token_and_end_with_the_text(text, stride):
    length, limit = text
    windows = Windows(stride=stride).select(length, limit=limit, random=stream())
    assert all(len(window) == limit and (np.diff(window) == 1).all() for window in windows)
    assert windows[0][0] == 0
    assert windows[-1][-1] == length - 1
    assert np.array_equal(np.unique(np.concatenate(windows)), np.arange(length))
    shared = limit - min(stride, limit - 1)
    assert all(after[0] - before[0] == shared for before, after in pairwise(windows[:-1]))


@given(long_texts(), st.integers(0, 100), st.integers(1, 6))
def test_max_windows_keeps_the_first_and_the_last_of_them(text, stride, most):
    length, limit = text
    full = [w[0] for w in Windows(stride=stride).select(length, limit=limit, random=stream())]
    kept = [w[0] for w in Windows(stride=stride, max_windows=most).select(length, limit=limit, random=stream())]
    assert len(kept) == min(most, len(full))
    assert set(kept) <= set(full)
    assert len(set(kept)) == len(kept)
    assert kept[0] == full[0]
    assert most == 1 or kept[-1] == full[-1]


def test_max_windows_are_spread_evenly():
    windows = Windows(stride=0, max_windows=3).select(90, limit=10, random=stream())
    assert [int(window[0]) for window in windows] == [0, 40, 80]


@pytest.mark.parametrize("kind", RANDOM)
def test_a_span_of_no_tokens_is_refused(kind):
    with pytest.raises(ValidationError):
        kind(span=0)


@pytest.mark.parametrize(
    ("length", "limit", "expected"),
    [
        (20, 12, [0, 1, 2, 18, 19]),
        (20, 4, [0, 1, 2, 19]),
        (20, 3, [0, 1, 2]),
        (20, 2, [0, 1]),
    ],
)
def test_without_filling_no_more_is_kept_than_was_asked_for(length: int, limit: int, expected: list[int]) -> None:
    assert chosen(HeadTail(head=3, tail=2, fill=False), length, limit).tolist() == expected


def test_ht_selects_up_to_its_numbers_as_the_sample_does() -> None:
    ht = load("demo/reviews", overrides=["task.truncation={type: ht, head: 3, tail: 2}"]).experiment.task.truncation
    assert chosen(ht, 20, 12).tolist() == [0, 1, 2, 18, 19]
    head_tail = load("demo/reviews", overrides=["task.truncation=head_tail"]).experiment.task.truncation
    assert head_tail.fill
