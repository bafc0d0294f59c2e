"""Random numbers by key: the same key gives the same stream, whoever asks, whenever."""

from typing import Any, Literal

import numpy as np

from burnish.spec.values import Array

Purpose = Literal["order", "truncation", "importance", "mask", "offset", "pair", "permutation", "mixture"]

_PURPOSES: dict[Purpose, int] = {
    "order": 1,
    "truncation": 2,
    "importance": 3,
    "mask": 4,
    "offset": 5,
    "pair": 6,
    "permutation": 7,
    "mixture": 8,
}
_WORD = 2**64
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
_Words = np.ndarray[Any, np.dtype[np.uint64]]


def generator(seed: int, purpose: Purpose, *, epoch: int, row: int = 0, view: int = 0) -> np.random.Generator:
    """Open the random stream that belongs to this key and to no other; nothing is remembered between calls."""
    # Philox counts: the low word of its counter is the place in the stream, so what names the stream stands above it.
    counter = np.array([0, epoch % _WORD, row % _WORD, view % _WORD], dtype=np.uint64)
    key = np.array([seed % _WORD, _PURPOSES[purpose]], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))


def uniforms(rows: "Array", width: int, *, seed: int, purpose: Purpose, epoch: int, lane: int = 0) -> "Array":
    """Draw numbers from 0 to 1 for many rows at once, [n, width]: each by its row and place, whatever its batch.

    `lane` tells apart several numbers that are wanted for one place.
    """
    key = np.array([seed % _WORD], dtype=np.uint64)
    with np.errstate(over="ignore"):
        for word in (_PURPOSES[purpose], epoch, lane):
            key = mix(key + GOLDEN * np.uint64((word + 1) % _WORD))
        streams = mix(key + GOLDEN * (np.asarray(rows).astype(np.uint64) + np.uint64(1)))
        drawn = mix(streams[:, None] + GOLDEN * np.arange(1, width + 1, dtype=np.uint64))
    return np.asarray((drawn >> np.uint64(11)) * 2.0**-53)


def mix(state: _Words) -> _Words:
    """Scramble words (splitmix64), so that neighbours have nothing in common."""
    with np.errstate(over="ignore"):
        state = (state ^ (state >> np.uint64(30))) * _MIX[0]
        state = (state ^ (state >> np.uint64(27))) * _MIX[1]
    return state ^ (state >> np.uint64(31))
