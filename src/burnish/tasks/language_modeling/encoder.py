"""Blocks of text of which tokens are to be guessed, hidden, reordered or next: features and batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import Ragged, pack, positions, read_column
from burnish.data.batching.rng import uniforms
from burnish.data.tokens.masks import Key, MaskSelection, Replacement
from burnish.errors import ConfigError, Problem
from burnish.spec.protocols import Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, Outcome, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.language_modeling.block_codec import IGNORED, BlockCodec, BlockLayout, matrix_of, valid_of
from burnish.tasks.language_modeling.decoder import in_words
from burnish.tasks.language_modeling.task import Masking

PROMPT = "burnish: prompt"
"""The column that marks texts to continue; no column of the data is called so."""


@dataclass(frozen=True)
class MaskedEncoder(Encoder):
    """Encode one text column; a text that holds the mask token itself is one to fill in."""

    codec: BlockCodec
    masking: Masking

    def __post_init__(self) -> None:
        if self.codec.vocabulary.role("mask_token") is None:
            raise ConfigError([Problem("model.tokenizer has no mask token, which this task needs to hide tokens")])

    @property
    def key(self) -> Mapping[str, object]:
        return {**self.codec.key, "task": "masked_lm"}

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, [self.codec.text])
        token = self.codec.vocabulary.assets.tokenizer.id_to_token(self.mask_id)
        column = rows.table[self.codec.text].cast(pa.large_string())
        holds = pc.fill_null(pc.match_substring(column, token), False).to_numpy()
        what = f"{self.codec.text} holds {token}, and only texts to predict may"
        return [RowFault(int(row), what) for row in np.flatnonzero(holds)]

    def encode(self, table: pa.Table) -> pa.Table:
        texts = self.codec.tokens(table)
        asked = bool((texts.values == self.mask_id).any())
        blocks = self.codec.cut(texts, is_packed=self.codec.is_packed and not asked)
        features = self.codec.features(blocks)
        return features.append_column("asked", pa.array(np.full(features.num_rows, asked)))

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        if self.is_asked(features, draw):
            return self.asked(features, indices, draw)
        texts = self.codec.gather(features, indices, draw)
        hidden, chosen = self.hide(texts, np.asarray(indices), draw)
        batch, layout = self.laid_out(hidden, texts, chosen)
        return batch if draw.is_training else batch | self.codec.places(features, indices, layout)

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self.codec.limits(features, num_rows=num_rows)
        yield FeatureLimit("asked", read_column(features["asked"]), 0, 0)

    def counts(self, features: pa.Table) -> Array:
        return self.codec.vocabulary.counts(features["tokens"])

    def laid_out(self, shown: Ragged, texts: Ragged, chosen: Array) -> tuple[dict[str, Array], BlockLayout]:
        """Lay out what the model is shown, with the true tokens at the chosen places as labels."""
        batch, layout = self.codec.pad(shown)
        scored = layout.spread(chosen, fill=False)
        truth = layout.spread(matrix_of(texts), fill=IGNORED)
        return batch | {"scored": scored, "label": np.where(scored, truth, IGNORED)}, layout

    def hide(self, texts: Ragged, numbers: Array, draw: RandomKey) -> tuple[Ragged, Array]:
        """Return texts with tokens replaced, and which are to be guessed, [n, longest]."""
        ids = matrix_of(texts)
        vocabulary = self.codec.vocabulary
        can = valid_of(texts) & ~vocabulary.is_special[ids]
        begins = vocabulary.begins(ids) if self.masking.whole_words else np.ones_like(can)
        key = _key(numbers, draw, is_dynamic=self.masking.dynamic)
        chosen, pieces = self._choices[draw.is_training].choose(can, begins, key)
        together = pieces if self.masking.spans == "geometric" else None
        hidden = self._fates.apply(ids, chosen, key, pieces=together)[valid_of(texts)].astype(np.int32)
        return pack(hidden, texts.lengths), chosen

    @cached_property
    def mask_id(self) -> int:
        """The id of the mask token."""
        found = self.codec.vocabulary.role("mask_token")
        assert found is not None, "looked for when this was made"
        return found

    def put_into_words(self, outcome: Outcome) -> Outcome:
        return in_words(outcome, self.codec.vocabulary.assets.tokenizer)

    def is_asked(self, features: pa.Table, draw: RandomKey) -> bool:
        """Check whether these are texts to fill in."""
        return not draw.is_training and bool(pc.any(features["asked"]).as_py())

    def asked(self, features: pa.Table, indices: Array, draw: RandomKey) -> dict[str, Array]:
        """Build a batch that asks for what stands behind the masks."""
        texts = self.codec.gather(features, indices, draw)
        batch, layout = self.codec.pad(texts)
        scored = layout.is_text & (batch["input_ids"] == self.mask_id)
        return {**batch, "scored": scored, **self.codec.places(features, indices, layout)}

    @cached_property
    def _choices(self) -> Mapping[bool, MaskSelection]:
        return {is_training: self.masking.choice(is_training=is_training) for is_training in (True, False)}

    @cached_property
    def _fates(self) -> Replacement:
        return self.masking.fates(self.codec.vocabulary, mask_id=self.mask_id)


def _key(numbers: Array, draw: RandomKey, *, is_dynamic: bool) -> Key:
    # Whatever the run's seed, scores are of the same masks: else two runs could not be compared.
    if not draw.is_training:
        return Key(0, draw.view, numbers)
    return Key(draw.seed, draw.epoch if is_dynamic else 0, numbers)


@dataclass(frozen=True)
class PermutationEncoder(MaskedEncoder):
    """Encode as a masked language model does, but hide nothing: the order says who may look at whom."""

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        if self.is_asked(features, draw):
            batch = self.asked(features, indices, draw)
            return {**batch, "order": np.where(batch["scored"], 0, -1)}  # all are guessed at once
        numbers = np.asarray(indices)
        texts = self.codec.gather(features, indices, draw)
        _, chosen = self.hide(texts, numbers, draw)
        batch, layout = self.laid_out(texts, texts, chosen)
        # An order of the chosen places of each example, from 0; -1 elsewhere.
        seed, epoch = (draw.seed, draw.epoch) if draw.is_training else (0, draw.view)
        lots = uniforms(numbers, chosen.shape[1], seed=seed, purpose="permutation", epoch=epoch)
        order = np.argsort(np.where(chosen, lots, 2.0), axis=1, kind="stable")
        ranks = np.empty_like(order)
        np.put_along_axis(ranks, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
        batch["order"] = layout.spread(np.where(chosen, ranks, -1), fill=-1)
        return batch if draw.is_training else batch | self.codec.places(features, indices, layout)


@dataclass(frozen=True)
class ReplacedEncoder(MaskedEncoder):
    """Encode as a masked language model does, and keep what stood there."""

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        batch = dict(super().collate(features, indices, draw))
        if "label" not in batch:
            return batch
        original = np.where(batch["scored"], batch["label"], batch["input_ids"])
        return {**batch, "original": original, "attended": batch["attention_mask"]}


@dataclass(frozen=True)
class CausalEncoder(Encoder):
    """Encode one text column; a table that is marked holds texts to continue."""

    codec: BlockCodec

    @property
    def key(self) -> Mapping[str, object]:
        return {**self.codec.key, "task": "causal_lm"}

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, [self.codec.text])
        return []

    def encode(self, table: pa.Table) -> pa.Table:
        texts = self.codec.tokens(table)
        if PROMPT not in table.column_names:
            return self.codec.features(self.codec.cut(texts, is_packed=self.codec.is_packed))
        dropped = np.maximum(texts.lengths - self.codec.room, 0)
        kept = texts.lengths - dropped
        last = pack(texts.values[positions(texts.starts + dropped, kept)], kept)
        features = self.codec.features(self.codec.cut(last, is_packed=False))
        return features.append_column(PROMPT, pa.array(np.ones(features.num_rows, dtype=bool)))

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        batch, layout = self.codec.pad(self.codec.gather(features, indices, draw))
        attended = batch["attention_mask"].astype(bool)
        places = {} if draw.is_training else self.codec.places(features, indices, layout)
        if PROMPT in features.column_names:
            last = np.cumsum(attended[:, ::-1], axis=1)[:, ::-1] == 1
            return {**batch, "scored": last & attended, **places}
        scored = attended & _next(attended, fill=False)
        label = np.where(scored, _next(batch["input_ids"], fill=IGNORED), IGNORED)
        # A place answers for the token after it, so it counts for the row of that one.
        moved = {name: _next(at, fill=0) if name.startswith("at_") else at for name, at in places.items()}
        return {**batch, "scored": scored, "label": label, **moved}

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        return self.codec.limits(features, num_rows=num_rows)

    def put_into_words(self, outcome: Outcome) -> Outcome:
        return in_words(outcome, self.codec.vocabulary.assets.tokenizer)


def _next(values: Array, *, fill: int | bool) -> Array:
    return np.concatenate([values[:, 1:], np.full((len(values), 1), fill, dtype=values.dtype)], axis=1)
