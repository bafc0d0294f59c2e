"""The formula of scale: what is shared shrinks, what is not stays, and messages cost what the link says."""

import pytest

from bench.scale import Link, Step

STEP = Step(fixed=0.1, each=0.01, sent=80 * 2**20)
FREE = Link("free", 0.0, float("inf"))


def test_only_the_examples_are_shared() -> None:
    assert STEP.seconds(32, 1, FREE) == pytest.approx(0.1 + 0.32)
    assert STEP.seconds(32, 4, FREE) == pytest.approx(0.1 + 0.08)


def test_bytes_go_nearly_twice_around_a_ring_however_long_it_is() -> None:
    slow = Link("slow", 0.0, 80 * 2**20)
    added = [STEP.seconds(32, size, slow) - STEP.seconds(32, size, FREE) for size in (1, 2, 4, 1000)]
    assert added == pytest.approx([0.0, 1.0, 1.5, 1.998])


def test_every_hop_of_every_message_waits() -> None:
    far = Link("far", 1e-3, float("inf"))
    added = [STEP.seconds(32, size, far) - STEP.seconds(32, size, FREE) for size in (2, 5)]
    assert added == pytest.approx([0.017, 0.068])  # ten buckets and seven small messages, over one hop and four
