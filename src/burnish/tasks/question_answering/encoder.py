"""Questions with windows of their contexts as features and batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import Template, template_of
from burnish.data.batching.ragged import Ragged, array_of, gather, pick, positions, view
from burnish.data.tokens.text import TextCodec
from burnish.data.tokens.tokens import PlacedTokens, TextAssets, tokenize, tokenize_placed
from burnish.data.truncation import Head
from burnish.errors import ConfigError, Problem
from burnish.spec.protocols import Assets, Encoder
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.question_answering.columns import QuestionColumns

VERSION = 1
"""Goes up whenever the same row would give other features."""


@dataclass(frozen=True)
class WindowLimits:
    """How much is read at once."""

    max_length: int
    max_question: int
    stride: int


@dataclass(frozen=True)
class QuestionEncoder(Encoder):
    """Encode each question with every window of its context."""

    assets: TextAssets
    columns: QuestionColumns
    reading: WindowLimits
    may_be_open: bool
    """Whether a question may have no answer."""
    has_beam: bool
    """Whether batches are for a head that searches by itself."""

    @classmethod
    def build(cls, assets: Assets, columns: QuestionColumns, reading: WindowLimits, **flags: bool) -> QuestionEncoder:
        """Put a tokenizer and a task's options together."""
        if not isinstance(assets, TextAssets):
            raise ConfigError([Problem("model needs a tokenizer to read text, and this one has none")])
        encoder = cls(assets, columns, reading, **flags)
        least = encoder._template.num_special + reading.max_question + 1
        if reading.max_length < least:
            reason = "the question, the special tokens and a token of the context must fit in"
            raise ConfigError(
                [Problem(f"task.max_length must be at least {least}, got {reading.max_length}", (reason,))]
            )
        return encoder

    @property
    def key(self) -> Mapping[str, object]:
        return {"version": VERSION, "tokenizer": self.assets.digest, **vars(self.columns), **vars(self.reading)}

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, [self.columns.question, self.columns.context])
        return self.columns.faults(rows.table, may_be_open=self.may_be_open)

    def encode(self, table: pa.Table) -> pa.Table:
        refuse_other_than_text(table, [self.columns.question, self.columns.context])
        asked = view(tokenize(table[self.columns.question], self.assets.tokenizer))
        questions = Ragged(asked.values, asked.starts, np.minimum(asked.lengths, self.reading.max_question))
        tokens, which = self._contexts(table)
        sizes = tokens.ids.lengths[which]
        rooms = self.reading.max_length - self._template.num_special - questions.lengths
        windows = plan_windows(sizes, rooms, stride=self.reading.stride)
        features = _features(questions, tokens, which, windows, num_special=self._template.num_special)
        features["tokens"] = pa.array((asked.lengths + sizes)[windows.source], pa.int32())
        features["dropped"] = pa.array((asked.lengths - questions.lengths)[windows.source], pa.int32())
        if (labels := self._labels(table, tokens, which, windows)) is not None:
            features["label"] = pa.FixedSizeListArray.from_arrays(pa.array(labels.ravel(), pa.int32()), 2)
        return pa.table(features)

    def collate(self, features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        indices = np.asarray(indices, dtype=np.int64)
        batch = self._codec.collate(features, indices, draw)
        layout = _Layout.of(batch["input_ids"].shape, features, indices, self)
        batch["row"] = pick(features["row"], indices)
        batch |= layout.places(gather(features["begins"], indices).values, gather(features["ends"], indices).values)
        if draw.is_training:
            batch["label"] = layout.labels(pick(features["label"], indices))
        return _for_beam(batch, layout.nulls, is_training=draw.is_training) if self.has_beam else batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from self._codec.limits(features)
        yield self._codec.length_limit(features)
        asked, tokens, begins, ends = (view(features[name].chunk(0)) for name in ("a", "b", "begins", "ends"))
        yield FeatureLimit("question_length", features["question_length"].to_numpy(), asked.lengths, asked.lengths)
        for name, places in (("begins", begins), ("ends", ends)):
            yield FeatureLimit(f"number of entries in {name}", places.lengths, tokens.lengths, tokens.lengths)
            yield FeatureLimit(name, places.values, 0, np.inf)
        if "label" in features.column_names:
            yield FeatureLimit("label", array_of(features["label"]), -1, tokens.lengths[:, None] - 1)

    @cached_property
    def _template(self) -> Template:
        return template_of(self.assets.tokenizer, num_texts=2)

    @cached_property
    def _codec(self) -> TextCodec:
        columns = self.columns
        return TextCodec(self.assets, (columns.question,), columns.context, self.reading.max_length, Head())

    @cached_property
    def null_token(self) -> tuple[int, int]:
        """Tell which special token stands for no answer: of which piece of the template, and which in it."""
        wanted = _classifier_id(self.assets)
        pieces = self._template.pieces
        there = [(piece, at) for piece in (0, 2, 1) for at in range(len(pieces[piece]))]
        named = [place for place in there if pieces[place[0]].ids[place[1]] == wanted]
        return next(iter([*named, *there]), (0, 0))

    def _contexts(self, table: pa.Table) -> tuple[PlacedTokens, Array]:
        """Encode each context once, however many questions are asked of it; give which of them is each row's."""
        column = table[self.columns.context].cast(pa.large_string()).fill_null("").combine_chunks()
        distinct = column.dictionary_encode()
        which = distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        return tokenize_placed(distinct.dictionary.to_pylist(), self.assets.tokenizer), which

    def _labels(self, table: pa.Table, tokens: PlacedTokens, which: Array, windows: WindowPlan) -> Array | None:
        answers = self.columns.right_answers(table)
        if answers is None:
            return None
        begins, ends = answers.first_spans()
        firsts, lasts = tokens.reaching(which, begins), tokens.beginning_before(which, ends)
        return windows.local(np.where(begins < 0, -1, firsts), np.where(begins < 0, -1, lasts))


@dataclass(frozen=True)
class _Layout:
    """Where contexts and the token for no answer stand in a padded batch, one entry an example."""

    shape: tuple[int, ...]
    firsts: Array
    lengths: Array
    nulls: Array

    @classmethod
    def of(cls, shape: tuple[int, ...], features: pa.Table, indices: Array, encoder: QuestionEncoder) -> _Layout:
        lengths, questions = pick(features["length"], indices), pick(features["question_length"], indices)
        before, between, after = map(len, encoder._template.pieces)
        contexts = lengths - questions - before - between - after
        begins = shape[1] - lengths if encoder.assets.padding_side == "left" else np.zeros_like(lengths)
        piece, at = encoder.null_token
        skipped = (np.zeros_like(lengths), before + questions, before + questions + between + contexts)[piece]
        firsts = begins + before + questions + between
        return cls(shape, firsts.astype(np.int64), contexts.astype(np.int64), (begins + skipped + at).astype(np.int64))

    def places(self, begins: Array, ends: Array) -> dict[str, Array]:
        """Give where the network answers, and which characters of the context that is; -1 for no answer."""
        rows = np.arange(self.shape[0])
        at = positions(rows * self.shape[1] + self.firsts, self.lengths)
        scored = np.zeros(self.shape, dtype=bool)
        spans = [np.full(self.shape, -1, dtype=np.int64) for _ in range(2)]
        scored.reshape(-1)[at] = True
        scored[rows, self.nulls] = True
        for array, values in zip(spans, (begins, ends), strict=True):
            array.reshape(-1)[at] = values
            array[rows, self.nulls] = -1
        return {"scored": scored, "at_start": spans[0], "at_end": spans[1]}

    def labels(self, local: Array) -> Array:
        """Give the places of start and end; where the window does not hold the answer, that of no answer."""
        return np.where(local >= 0, self.firsts[:, None] + local, self.nulls[:, None])


def _features(
    questions: Ragged, tokens: PlacedTokens, which: Array, windows: WindowPlan, *, num_special: int
) -> dict[str, Any]:
    asked = Ragged(questions.values, questions.starts[windows.source], questions.lengths[windows.source])
    starts = tokens.ids.starts[which[windows.source]] + windows.starts
    return {
        "a": asked.packed().to_arrow(),
        "b": Ragged(tokens.ids.values, starts, windows.lengths).packed().to_arrow(),
        "begins": Ragged(tokens.begins, starts, windows.lengths).packed().to_arrow(),
        "ends": Ragged(tokens.ends, starts, windows.lengths).packed().to_arrow(),
        "row": pa.array(windows.source, pa.int64()),
        "length": pa.array(asked.lengths + windows.lengths + num_special, pa.int32()),
        "question_length": pa.array(asked.lengths, pa.int32()),
    }


def _for_beam(batch: dict[str, Array], nulls: Array, *, is_training: bool) -> dict[str, Array]:
    """Tell the beam head what it needs: the right start while it learns, and where characters are when it searches."""
    batch["null_place"] = nulls
    if is_training:
        batch["start_place"] = batch["label"][:, 0]
        batch["impossible"] = (batch["label"][:, :1] == nulls[:, None]).astype(np.float32)
        return batch
    begins, ends = batch.pop("at_start"), batch.pop("at_end")
    batch["allowed"] = batch.pop("scored")
    batch["characters"] = np.stack([begins, ends], axis=2)
    return batch


def _classifier_id(assets: TextAssets) -> int | None:
    """Find the token that stands for the whole input, as the tokenizer's own files name it."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        try:
            token = json.loads(assets.files.get(name, b"{}")).get("cls_token")
        except (ValueError, AttributeError):
            continue
        content = token.get("content") if isinstance(token, dict) else token
        if isinstance(content, str):
            found: int | None = assets.tokenizer.token_to_id(content)
            return found
    return None


@dataclass(frozen=True)
class WindowPlan:
    """Windows one after the other, in row order: each reads `lengths` tokens of a row's context from `starts` on."""

    source: Array
    starts: Array
    lengths: Array

    def local(self, firsts: Array, lasts: Array) -> Array:
        """Give first and last token of each row, counted in each window [w, 2]; -1 where they do not fit in."""
        begin, end = firsts[self.source] - self.starts, lasts[self.source] - self.starts
        inside = (firsts[self.source] >= 0) & (begin >= 0) & (begin <= end) & (end < self.lengths)
        return np.where(inside[:, None], np.stack([begin, end], axis=1), -1)


def plan_windows(contexts: Array, rooms: Array, *, stride: int) -> WindowPlan:
    """Cover contexts of so many tokens by windows of at most `rooms` tokens; two neighbours share `stride` of them."""
    rooms = np.maximum(rooms, 1)
    steps = rooms - np.minimum(stride, rooms - 1)
    counts = 1 + -(-np.maximum(contexts - rooms, 0) // steps)
    source = np.repeat(np.arange(len(contexts)), counts)
    number = np.arange(len(source)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = number * steps[source]
    return WindowPlan(source, starts, np.minimum(rooms[source], contexts[source] - starts))
