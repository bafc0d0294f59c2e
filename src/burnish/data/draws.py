"""Random numbers by key: the same key gives the same stream, whoever asks, whenever."""

from typing import Literal

import numpy as np

Purpose = Literal["order", "truncation", "importance"]

_PURPOSES: dict[Purpose, int] = {"order": 1, "truncation": 2, "importance": 3}
_WORD = 2**64


def generator(seed: int, purpose: Purpose, *, epoch: int, row: int = 0, view: int = 0) -> np.random.Generator:
    """Give the stream that belongs to this key and to no other; nothing is remembered between calls."""
    # Philox counts: the low word of its counter is the place in the stream, so what names the stream stands above it.
    counter = np.array([0, epoch % _WORD, row % _WORD, view % _WORD], dtype=np.uint64)
    key = np.array([seed % _WORD, _PURPOSES[purpose]], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))
