"""Cuts sentences that are too long into windows, and tells in which of them each word is answered."""

from dataclasses import dataclass

import numpy as np

from burnish.data.batching.ragged import Ragged, pack, positions
from burnish.data.tokens.truncate import cut_texts
from burnish.data.truncation import Windows
from burnish.spec.values import Array


@dataclass(frozen=True)
class Pieces:
    """The tokens of all rows, one row after the other."""

    ids: "Array"
    words: "Array"
    """To which word each belongs, counted over all rows."""
    is_first: "Array"
    """Whether it is the first of its word."""
    lengths: "Array"
    """How many each row has."""


@dataclass(frozen=True)
class CutTokens:
    """Features of at most so many tokens: token i of them all is token `tokens[i]` of the rows."""

    tokens: "Array"
    lengths: "Array"
    """How many each feature has."""
    rows: "Array"
    """The row of each feature."""
    is_answered: "Array"
    """For each token, whether its word is answered in this feature; each word is in exactly one."""


def pieces_of(by_word: Ragged, num_words: "Array") -> Pieces:
    """Lay the tokens of words (packed) out by rows, the first `num_words[0]` words being those of row 0."""
    is_first = np.zeros(len(by_word.values), dtype=bool)
    is_first[by_word.starts] = True
    ends = np.cumsum(num_words)
    totals = np.append(0, np.cumsum(by_word.lengths))
    lengths = totals[ends] - totals[ends - num_words]
    words = np.repeat(np.arange(len(by_word)), by_word.lengths)
    return Pieces(by_word.values, words, is_first, lengths)


def cut_pieces(pieces: Pieces, *, room: int, stride: int) -> CutTokens:
    """Cut rows of more than `room` tokens into windows that share `stride` tokens."""
    begins = np.cumsum(pieces.lengths) - pieces.lengths
    within = pack(positions(np.zeros_like(begins), pieces.lengths), pieces.lengths)
    cut = cut_texts([within], Windows(stride=stride), room=room)
    windows, rows = cut.texts[0], cut.source
    tokens = windows.values + np.repeat(begins[rows], windows.lengths)
    if len(rows) == len(pieces.lengths):
        return CutTokens(tokens, windows.lengths, rows, np.ones(len(tokens), dtype=bool))
    context = _context(windows, pieces.lengths[rows])
    best = _best_feature(pieces, tokens, windows.lengths, context)
    feature_of = np.repeat(np.arange(len(rows)), windows.lengths)
    return CutTokens(tokens, windows.lengths, rows, best[pieces.words[tokens]] == feature_of)


def _context(windows: Ragged, text_lengths: "Array") -> "Array":
    """Tell how many tokens a window shows on the poorer side of each token; a side where the text ends lacks none."""
    starts = windows.values[windows.starts]
    place = positions(np.zeros_like(windows.starts), windows.lengths)
    sizes = np.repeat(windows.lengths, windows.lengths)
    is_cut_before = np.repeat(starts > 0, windows.lengths)
    is_cut_after = np.repeat(starts + windows.lengths < text_lengths, windows.lengths)
    plenty = np.iinfo(np.int64).max
    before = np.where(is_cut_before, place, plenty)
    after = np.where(is_cut_after, sizes - 1 - place, plenty)
    return np.minimum(before, after)


def _best_feature(pieces: Pieces, tokens: "Array", lengths: "Array", context: "Array") -> "Array":
    """Give for each word the feature in which its first token has the most context; of equals the first."""
    firsts = np.flatnonzero(pieces.is_first[tokens])
    words = pieces.words[tokens[firsts]]
    order = np.lexsort((firsts, -context[firsts], words))
    is_best = np.append(True, np.diff(words[order]) > 0) if len(order) else np.zeros(0, dtype=bool)
    chosen = firsts[order][is_best]
    return np.asarray(np.repeat(np.arange(len(lengths)), lengths)[chosen])
