"""Whose noise is drawn: of the examples that a network computes now, however a batch was shared out or cut."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

import numpy as np

from burnish.spec.values import Array

BY_EXAMPLE = "by example"
"""How noise is drawn, as checkpoints say it."""
_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


class Noise:
    """The draws of a step for some examples: pure functions of seed, step, example, and how many came before."""

    def __init__(self, examples: Array, *, seed: int, step: int) -> None:
        words = examples.astype(np.uint32)
        for factor in (0x7FEB352D, 0x846CA68B):
            words = (words ^ (words >> np.uint32(16))) * np.uint32(factor)
        self.keys: Array = (words ^ (words >> np.uint32(16))).view(np.int32)
        """A number of 32 bits for each example, which no other one has."""
        self._first = _mixed(_mixed(seed) + step)
        self._count = 0

    def draw(self) -> int:
        """Return 64 bits that belong to the next draw of the step, the same for all of its examples."""
        self._count += 1
        return _mixed(self._first + self._count * _GOLDEN)

    @contextmanager
    def again_from(self, count: int) -> Iterator[None]:
        """Repeat the draws since a count."""
        now, self._count = self._count, count
        yield
        self._count = now

    @property
    def count(self) -> int:
        """How many draws there were."""
        return self._count


_NOW: ContextVar[Noise | None] = ContextVar("noise", default=None)


@contextmanager
def drawing(noise: Noise | None) -> Iterator[None]:
    """Let what is drawn in this context be the noise of these examples; None leaves it to torch's generator."""
    token = _NOW.set(noise)
    try:
        yield
    finally:
        _NOW.reset(token)


def current_noise() -> Noise | None:
    """Return whose noise is drawn now."""
    return _NOW.get()


def drawn_again() -> tuple[AbstractContextManager[None], AbstractContextManager[None]]:
    """Give contexts for a layer that is computed twice, the second time with the draws of the first."""
    noise = _NOW.get()
    return nullcontext(), nullcontext() if noise is None else noise.again_from(noise.count)


def _mixed(word: int) -> int:
    """Mix 64 bits, as SplitMix64 ends."""
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & _WORD
    return word ^ (word >> 31)
