"""Texts as tokens that know where they stand: the characters at which each begins and ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from tokenizers import Tokenizer

from burnish.data.batching.ragged import Ragged, pack
from burnish.spec.values import Array

_TEXTS_AT_ONCE = 4096


@dataclass(frozen=True)
class PlacedTokens:
    """The tokens of some texts; `begins` and `ends` count characters of each text, one a token."""

    ids: Ragged
    begins: Array
    ends: Array

    def reaching(self, texts: Array, characters: Array) -> Array:
        """Give, for characters of texts by number, the first token of the text that ends behind each."""
        keys, bases = self._rising(self.ends)
        return np.asarray(np.searchsorted(keys, bases[texts] + characters, side="right")) - self.ids.starts[texts]

    def beginning_before(self, texts: Array, characters: Array) -> Array:
        """Give, for characters of texts by number, the last token of the text that begins before each."""
        keys, bases = self._rising(self.begins)
        return np.asarray(np.searchsorted(keys, bases[texts] + characters, side="left")) - 1 - self.ids.starts[texts]

    def _rising(self, places: Array) -> tuple[Array, Array]:
        """Lay all texts on one axis, each behind the one before it, so that one search finds places in any of them."""
        of_text = np.repeat(np.arange(len(self.ids)), self.ids.lengths)
        longest = int(self.ends.max(initial=0)) + 2
        bases = np.arange(len(self.ids), dtype=np.int64) * longest
        # Some tokenizers place a token that stands for nothing at 0; on the axis it must not lie before its neighbours.
        return np.maximum.accumulate(bases[of_text] + places), bases


def tokenize_placed(texts: Sequence[str], tokenizer: Tokenizer) -> PlacedTokens:
    """Encode texts without special tokens, on all cores, and keep where every token stands."""
    encodings = [
        encoding
        for start in range(0, len(texts), _TEXTS_AT_ONCE)
        for encoding in tokenizer.encode_batch(texts[start : start + _TEXTS_AT_ONCE], add_special_tokens=False)
    ]
    lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
    total = int(lengths.sum())
    ids = np.fromiter(chain.from_iterable(encoding.ids for encoding in encodings), dtype=np.int32, count=total)
    places = chain.from_iterable(chain.from_iterable(encoding.offsets for encoding in encodings))
    offsets = np.fromiter(places, dtype=np.int32, count=2 * total).reshape(-1, 2)
    return PlacedTokens(pack(ids, lengths), offsets[:, 0].copy(), offsets[:, 1].copy())
