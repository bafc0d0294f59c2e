"""From text columns to features and from features to padded batches, the same in training and in serving."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_lowercase

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import Padding, Template, learn_column_template, pad
from burnish.data.batching.ragged import Ragged, from_lists, gather, pick, total_lengths, view
from burnish.data.batching.rng import generator
from burnish.data.tokens.tokens import TextAssets, tokenize
from burnish.data.tokens.truncate import cut_texts, select
from burnish.errors import ConfigError, Problem
from burnish.spec.protocols import Truncation
from burnish.spec.values import Array, FeatureLimit, RandomKey

VERSION = 1
"""Goes up whenever the same text would give other features."""

_SIDES = tuple(ascii_lowercase)


@dataclass(frozen=True)
class TextCodec:
    """Encode text columns under a length limit, and build batches of what was encoded."""

    assets: TextAssets
    text: tuple[str, ...]
    """The column of the text; several are read as one, with a separator between them."""
    pair: str | None
    max_length: int
    """The longest feature, special tokens counted."""
    truncation: Truncation

    def __post_init__(self) -> None:
        refuse_length(self.assets, self.template, self.max_length, num_tokens=len(self.columns))

    @property
    def key(self) -> Mapping[str, object]:
        """All that shapes the features: change any of it and a cached table no longer serves."""
        policy = type(self.truncation)
        return {
            "tokenizer": self.assets.digest,
            "columns": list(self.columns),
            **({"text_columns": len(self.text)} if len(self.text) > 1 else {}),
            "max_length": self.max_length,
            "truncation": {"policy": f"{policy.__module__}:{policy.__qualname__}", **vars(self.truncation)},
            "version": VERSION,
        }

    def encode(self, table: pa.Table) -> pa.Table:
        """Encode a table into features: a letter for each column of text, `row`, `length`, `tokens`, `dropped`.

        `length` counts the special tokens and is what batches are sorted by; `tokens` and `dropped` are of the whole
        row, before and by the policy. Each feature of a row that is read in windows repeats the last two.
        """
        texts = [view(tokenize(table[name], self.assets.tokenizer)) for name in self.columns]
        sizes = total_lengths(texts)
        source = np.arange(len(sizes))
        dropped = np.maximum(sizes - self.room, 0)
        if not self.truncation.is_random and dropped.any():
            cut = cut_texts(texts, self.truncation, room=self.room)
            texts, source, dropped = cut.texts, cut.source, cut.dropped
        kept = np.minimum(total_lengths(texts), self.room)
        numbers = {
            "row": pa.array(source, pa.int64()),
            "length": pa.array(kept + self.template.num_special, pa.int32()),
            "tokens": pa.array(sizes[source], pa.int32()),
            "dropped": pa.array(dropped[source], pa.int32()),
        }
        lists = {side: text.to_arrow() for side, text in zip(self._sides, texts, strict=True)}
        return pa.table({**lists, **numbers})

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> dict[str, Array]:
        """Build one batch padded to its longest member; random policies draw here, by (seed, epoch, row, view)."""
        indices = np.asarray(indices, dtype=np.int64)
        texts = [gather(features[side], indices) for side in self._sides]
        if self.truncation.is_random:
            texts = self._drawn(texts, pick(features["row"], indices), draw)
        return pad(texts, self.template, choose_padding(self.assets))

    def limits(self, features: pa.Table) -> Iterator[FeatureLimit]:
        """List the limits of token ids, and of how many of them there are."""
        texts = [view(features[side].chunk(0)) for side in self._sides]
        yield from id_limits(zip(self._sides, texts, strict=True), self.assets)
        most = np.inf if self.truncation.is_random else self.room
        yield FeatureLimit(f"number of tokens in {'+'.join(self._sides)}", total_lengths(texts), 0, most)

    def length_limit(self, features: pa.Table) -> FeatureLimit:
        """Limit `length`, which tells what a feature takes of a batch."""
        kept = total_lengths([view(features[side].chunk(0)) for side in self._sides])
        length = np.minimum(kept, self.room) + self.template.num_special
        return FeatureLimit("length", features["length"].to_numpy(), length, length)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of text, the pair last."""
        return self.text if self.pair is None else (*self.text, self.pair)

    @property
    def _sides(self) -> tuple[str, ...]:
        return _SIDES[: len(self.columns)]

    @cached_property
    def template(self) -> Template:
        """How texts are wrapped in special tokens."""
        sizes = [len(self.text)] if self.pair is None else [len(self.text), 1]
        return learn_column_template(self.assets.tokenizer, sizes)

    @property
    def room(self) -> int:
        """How many tokens of text a feature can hold."""
        return self.max_length - self.template.num_special

    def _drawn(self, texts: Sequence[Ragged], rows: Array, draw: RandomKey) -> list[Ragged]:
        sizes = total_lengths(texts)
        lists = [[text[place] for place in range(len(rows))] for text in texts]
        epoch = draw.epoch if draw.is_training else 0
        for place in np.flatnonzero(sizes > self.room):
            random = generator(draw.seed, "truncation", epoch=epoch, row=int(rows[place]), view=draw.view)
            lengths = [int(text.lengths[place]) for text in texts]
            chosen = select(lengths, self.truncation, room=self.room, random=random)
            for side, windows in zip(lists, chosen, strict=True):
                side[place] = side[place][windows[0]]
        return [from_lists(side) for side in lists]


def id_limits(texts: Iterable[tuple[str, Ragged]], assets: TextAssets) -> Iterator[FeatureLimit]:
    """List the limits of columns of token ids."""
    for name, text in texts:
        yield FeatureLimit(name, text.values, 0, assets.num_ids - 1)


def choose_padding(assets: TextAssets) -> Padding:
    """Say how the batches of a model are filled up."""
    return Padding(
        assets.pad_id,
        segment=assets.pad_type_id if assets.uses_segments else None,
        side=assets.padding_side,
        multiple=assets.multiple,
        max_width=assets.max_positions,
    )


def refuse_length(
    assets: TextAssets, template: Template, max_length: int, *, num_tokens: int, option: str = "max_length"
) -> None:
    """Refuse a limit that leaves no room for so many tokens of text, or is more than the model can read."""
    least, most = template.num_special + num_tokens, assets.max_positions
    if max_length < least:
        reason = f"the tokenizer adds {template.num_special} special tokens"
        raise ConfigError([Problem(f"task.{option} must be at least {least}, got {max_length}", (reason,))])
    if most is not None and max_length > most:
        reason = "the model cannot read more positions"
        raise ConfigError([Problem(f"task.{option} must be at most {most}, got {max_length}", (reason,))])


def has_long_texts(features: pa.Table) -> bool:
    """Tell whether any text did not fit: something of it was dropped, or it was cut into windows."""
    rows = features["row"].to_numpy()
    return bool(features["dropped"].to_numpy().any()) or len(np.unique(rows)) < len(rows)


def drop_report(features: pa.Table) -> dict[str, float]:
    """Say how much text the policy dropped, and how long the texts are in tokens."""
    rows = features["row"].to_numpy()
    first = np.flatnonzero(np.diff(rows, prepend=-1))  # a row's features stand together
    tokens = features["tokens"].to_numpy()[first]
    dropped = features["dropped"].to_numpy()[first]
    return {
        "texts_cut": float((dropped > 0).mean()) if len(first) else 0.0,
        "tokens_dropped": float(dropped.sum() / max(1, tokens.sum())),
        "longest_text": int(tokens.max(initial=0)),
        "median_text": float(np.median(tokens)) if len(first) else 0.0,
    }
