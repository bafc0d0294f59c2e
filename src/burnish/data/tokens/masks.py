"""Which tokens a model must guess: a pure function of seed, epoch, example and place, for a whole batch at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from burnish.data.batching.rng import uniforms
from burnish.spec.values import Array

Spans = Literal["single", "ngram", "geometric"]

_LENGTHS, _PRIORITY, _LAST, _FATE, _SUBSTITUTE = range(5)


@dataclass(frozen=True)
class Key:
    """Whose masks these are: the same key gives the same masks in any batch."""

    seed: int
    epoch: int
    rows: Array
    """The number of each example."""

    def uniforms(self, width: int, lane: int) -> Array:
        """Draw numbers from 0 to 1, [n, width]."""
        return uniforms(self.rows, width, seed=self.seed, purpose="mask", epoch=self.epoch, lane=lane)


@dataclass(frozen=True)
class MaskSelection:
    """How places are chosen: how many, and in what pieces."""

    probability: float
    spans: Spans = "single"
    max_span: int = 10
    geometric: float = 0.2

    def choose(self, can: Array, begins: Array, key: Key) -> tuple[Array, Array]:
        """Choose places [n, length] where `can` is true, and give the number of the piece each place lies in.

        A unit (a word or a token) starts where `begins` is true and is chosen whole or not at all; spans are runs of
        units. Pieces are taken in random order until the share is reached; the last one by lot, so that the expected
        share is exact. Every example with a place to choose has at least one chosen.
        """
        pieces = self._pieces(can, begins, key)
        sizes = _count(pieces, can)
        wanted = np.maximum(self.probability * can.sum(axis=1), 1.0)
        taken = _fill(sizes, wanted, key)
        return np.take_along_axis(taken, pieces, axis=1) & can, pieces

    def _pieces(self, can: Array, begins: Array, key: Key) -> Array:
        """Number the pieces of each example; places that cannot be chosen get the number of a neighbour."""
        first = can & ~np.pad(can, ((0, 0), (1, 0)))[:, :-1]
        units = np.maximum(np.cumsum((begins & can) | first, axis=1) - 1, 0)
        if self.spans == "single":
            return np.asarray(units)
        lengths = self._lengths(key.uniforms(units.shape[1] + 1, _LENGTHS))
        ends = np.cumsum(lengths, axis=1)
        turns = np.zeros((len(units), units.shape[1] + 1), dtype=np.int64)
        rows, places = np.nonzero(ends <= units.shape[1])
        np.add.at(turns, (rows, ends[rows, places]), 1)
        return np.asarray(np.take_along_axis(np.cumsum(turns, axis=1), units, axis=1))

    def _lengths(self, chances: Array) -> Array:
        """Draw the lengths of spans, of which the first begins somewhere inside a span."""
        if self.spans == "geometric":
            share = 1 - (1 - self.geometric) ** self.max_span
            lengths = 1 + np.floor(np.log1p(-chances[:, 1:] * share) / np.log1p(-self.geometric)).astype(np.int64)
        else:
            weights = np.cumsum(1 / np.arange(1, self.max_span + 1))
            lengths = 1 + np.searchsorted(weights / weights[-1], chances[:, 1:], side="right")
        lengths = np.minimum(lengths, self.max_span)
        lengths[:, 0] = np.ceil(lengths[:, 0] * (1 - chances[:, 0]))
        return np.asarray(lengths)


@dataclass(frozen=True)
class Replacement:
    """What becomes of a chosen token: a mask, another token, or nothing."""

    mask_id: int
    substitutes: Array
    """The ids that may stand in for a token: all but special ones."""
    masked: float = 0.8
    random: float = 0.1

    def apply(self, ids: Array, chosen: Array, key: Key, *, pieces: Array | None = None) -> Array:
        """Replace the chosen ids; with `pieces`, all tokens of a piece share one fate."""
        fate = key.uniforms(ids.shape[1], _FATE)
        if pieces is not None:
            fate = np.take_along_axis(fate, pieces, axis=1)
        picked = self.substitutes[(key.uniforms(ids.shape[1], _SUBSTITUTE) * len(self.substitutes)).astype(np.int64)]
        replaced = np.where(fate < self.masked, self.mask_id, np.where(fate < self.masked + self.random, picked, ids))
        return np.where(chosen, replaced, ids)


def _count(pieces: Array, can: Array) -> Array:
    """Count the places of each piece: [n, length]."""
    width = pieces.shape[1]
    flat = (pieces + width * np.arange(len(pieces))[:, None])[can]
    return np.bincount(flat, minlength=pieces.size).reshape(pieces.shape)


def _fill(sizes: Array, wanted: Array, key: Key) -> Array:
    """Take pieces in random order until so many places are taken, the last by lot; at least one."""
    priority = np.where(sizes > 0, key.uniforms(sizes.shape[1], _PRIORITY), np.inf)
    order = np.argsort(priority, axis=1, kind="stable")
    ordered = np.take_along_axis(sizes, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    room = (wanted[:, None] - before) / np.maximum(ordered, 1)
    is_taken = (room >= 1) | (key.uniforms(1, _LAST) < room)
    is_taken[:, 0] = True
    taken = np.zeros(sizes.shape, dtype=bool)
    np.put_along_axis(taken, order, is_taken & (ordered > 0), axis=1)
    return taken
