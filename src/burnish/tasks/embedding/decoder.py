"""Turns embeddings into ranks: at which place of the whole split each query finds a passage of its own."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from burnish.data.batching.ragged import positions
from burnish.spec.values import Array, Outcome
from burnish.tasks.tabular.features import matrix_column

_SCORES_AT_ONCE = 1 << 22
_NUMBERS_SHOWN = 3
_DIGITS = 6


def decode(
    outputs: "Mapping[str, Array]", table: pa.Table | None, *, columns: tuple[str, str], temperature: float
) -> Outcome:
    """Return the embeddings of rows in their order and, where passages are known, the rank of each row's own."""
    order = np.argsort(outputs["row"], kind="stable")
    rows, vectors = outputs["row"][order], outputs["logits"][order]
    if "label" not in outputs:
        embeddings = vectors * np.float32(temperature)
        nothing = np.zeros(len(rows), np.int64)
        return Outcome("retrieval", rows, embeddings, nothing, None, answers=_shown(embeddings))
    queries, passages = np.split(vectors, max(2, int(outputs["label"][0])), axis=1)[:2]
    queries = queries * np.float32(temperature)
    known = _Known.of(rows, table, columns)
    ranks, best, losses = ranks_of(queries, passages[known.first], known, temperature=temperature)
    answers = None if table is None else _answers(table[columns[1]].take(pa.array(rows)), ranks, known.first[best])
    both = np.concatenate([queries, passages], axis=1)
    told = np.stack([losses, np.ones_like(losses)], axis=1)
    return Outcome("retrieval", rows, both, ranks, np.ones_like(ranks), answers=answers, unlikelihood=told)


class _Known:
    """Which passage belongs to which query: equal texts are one, and every passage of a query is right."""

    def __init__(self, query: "Array", passage: "Array") -> None:
        self.passage = passage
        self.first = np.unique(passage, return_index=True)[1]
        """For each passage, a row that holds it."""
        pairs = np.unique(np.stack([query, passage]), axis=1)
        self._right = pairs[1]
        self._counts = np.bincount(pairs[0])
        self._starts = np.cumsum(self._counts) - self._counts
        self._query = query

    @classmethod
    def of(cls, rows: "Array", table: pa.Table | None, columns: tuple[str, str]) -> "_Known":
        if table is None:
            return cls(np.arange(len(rows)), np.arange(len(rows)))
        query, passage = (_numbered(table[name].take(pa.array(rows))) for name in columns)
        return cls(query, passage)

    def right(self, rows: slice) -> "tuple[Array, Array]":
        """Return places in a block of rows, and passages that are right there."""
        query = self._query[rows]
        counts = self._counts[query]
        return np.repeat(np.arange(len(query)), counts), self._right[positions(self._starts[query], counts)]


def ranks_of(queries: "Array", passages: "Array", known: _Known, *, temperature: float) -> "tuple[Array, Array, Array]":
    """Rank each row's own passage among all that are not right for its query; one as near as its own stands before it.

    Beside the ranks, give the nearest passage of all, and how unlikely its own is among those that it is ranked with.
    """
    ranks, best = np.empty(len(queries), np.int64), np.empty(len(queries), np.int64)
    losses = np.empty(len(queries))
    step = max(1, _SCORES_AT_ONCE // max(1, len(passages)))
    for start in range(0, len(queries), step):
        block = slice(start, min(start + step, len(queries)))
        # Rounded, for the last digits of a product change with the number of threads.
        scores = np.round(queries[block] @ passages.T, _DIGITS)
        own = scores[np.arange(len(scores)), known.passage[block]]
        best[block] = scores.argmax(axis=1)
        scores[known.right(block)] = -np.inf
        # A network that says the same of everything must not look as if it had found everything.
        ranks[block] = 1 + (scores >= own[:, None]).sum(axis=1)
        nearer = (scores - own[:, None]) / temperature
        most = np.maximum(0, nearer.max(axis=1))
        losses[block] = most + np.log(np.exp(-most) + np.exp(nearer - most[:, None]).sum(axis=1))
    return ranks, best, losses


def _numbered(texts: pa.ChunkedArray) -> "Array":
    """Number texts, equal ones alike."""
    codes = pc.fill_null(texts.cast(pa.large_string()), "").combine_chunks().dictionary_encode().indices
    return np.asarray(codes.to_numpy(zero_copy_only=False), np.int64)


def _answers(passages: Any, ranks: "Array", nearest: "Array") -> pa.Table:
    return pa.table({"predicted": passages.take(pa.array(nearest)), "truth": passages, "rank": ranks})


def _shown(embeddings: "Array") -> pa.Table:
    lists = matrix_column(embeddings)
    words = [
        f"{embeddings.shape[1]} numbers: {', '.join(f'{x:.3f}' for x in row)}, …"
        for row in embeddings[:, :_NUMBERS_SHOWN]
    ]
    return pa.table({"predicted": pa.array(words, pa.string()), "embedding": lists.cast(pa.list_(pa.float32()))})
