"""Turns logits of words into tags, one list a row, and into the entities that they mark."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import Ragged, pack, positions
from burnish.metrics.entities import ChunkMarks, Chunks, find_chunks, flat, read_marks
from burnish.spec.values import Array, BaselineRequest, Outcome, Profile, Times
from burnish.tasks.probabilities import softmax, unlikelihood
from burnish.tasks.token_classification.rows import TagTexts, items_of, words_of
from burnish.tasks.token_classification.schemes import TagReading


def decode(outputs: "Mapping[str, Array]", profile: Profile, table: pa.Table | None, *, words: str) -> Outcome:
    """Return the likeliest tag of each word, whatever the order and the windows it came in."""
    order = np.lexsort((outputs["at_word"], outputs["row"]))
    row_of = outputs["row"][order]
    shares = softmax(outputs["logits"][order].astype(np.float64))
    rows = np.unique(row_of) if table is None else np.arange(table.num_rows)
    lengths = np.bincount(np.searchsorted(rows, row_of), minlength=len(rows))
    said = pack(shares.argmax(axis=1), lengths)
    labels = outputs["label"][order] if "label" in outputs else None
    truth = None if labels is None else pack(labels, lengths)
    confidence = shares.max(axis=1)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    sums = [np.bincount(row_of, weights=column, minlength=len(lengths)) for column in shares.T]
    return Outcome(
        kind=profile.kind,
        rows=rows,
        outputs=np.asarray(np.stack(sums, axis=1) / np.maximum(1, lengths)[:, None]),
        decisions=as_rows(said),
        truth=None if truth is None else as_rows(truth),
        labels=profile.labels,
        answers=None if table is None else answers(Said(said, truth, confidence), profile, table[words], name=words),
        unlikelihood=None if labels is None else unlikelihood(shares, labels, lengths),
    )


def as_rows(lists: Ragged) -> "Array":
    """Return lists of unlike length as an array with one tuple a row, which can be compared."""
    return np.fromiter((tuple(lists[row].tolist()) for row in range(len(lists))), dtype=object, count=len(lists))


NOTHING = "(none)"


@dataclass(frozen=True)
class Said:
    """The tags of all rows, those that are right if they are known, and how sure the network is of each."""

    tags: Ragged
    truth: Ragged | None
    confidence: "Array"


def answers(said: Said, profile: Profile, column: pa.ChunkedArray, *, name: str) -> pa.Table:
    """Return `predicted`, `truth` and `true_tags` if known, `confidence`, `tags` and, if they mark any, `entities`."""
    texts = words_of(column, name=name)
    marks = read_marks(profile.labels)
    columns: dict[str, pa.Array] = {"predicted": _lines(said.tags, profile, texts, marks)}
    if said.truth is not None:
        columns["truth"] = _lines(said.truth, profile, texts, marks)
    columns["confidence"] = pa.array(_products(said.confidence, said.tags.lengths))
    columns["tags"] = _names(said.tags, profile)
    if said.truth is not None:
        columns["true_tags"] = _names(said.truth, profile)
    if marks is not None:
        columns["entities"] = _entities(said, texts, marks)
    return pa.table(columns)


def _lines(tags: Ragged, profile: Profile, texts: TagTexts, marks: ChunkMarks | None) -> pa.Array:
    """Write each row's entities, like `PER Peter Blackburn; LOC Brussels`; other tags as they come."""
    if marks is None:
        return pa.array([" ".join(row) for row in _names(tags, profile).to_pylist()], pa.string())
    chunks = find_chunks(tags.values, tags.lengths, marks)
    found = zip(chunks.types.tolist(), texts.between(chunks.starts, chunks.ends), strict=True)
    shown = [f"{marks.names[kind]} {text}".strip() for kind, text in found]
    ends = np.cumsum(_per_row(chunks, tags.lengths)).tolist()
    return pa.array(["; ".join(shown[s:e]) or NOTHING for s, e in pairwise([0, *ends])], pa.string())


def _names(tags: Ragged, profile: Profile) -> pa.ListArray:
    names = pa.array(profile.labels, pa.string()).take(pa.array(tags.values, pa.int64()))
    return pa.ListArray.from_arrays(_offsets(tags.lengths), names)


def _entities(said: Said, texts: TagTexts, marks: ChunkMarks) -> pa.ListArray:
    """Give each row's entities: type, text, start and end in characters, and the probability of all their tags."""
    chunks = find_chunks(said.tags.values, said.tags.lengths, marks)
    sizes = chunks.ends - chunks.starts
    inner = {
        "type": pa.array(marks.names, pa.string()).take(pa.array(chunks.types, pa.int64())),
        "text": pa.array(texts.between(chunks.starts, chunks.ends), pa.string()),
        "start": pa.array(texts.starts[chunks.starts], pa.int64()),
        "end": pa.array(texts.ends[chunks.ends - 1], pa.int64()),
        "score": pa.array(_products(said.confidence[positions(chunks.starts, sizes)], sizes)),
    }
    structs = pa.StructArray.from_arrays(list(inner.values()), names=list(inner))
    return pa.ListArray.from_arrays(_offsets(_per_row(chunks, said.tags.lengths)), structs)


def _per_row(chunks: Chunks, lengths: "Array") -> "Array":
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    return np.bincount(row_of[chunks.starts], minlength=len(lengths))


def _products(shares: "Array", lengths: "Array") -> "Array":
    run_of = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(np.exp(np.bincount(run_of, weights=np.log(shares), minlength=len(lengths))))


def _offsets(lengths: "Array") -> pa.Array:
    return pa.array(np.append(0, np.cumsum(lengths)), pa.int32())


def tag_baselines(asked: BaselineRequest, *, words: str, tags: str) -> dict[str, Outcome]:
    """Tag as the training rows alone would: all words with the most frequent tag, or each with its own."""
    began, outcome = perf_counter(), asked.outcome
    train, other = asked.rows["train"].table, asked.rows[asked.split].table
    texts = [items_of(table[words], name=words).flat for table in (train, other)]
    numbers = TagReading.of(asked.profile).numbers(items_of(train[tags], name=tags))
    coded = pa.concat_arrays(texts).dictionary_encode()
    which = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.zeros((len(coded.dictionary), len(outcome.labels)), dtype=np.int64)
    np.add.at(counts, (which[: len(numbers)], numbers), 1)
    usual = int(counts.sum(axis=0).argmax())
    by_word = np.where(counts.any(axis=1), counts.argmax(axis=1), usual)
    scored, counted = which[len(numbers) :], perf_counter()
    said = {"majority": np.full_like(scored, usual), "dictionary": by_word[scored]}
    times = Times(counted - began, (perf_counter() - counted) / len(said))
    return {name: replace(_said(each, outcome), times=times) for name, each in said.items()}


def _said(tags: Array, outcome: Outcome) -> Outcome:
    lengths = flat(outcome.decisions)[1]
    return replace(outcome, decisions=as_rows(pack(tags, lengths)), answers=None, unlikelihood=None)
