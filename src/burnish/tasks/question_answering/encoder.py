"""Questions with windows of their contexts as features and batches."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from burnish.data.batching.padding import learn_template
from burnish.data.batching.ragged import Ragged, gather, pick, positions, read_column, view
from burnish.data.tokens.text import TextCodec
from burnish.data.tokens.tokens import PlacedTokens, TextAssets, tokenize, tokenize_placed
from burnish.data.truncation import Head
from burnish.errors import ConfigError, Problem
from burnish.spec.values import Array, Batch, FeatureLimit, RandomKey, RowFault, Rows
from burnish.tasks.labels import refuse_other_than_text
from burnish.tasks.question_answering.columns import QuestionColumns
from burnish.tasks.question_answering.decoder import RIGHT_PLACES
from burnish.tasks.sequences import SequenceEncoder, WindowPlan, plan_windows

VERSION = 1
"""Goes up whenever the same row would give other features."""


@dataclass(frozen=True)
class WindowLimits:
    """How much is read at once."""

    max_length: int
    max_question: int
    stride: int


@dataclass(frozen=True)
class QuestionEncoder(SequenceEncoder):
    """Encodes each question with every window of its context."""

    columns: QuestionColumns
    reading: WindowLimits
    may_be_open: bool
    """Whether a question may have no answer."""
    has_beam: bool
    """Whether batches are for a head that searches by itself."""

    @classmethod
    def build(
        cls, assets: TextAssets, columns: QuestionColumns, reading: WindowLimits, **flags: bool
    ) -> QuestionEncoder:
        """Put a tokenizer and a task's options together; refuse a limit under which a question leaves no room."""
        if not assets.is_fast:
            reason = "name a model with a tokenizer.json"
            sentence = (
                "model.tokenizer is in Python only, without the places of tokens in a context that this task needs"
            )
            raise ConfigError([Problem(sentence, (reason,))])
        least = learn_template(assets.tokenizer, num_texts=2).num_special + reading.max_question + 1
        if reading.max_length < least:
            reason = "the question, the special tokens and a token of the context must fit in"
            sentence = f"task.max_length must be at least {least}, got {reading.max_length}"
            raise ConfigError([Problem(sentence, (reason,))])
        codec = TextCodec(assets, (columns.question,), columns.context, reading.max_length, Head())
        return cls(codec, columns, reading, **flags)

    @property
    def key(self) -> Mapping[str, object]:
        return {"version": VERSION, "tokenizer": self.codec.assets.digest, **vars(self.columns), **vars(self.reading)}

    def faults(self, rows: Rows) -> list[RowFault]:
        refuse_other_than_text(rows.table, self.codec.columns)
        return self.columns.faults(rows.table, may_be_open=self.may_be_open)

    def sequences(self, table: pa.Table) -> pa.Table:
        refuse_other_than_text(table, self.codec.columns)
        asked = view(tokenize(table[self.columns.question], self.codec.assets.tokenizer))
        questions = Ragged(asked.values, asked.starts, np.minimum(asked.lengths, self.reading.max_question))
        # Each context is encoded once, however many questions are asked of it.
        column = table[self.columns.context].cast(pa.large_string()).fill_null("").combine_chunks()
        distinct = column.dictionary_encode()
        which = distinct.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        tokens = tokenize_placed(distinct.dictionary.to_pylist(), self.codec.assets.tokenizer)
        sizes = tokens.ids.lengths[which]
        windows = plan_windows(sizes, self.codec.room - questions.lengths, stride=self.reading.stride)
        features = _cut_features(questions, tokens, which, windows, num_special=self.codec.template.num_special)
        features["tokens"] = pa.array((asked.lengths + sizes)[windows.source], pa.int32())
        features["dropped"] = pa.array((asked.lengths - questions.lengths)[windows.source], pa.int32())
        if (labels := self._find_answers(table, tokens, which, windows)) is not None:
            features["label"] = pa.FixedSizeListArray.from_arrays(pa.array(labels.ravel(), pa.int32()), 2)
        return pa.table(features)

    def finish(self, batch: dict[str, Array], features: pa.Table, indices: Array, draw: RandomKey) -> Batch:
        layout = _Layout.of(batch["input_ids"].shape, features, indices, self)
        batch |= layout.places(gather(features["begins"], indices).values, gather(features["ends"], indices).values)
        if "label" in features.column_names:
            label = layout.labels(pick(features["label"], indices))
            batch |= {"label": label} if draw.is_training else {} if self.has_beam else layout.marks(label)
        return _arrange_for_beam(batch, layout.nulls, is_training=draw.is_training) if self.has_beam else batch

    def limits(self, features: pa.Table, *, num_rows: int) -> Iterator[FeatureLimit]:
        yield from super().limits(features, num_rows=num_rows)
        asked, tokens, begins, ends = (view(features[name].chunk(0)) for name in ("a", "b", "begins", "ends"))
        yield FeatureLimit("question_length", features["question_length"].to_numpy(), asked.lengths, asked.lengths)
        for name, places in (("begins", begins), ("ends", ends)):
            yield FeatureLimit(f"number of entries in {name}", places.lengths, tokens.lengths, tokens.lengths)
            yield FeatureLimit(name, places.values, 0, np.inf)
        if "label" in features.column_names:
            yield FeatureLimit("label", read_column(features["label"]), -1, tokens.lengths[:, None] - 1)

    @cached_property
    def null_token(self) -> tuple[int, int]:
        """Which special token stands for no answer: of which piece of the template, and which in it."""
        wanted = _find_classifier_id(self.codec.assets)
        pieces = self.codec.template.pieces
        there = [(piece, at) for piece in (0, 2, 1) for at in range(len(pieces[piece]))]
        named = [place for place in there if pieces[place[0]].ids[place[1]] == wanted]
        return next(iter([*named, *there]), (0, 0))

    def _find_answers(self, table: pa.Table, tokens: PlacedTokens, which: Array, windows: WindowPlan) -> Array | None:
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
        before, between, after = map(len, encoder.codec.template.pieces)
        contexts = lengths - questions - before - between - after
        begins = shape[1] - lengths if encoder.codec.assets.padding_side == "left" else np.zeros_like(lengths)
        piece, at = encoder.null_token
        skipped = (np.zeros_like(lengths), before + questions, before + questions + between + contexts)[piece]
        firsts = begins + before + questions + between
        return cls(shape, firsts.astype(np.int64), contexts.astype(np.int64), (begins + skipped + at).astype(np.int64))

    def places(self, begins: Array, ends: Array) -> dict[str, Array]:
        """Return where the network answers, and which characters of the context that is; -1 for no answer."""
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
        """Return the places of start and end; where the window does not hold the answer, that of no answer."""
        return np.where(local >= 0, self.firsts[:, None] + local, self.nulls[:, None])

    def marks(self, labels: Array) -> dict[str, Array]:
        """Mark the right start and end among the places."""
        places = np.arange(self.shape[1])
        return {name: places == labels[:, side, None] for side, name in enumerate(RIGHT_PLACES)}


def _cut_features(
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


def _arrange_for_beam(batch: dict[str, Array], nulls: Array, *, is_training: bool) -> dict[str, Array]:
    """Find the beam head what it needs: the right start while it learns, and where characters are when it searches."""
    batch["null_place"] = nulls
    if is_training:
        batch["start_place"] = batch["label"][:, 0]
        batch["impossible"] = (batch["label"][:, :1] == nulls[:, None]).astype(np.float32)
        return batch
    begins, ends = batch.pop("at_start"), batch.pop("at_end")
    batch["allowed"] = batch.pop("scored")
    batch["characters"] = np.stack([begins, ends], axis=2)
    return batch


def _find_classifier_id(assets: TextAssets) -> int | None:
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
