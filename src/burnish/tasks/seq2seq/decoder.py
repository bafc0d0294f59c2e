"""Turns generated tokens into one text a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa
from tokenizers import Tokenizer

from burnish.metrics.confidence import RIGHT
from burnish.spec.values import Array, BaselineRequest, Outcome, Times

_LIKELIHOOD, _TOKENS = RIGHT + 1, RIGHT + 2
"""The columns of `outputs` behind those of the truth: the log-likelihood of the answer a token, and its tokens."""


def decode(outputs: Mapping[str, Array], table: pa.Table | None, *, target: str) -> Outcome:
    """Order the answers by row; they are ids until an encoder puts them into words."""
    order = np.argsort(outputs["row"], kind="stable")
    rows, found = outputs["row"][order], outputs["logits"][order].astype(np.float64)
    numbers, ids = found[:, : _TOKENS + 1], found[:, _TOKENS + 1 :].astype(np.int64)
    truth = None
    if table is not None and target in table.column_names:
        truth = _objects(table[target].take(pa.array(rows)).cast(pa.large_string()).fill_null("").to_pylist())
    return Outcome("generated", rows, numbers, _objects([each[each >= 0] for each in ids]), truth)


def in_words(outcome: Outcome, tokenizer: Tokenizer) -> Outcome:
    """Write generated ids as texts."""
    if outcome.answers is not None:
        return outcome
    texts = tokenizer.decode_batch([each.tolist() for each in outcome.decisions], skip_special_tokens=True)
    return _with_answers(replace(outcome, decisions=_objects([text.strip() for text in texts])))


def copy_source(asked: BaselineRequest, *, source: str) -> Outcome:
    """Answer every source with itself."""
    began = perf_counter()
    texts = asked.rows[asked.split].table[source].take(pa.array(asked.outcome.rows)).to_pylist()
    times = Times(0.0, perf_counter() - began)
    numbers = np.full_like(asked.outcome.outputs, 0.0)
    return _with_answers(replace(asked.outcome, decisions=_objects(texts), outputs=numbers, times=times))


def _with_answers(outcome: Outcome) -> Outcome:
    """Put the text beside the truth, if that is known, and how likely its tokens were: their geometric mean."""
    known = {} if outcome.truth is None else {"truth": pa.array(outcome.truth, pa.large_string())}
    likely = pa.array(np.exp(outcome.outputs[:, _LIKELIHOOD]))
    return replace(
        outcome,
        answers=pa.table({"predicted": pa.array(outcome.decisions, pa.large_string()), **known, "confidence": likely}),
    )


def _objects(values: Iterable[object]) -> Array:
    listed = list(values)
    return np.fromiter(listed, dtype=object, count=len(listed))
