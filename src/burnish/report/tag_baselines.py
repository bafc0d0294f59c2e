"""Tags that a model must beat: the most frequent one everywhere, and for each word the one it has most often."""

from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pack
from burnish.metrics.entities import flat
from burnish.metrics.sums import Array
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.spec.values import Outcome, Times
from burnish.tasks.token_classification import TokenClassification
from burnish.tasks.token_classification.decoder import as_rows
from burnish.tasks.token_classification.rows import items_of
from burnish.tasks.token_classification.schemes import TagReading


def tag_baselines(
    task: TokenClassification, prepared: PreparedTask, *, outcome: Outcome, split: str
) -> dict[str, Outcome]:
    """Count the tags of the training rows, and give what they alone say of another split."""
    began = perf_counter()
    train, other = prepared.rows["train"].table, prepared.rows[split].table
    words = [items_of(table[task.words], name=task.words).flat for table in (train, other)]
    tags = TagReading.of(prepared.profile).numbers(items_of(train[task.tags], name=task.tags))
    coded = pa.concat_arrays(words).dictionary_encode()
    which = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.zeros((len(coded.dictionary), len(outcome.labels)), dtype=np.int64)
    np.add.at(counts, (which[: len(tags)], tags), 1)
    usual = int(counts.sum(axis=0).argmax())
    by_word = np.where(counts.any(axis=1), counts.argmax(axis=1), usual)
    asked, counted = which[len(tags) :], perf_counter()
    said = {"majority": np.full_like(asked, usual), "dictionary": by_word[asked]}
    times = Times(counted - began, (perf_counter() - counted) / len(said))
    return {name: replace(_said(tags, outcome), times=times) for name, tags in said.items()}


def _said(tags: Array, outcome: Outcome) -> Outcome:
    lengths = flat(outcome.decisions)[1]
    return replace(outcome, decisions=as_rows(pack(tags, lengths)), answers=None)
