"""Words that are given one by one, as the tokens of a tokenizer."""

from __future__ import annotations

from functools import partial
from itertools import chain

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from burnish.data.batching.ragged import Ragged, pack
from burnish.data.tokens.tokens import TextAssets
from burnish.spec.values import Array

_PROBE = "the"
_WORDS_AT_ONCE = 1 << 16


def word_pieces(words: pa.Array, assets: TextAssets) -> Ragged:
    """Give the tokens of each word, at least one; each distinct word is tokenised once.

    A word of which the tokenizer makes nothing, such as a lone control character, becomes its unknown token.
    """
    coded = words.dictionary_encode()
    ids = _encoded(coded.dictionary.to_pylist(), assets)
    which = coded.indices.to_numpy(zero_copy_only=False)
    return Ragged(ids.values, ids.starts[which], ids.lengths[which]).packed()


def _encoded(words: list[str], assets: TextAssets) -> Ragged:
    tokenizer = assets.tokenizer
    prefix = " " if _needs_space(tokenizer) else ""
    stand_in = [_unknown(assets)]
    encode = partial(tokenizer.encode_batch_fast, is_pretokenized=True, add_special_tokens=False)
    lists: list[list[int]] = []
    for start in range(0, len(words), _WORDS_AT_ONCE):
        some = [[prefix + word] for word in words[start : start + _WORDS_AT_ONCE]]
        lists += [encoding.ids or stand_in for encoding in encode(some)]
    lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
    values: Array = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(lengths.sum()))
    return pack(values, lengths)


def _needs_space(tokenizer: Tokenizer) -> bool:
    """Tell whether a word alone is read as the beginning of a text, and only after a space as one within it."""
    within = tokenizer.encode(f"{_PROBE} {_PROBE}", add_special_tokens=False).ids
    alone, spaced = (
        tokenizer.encode([text], is_pretokenized=True, add_special_tokens=False).ids for text in (_PROBE, f" {_PROBE}")
    )
    return within[-len(alone) :] != alone and within[-len(spaced) :] == spaced


def _unknown(assets: TextAssets) -> int:
    token = getattr(assets.tokenizer.model, "unk_token", None)
    number = None if token is None else assets.tokenizer.token_to_id(token)
    return assets.pad_id if number is None else number
