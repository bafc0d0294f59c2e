"""What a tokenizer's vocabulary tells of its tokens: which are special, which is the mask, which begin a word."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from burnish.data.tokens.tokens import TextAssets
from burnish.spec.values import Array

if TYPE_CHECKING:
    import pyarrow as pa


_CONFIG = "tokenizer_config.json"
_WORD_STARTS = ("Ġ", "▁", "Ċ")
"""How byte-level and sentence-piece tokens write the blank, or the line end, before a word."""
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Vocabulary:
    """Facts of each token, by its id."""

    assets: TextAssets

    @property
    def size(self) -> int:
        """Count the ids, gaps included."""
        return len(self._tokens)

    @cached_property
    def is_special(self) -> Array:
        """Tell which ids are special tokens, or no token at all."""
        special = np.array([token == "" for token in self._tokens], dtype=bool)
        for number, token in self.assets.tokenizer.get_added_tokens_decoder().items():
            special[number] |= token.special
        return special

    @cached_property
    def plain_ids(self) -> Array:
        """Give the ids of all tokens that stand for text."""
        return np.flatnonzero(~self.is_special)

    def role(self, name: str) -> int | None:
        """Give the id of a special token by its role, like `mask_token`; None if the tokenizer has none."""
        described = json.loads(self.assets.files.get(_CONFIG, b"{}"))
        token = described.get(name)
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self.assets.tokenizer.token_to_id(token)

    def counts(self, tokens: pa.ChunkedArray) -> Array:
        """Count how often each token comes in a column of lists, a part of it at a time."""
        counted = np.zeros(self.size, dtype=np.int64)
        for chunk in tokens.chunks:
            ids = chunk.flatten().to_numpy()
            for start in range(0, len(ids), _AT_ONCE):
                counted += np.bincount(ids[start : start + _AT_ONCE], minlength=self.size)
        return counted

    def begins(self, ids: Array) -> Array:
        """Tell which tokens [n, length] begin a word."""
        if self._prefix:
            return np.asarray(~self._continues[ids])
        before = np.pad(self._ends_open[ids], ((0, 0), (1, 0)))[:, :-1]
        return np.asarray(~(self._starts_open[ids] & before))

    @cached_property
    def _tokens(self) -> list[str]:
        vocabulary = self.assets.tokenizer.get_vocab(with_added_tokens=True)
        tokens = [""] * (max(vocabulary.values(), default=-1) + 1)
        for token, number in vocabulary.items():
            tokens[number] = token
        return tokens

    @cached_property
    def _prefix(self) -> str:
        """Give what marks a token inside a word, if this kind of tokenizer marks those."""
        model = json.loads(self.assets.tokenizer.to_str())["model"]
        return str(model.get("continuing_subword_prefix") or "") if model.get("type") == "WordPiece" else ""

    @cached_property
    def _continues(self) -> Array:
        return np.array([token.startswith(self._prefix) for token in self._tokens]) & ~self.is_special

    @cached_property
    def _starts_open(self) -> Array:
        """Tell which tokens go on with a word, if one stands before them: they begin with a letter or a digit."""
        return np.array([token[:1].isalnum() and not token.startswith(_WORD_STARTS) for token in self._tokens])

    @cached_property
    def _ends_open(self) -> Array:
        return np.array([token[-1:].isalnum() for token in self._tokens]) & ~self.is_special
