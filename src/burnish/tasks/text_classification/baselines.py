"""Scores that a model must beat: the majority or the mean, and a linear model on words."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, overload

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pick
from burnish.data.cache.spill import in_parts
from burnish.errors import DataError, MissingExtra
from burnish.extras import require
from burnish.metrics.sums import Array
from burnish.spec.values import BaselineRequest, Outcome, Rows
from burnish.tasks.baselines import Predict, Standing, linear, sample

MAX_TRAIN = 20_000
"""Training texts used at most, so that a baseline takes seconds."""
MAX_CHARACTERS = 4_000
"""Characters of a text used at most, for the same reason."""
MAX_WORDS = 100_000
_MOST_SCORED = 20_000
"""Rows that baselines are scored on at most; their intervals are narrow enough then."""


def text_baselines(asked: BaselineRequest, columns: Sequence[str]) -> dict[str, Outcome]:
    """Learn from the words in these columns of the training rows."""
    outcome = asked.outcome
    kept = sample(len(outcome.rows), most=_MOST_SCORED, seed=asked.seed)
    features = asked.features["train"]
    # A long text may have several windows; its label counts once.
    return baselines(
        RowTexts(asked.rows["train"], columns),
        pick(features["label"], np.flatnonzero(np.diff(features["row"].to_numpy(), prepend=-1))),
        eval_texts=RowTexts(asked.rows[asked.split], columns).among(outcome.rows[kept]),
        eval_truth=None if outcome.truth is None else outcome.truth[kept],
        kind=outcome.kind,
        labels=outcome.labels,
        eval_rows=outcome.rows[kept],
        seed=asked.seed,
        note=asked.note,
    )


def baselines(
    train_texts: Sequence[str],
    train_truth: Array | Sequence[Any],
    *,
    eval_texts: Sequence[str],
    eval_truth: Array | Sequence[Any] | None,
    kind: str,
    labels: tuple[str, ...] = (),
    eval_rows: Array | None = None,
    seed: int = 0,
    max_train: int = MAX_TRAIN,
    note: Callable[[str], None] = lambda _: None,
) -> dict[str, Outcome]:
    """Learn simple models from the training texts and give their outcomes on others.

    Truth is as in `Outcome`: class indices, 0/1 a label, numbers, or None where labels are unknown. `note` is told
    what was left out, and why.
    """
    truth = None if eval_truth is None else np.asarray(eval_truth)
    _refuse_uneven(len(train_texts), len(train_truth), what="training")
    _refuse_uneven(len(eval_texts), len(eval_texts) if truth is None else len(truth), what="evaluation")
    rows = np.arange(len(eval_texts)) if eval_rows is None else eval_rows
    frame = Standing(kind=kind, labels=labels, rows=np.asarray(rows), truth=truth)
    targets = np.asarray(train_truth)
    found = {"mean" if kind == "regression" else "majority": frame.usual(targets)}
    kept = sample(len(train_texts), most=max_train, seed=seed)
    learn = partial(linear, targets=targets[kept], frame=frame, seed=seed)
    try:
        learned = frame.learned(lambda: _fit(_chosen(train_texts, kept), eval_texts, learn=learn))
    except (MissingExtra, DataError) as reason:
        note(f"the TF-IDF baseline was left out: {reason}")
        return found
    return {**found, "tfidf_ridge" if kind == "regression" else "tfidf_logistic": learned}


def _refuse_uneven(num_texts: int, num_truths: int, *, what: str) -> None:
    if num_texts != num_truths:
        raise DataError(f"a baseline needs one label a text, and {num_texts} {what} texts came with {num_truths}")


def _chosen(texts: Sequence[str], kept: Array) -> list[str]:
    return [*_cut(texts.among(kept) if isinstance(texts, RowTexts) else [texts[at] for at in kept])]


def _fit(train: Sequence[str], asked: Sequence[str], *, learn: Callable[[Any], Predict]) -> Callable[[], Array]:
    vectorizer, words = _words(train)
    predict = learn(words)
    return lambda: predict(vectorizer.transform(_cut(asked)))


def _words(train: Sequence[str]) -> tuple[Any, Any]:
    text = require("sklearn.feature_extraction.text", extra="baselines", why="for the TF-IDF baseline")
    # Words seen once are mostly noise; a tiny set may have no others.
    for min_df in (2, 1):
        vectorizer = text.TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, min_df=min_df, max_features=MAX_WORDS, dtype=np.float32
        )
        try:
            return vectorizer, vectorizer.fit_transform(train)
        except ValueError:
            continue
    raise DataError("the training texts hold no words of two letters or more")


def _cut(texts: Iterable[str]) -> Iterator[str]:
    return (text[:MAX_CHARACTERS] for text in texts)


class RowTexts(Sequence[str]):
    """One text a row, read when it is asked for: its columns joined by a space, nothing for a null."""

    def __init__(self, rows: Rows, columns: Sequence[str], *, chosen: Array | None = None) -> None:
        self._rows = rows
        self._columns = list(columns)
        self._chosen = np.arange(len(rows)) if chosen is None else chosen

    def among(self, places: Array) -> "RowTexts":
        """Give only the texts at these places, which must rise."""
        return RowTexts(self._rows, self._columns, chosen=self._chosen[places])

    def __len__(self) -> int:
        return len(self._chosen)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> "RowTexts": ...
    def __getitem__(self, at: int | slice) -> "str | RowTexts":
        if isinstance(at, slice):
            return RowTexts(self._rows, self._columns, chosen=self._chosen[at])
        return _joined(self._rows.table.slice(int(self._chosen[at]), 1).select(self._columns))[0]

    def __iter__(self) -> Iterator[str]:
        for start, part in in_parts(self._rows):
            here = self._chosen[slice(*np.searchsorted(self._chosen, [start, start + len(part)]))]
            yield from _joined(part.table.select(self._columns).take(pa.array(here - start)))


def _joined(table: pa.Table) -> list[str]:
    parts = [[text or "" for text in column.cast(pa.large_string()).to_pylist()] for column in table.columns]
    return [" ".join(each) for each in zip(*parts, strict=True)]
