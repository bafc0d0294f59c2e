"""Learns the pieces of a Unigram tokenizer, in one order of arithmetic: the same words give the same pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from burnish.spec.values import Array

_LONGEST_PIECE = 16
_LONGEST_WORD = 24
"""Longer words are cut: products of this many probabilities still fit a float."""
_MOST_WORDS = 200_000
_SEEDS_PER_PIECE = 10
_KEPT_A_ROUND = 0.75
_ROUNDS_OF_EM = 2
_LEAST_COUNT = 1e-3


def learn_pieces(words: Mapping[str, int], *, size: int, letters: Sequence[str]) -> dict[str, float]:
    """Learn at most `size` pieces with their log-probabilities; the letters are always among them.

    Pieces begin as the most frequent substrings; expectation and maximisation weigh them, and round by round those
    are dropped whose loss would cost the likelihood of the words least.
    """
    counted = _cut(words, set(letters))
    pieces = [*letters, *_seeds(counted, number=_SEEDS_PER_PIECE * size)]
    number = {piece: place for place, piece in enumerate(pieces)}
    texts = [*counted]
    lattice = Lattice.of(texts, number)
    own = Lattice.of(pieces, number).without_whole(np.array([len(piece) for piece in pieces]))
    counts = np.array([counted[text] for text in texts], dtype=np.float64)
    scores = _normalise(np.bincount(lattice.piece, weights=counts[lattice.word], minlength=len(pieces)) + _LEAST_COUNT)
    is_letter = np.arange(len(pieces)) < len(letters)
    alive = np.ones(len(pieces), dtype=bool)
    while True:
        for _ in range(_ROUNDS_OF_EM):
            expected = lattice.expected(np.exp(scores), counts)
            scores = _normalise(np.where(alive, np.maximum(expected, _LEAST_COUNT), 0.0))
        if alive.sum() <= max(size, len(letters)):
            return {pieces[place]: float(scores[place]) for place in np.flatnonzero(alive)}
        keep = max(size, len(letters), int(_KEPT_A_ROUND * alive.sum()))
        alive = _keep_most_needed(expected, scores - own.best(scores), alive=alive, always=is_letter, keep=keep)
        scores = np.where(alive, scores, -np.inf)


@dataclass(frozen=True)
class Lattice:
    """All ways to write words in pieces: each edge says where in which word which piece stands."""

    word: Array
    start: Array
    end: Array
    piece: Array
    lengths: Array

    @classmethod
    def of(cls, texts: Sequence[str], number: Mapping[str, int]) -> Lattice:
        """Find every piece in every word."""
        found = [
            (word, start, end, number[text[start:end]])
            for word, text in enumerate(texts)
            for start in range(len(text))
            for end in range(start + 1, min(len(text), start + _LONGEST_PIECE) + 1)
            if text[start:end] in number
        ]
        edges = np.array(found, dtype=np.int64).reshape(-1, 4)
        word, start, end, piece = edges.T
        return cls(word, start, end, piece, np.array([len(text) for text in texts], dtype=np.int64))

    def without_whole(self, lengths: Array) -> Lattice:
        """Leave out the edges that are a whole word: what is left are the other ways to write it."""
        kept = ~((self.start == 0) & (self.end == lengths[self.word]))
        return Lattice(self.word[kept], self.start[kept], self.end[kept], self.piece[kept], self.lengths)

    def expected(self, probabilities: Array, counts: Array) -> Array:
        """Say how often each piece is used, over all ways to write each word by their probability."""
        weight = probabilities[self.piece]
        forward, backward = self._forward(weight), self._backward(weight)
        total = forward[np.arange(len(self.lengths)), self.lengths]
        share = counts / np.where(total > 0, total, np.inf)
        used = share[self.word] * forward[self.word, self.start] * weight * backward[self.word, self.end]
        return np.bincount(self.piece, weights=used, minlength=len(probabilities))

    def best(self, scores: Array) -> Array:
        """Compute the log-probability of the best way to write each word; minus infinity if there is none."""
        best = np.full((len(self.lengths), int(self.lengths.max(initial=0)) + 1), -np.inf)
        best[:, 0] = 0.0
        for place, edges in self._by(self.end):
            np.maximum.at(
                best[:, place], self.word[edges], best[self.word[edges], self.start[edges]] + scores[self.piece[edges]]
            )
        return best[np.arange(len(self.lengths)), self.lengths]

    def _forward(self, weight: Array) -> Array:
        reached = self._table()
        reached[:, 0] = 1.0
        for place, edges in self._by(self.end):
            flow = reached[self.word[edges], self.start[edges]] * weight[edges]
            reached[:, place] = np.bincount(self.word[edges], weights=flow, minlength=len(reached))
        return reached

    def _backward(self, weight: Array) -> Array:
        left = self._table()
        left[np.arange(len(left)), self.lengths] = 1.0
        for place, edges in reversed(self._by(self.start)):
            flow = left[self.word[edges], self.end[edges]] * weight[edges]
            left[:, place] += np.bincount(self.word[edges], weights=flow, minlength=len(left))
        return left

    def _table(self) -> Array:
        return np.zeros((len(self.lengths), int(self.lengths.max(initial=0)) + 1))

    def _by(self, places: Array) -> list[tuple[int, Array]]:
        """Group the edges by a place, in its order."""
        order = np.argsort(places, kind="stable")
        values, starts = np.unique(places[order], return_index=True)
        return list(zip(values.tolist(), np.split(order, starts[1:]), strict=True))


def _cut(words: Mapping[str, int], letters: set[str]) -> dict[str, int]:
    """Keep the most frequent words, cut where they are too long or hold a letter that gets no piece."""
    frequent = sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_WORDS]
    counted: Counter[str] = Counter()
    for word, count in frequent:
        known = "".join(letter if letter in letters else "\0" for letter in word)
        for part in known.split("\0"):
            for start in range(0, len(part), _LONGEST_WORD):
                counted[part[start : start + _LONGEST_WORD]] += count
    return {word: counted[word] for word in sorted(counted)}


def _seeds(words: Mapping[str, int], *, number: int) -> list[str]:
    """List the substrings of two letters and more that cover most of the text, in order of that."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        ends = range(2, _LONGEST_PIECE + 1)
        for piece in chain.from_iterable((word[at : at + n] for at in range(len(word) - n + 1)) for n in ends):
            counts[piece] += count
    often = [(piece, count) for piece, count in counts.items() if count > 1]
    often.sort(key=lambda pair: (-pair[1] * len(pair[0]), pair[0]))
    return [piece for piece, _ in often[:number]]


def _normalise(counts: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(counts) - np.log(counts.sum()))


def _keep_most_needed(expected: Array, gain: Array, *, alive: Array, always: Array, keep: int) -> Array:
    """Keep the pieces whose loss would cost most: how often each is used, times its gain over the best other way."""
    with np.errstate(invalid="ignore"):
        loss = np.where(always, np.inf, expected * gain)
    loss = np.where(alive, np.nan_to_num(loss, nan=0.0, posinf=np.inf), -np.inf)
    kept = np.zeros(len(loss), dtype=bool)
    kept[np.argsort(-loss, kind="stable")[:keep]] = True
    return kept & alive
