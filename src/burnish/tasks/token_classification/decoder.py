"""Turns logits of words into tags, one list a row, and says them in words."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import Ragged, pack
from burnish.spec.values import Array, Outcome, Profile
from burnish.tasks.probabilities import softmax
from burnish.tasks.token_classification.answers import Said, answers


def decode(outputs: "Mapping[str, Array]", profile: Profile, table: pa.Table | None, *, words: str) -> Outcome:
    """Give the likeliest tag of each word, whatever the order and the windows it came in."""
    order = np.lexsort((outputs["at_word"], outputs["row"]))
    row_of = outputs["row"][order]
    shares = softmax(outputs["logits"][order].astype(np.float64))
    rows = np.unique(row_of) if table is None else np.arange(table.num_rows)
    lengths = np.bincount(np.searchsorted(rows, row_of), minlength=len(rows))
    said = pack(shares.argmax(axis=1), lengths)
    truth = pack(outputs["label"][order], lengths) if "label" in outputs else None
    confidence = shares.max(axis=1)
    return Outcome(
        kind=profile.kind,
        rows=rows,
        outputs=_means(shares, lengths),
        decisions=as_rows(said),
        truth=None if truth is None else as_rows(truth),
        labels=profile.labels,
        answers=None if table is None else answers(Said(said, truth, confidence), profile, table[words], name=words),
    )


def as_rows(lists: Ragged) -> "Array":
    """Give lists of unlike length as an array with one tuple a row, which can be compared."""
    return np.fromiter((tuple(lists[row].tolist()) for row in range(len(lists))), dtype=object, count=len(lists))


def _means(shares: "Array", lengths: "Array") -> "Array":
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    sums = [np.bincount(row_of, weights=column, minlength=len(lengths)) for column in shares.T]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(1, lengths)[:, None])
