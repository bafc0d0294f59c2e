"""Scores that a model must beat: the majority or the mean, and a linear model on words."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from burnish.errors import DataError, MissingExtra
from burnish.extras import require
from burnish.metrics.sums import Array
from burnish.report.texts import Texts
from burnish.spec.values import Outcome

MAX_TRAIN = 20_000
"""Training texts used at most, so that a baseline takes seconds."""
MAX_CHARACTERS = 4_000
"""Characters of a text used at most, for the same reason."""
MAX_WORDS = 100_000


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
    frame = _Frame(kind=kind, labels=labels, rows=np.asarray(rows), truth=truth)
    targets = np.asarray(train_truth)
    found = {"mean" if kind == "regression" else "majority": frame.outcome(_constant(targets, frame))}
    kept = sample(len(train_texts), most=max_train, seed=seed)
    words = _words(_chosen(train_texts, kept), eval_texts, note=note)
    if words is not None:
        name = "tfidf_ridge" if kind == "regression" else "tfidf_logistic"
        found[name] = frame.outcome(_linear(words, targets[kept], frame=frame, seed=seed))
    return found


@dataclass(frozen=True)
class _Frame:
    """What every baseline's outcome has in common."""

    kind: str
    labels: tuple[str, ...]
    rows: Array
    truth: Array | None

    @property
    def num_labels(self) -> int:
        return max(len(self.labels), 2)

    def outcome(self, outputs: Array) -> Outcome:
        return Outcome(self.kind, self.rows, outputs, self._decide(outputs), self.truth, self.labels)

    def _decide(self, outputs: Array) -> Array:
        if self.kind == "regression":
            return outputs
        return (outputs >= 0.5).astype(np.int64) if self.kind == "multilabel" else outputs.argmax(axis=1)


@dataclass(frozen=True)
class _Words:
    """Training and evaluation texts as sparse rows of word weights."""

    train: Any
    evaluation: Any


def _refuse_uneven(num_texts: int, num_truths: int, *, what: str) -> None:
    if num_texts != num_truths:
        raise DataError(f"a baseline needs one label a text, and {num_texts} {what} texts came with {num_truths}")


def _constant(targets: Array, frame: _Frame) -> Array:
    if frame.kind == "regression":
        return np.full(len(frame.rows), targets.mean())
    if frame.kind == "multilabel":
        return np.tile(targets.mean(axis=0), (len(frame.rows), 1))
    shares = np.bincount(targets.astype(np.int64), minlength=frame.num_labels) / len(targets)
    return np.tile(shares, (len(frame.rows), 1))


def sample(size: int, *, most: int, seed: int) -> Array:
    """Choose so many rows by chance, in order; all of them if there are no more."""
    if size <= most:
        return np.arange(size)
    return np.sort(np.random.Generator(np.random.Philox(seed)).choice(size, most, replace=False))


def _chosen(texts: Sequence[str], kept: Array) -> list[str]:
    return [*_cut(texts.among(kept) if isinstance(texts, Texts) else [texts[at] for at in kept])]


def _words(train: Sequence[str], evaluation: Sequence[str], *, note: Callable[[str], None]) -> _Words | None:
    try:
        text = require("sklearn.feature_extraction.text", extra="demo", why="for the TF-IDF baseline")
    except MissingExtra as missing:
        note(f"the TF-IDF baseline was left out: {missing}")
        return None
    # Words seen once are mostly noise; a tiny set may have no others.
    for min_df in (2, 1):
        vectorizer = text.TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, min_df=min_df, max_features=MAX_WORDS, dtype=np.float32
        )
        try:
            return _Words(vectorizer.fit_transform(train), vectorizer.transform(_cut(evaluation)))
        except ValueError:
            continue
    note("the TF-IDF baseline was left out: the training texts hold no words of two letters or more")
    return None


def _cut(texts: Iterable[str]) -> Iterator[str]:
    return (text[:MAX_CHARACTERS] for text in texts)


def _linear(words: _Words, targets: Array, *, frame: _Frame, seed: int) -> Array:
    if frame.kind == "regression":
        return _ridge(words, targets)
    if frame.kind == "multilabel":
        return np.stack([_probability(words, column, seed=seed) for column in targets.T], axis=1)
    if len(np.unique(targets)) == 2:
        present = np.unique(targets)
        second = _probability(words, targets == present[1], seed=seed)
        return _spread(np.stack([1 - second, second], axis=1), present, size=frame.num_labels)
    return _several(words, targets, size=frame.num_labels)


def _ridge(words: _Words, targets: Array) -> Array:
    model = import_module("sklearn.linear_model").Ridge(solver="lsqr")
    return np.asarray(model.fit(words.train, targets).predict(words.evaluation), dtype=np.float64)


def _probability(words: _Words, targets: Array, *, seed: int) -> Array:
    is_true = targets.astype(np.int64)
    if len(np.unique(is_true)) < 2:
        return np.full(words.evaluation.shape[0], float(is_true[0]))
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="liblinear", random_state=seed)
    return np.asarray(model.fit(words.train, is_true).predict_proba(words.evaluation)[:, 1], dtype=np.float64)


def _several(words: _Words, targets: Array, *, size: int) -> Array:
    if len(np.unique(targets)) < 2:
        return _spread(np.ones((words.evaluation.shape[0], 1)), np.unique(targets), size=size)
    # A loose tolerance: the last digits of a baseline are not worth a minute.
    model = import_module("sklearn.linear_model").LogisticRegression(C=10, solver="lbfgs", tol=1e-3, max_iter=50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(words.train, targets)
    return _spread(model.predict_proba(words.evaluation), model.classes_, size=size)


def _spread(outputs: Array, present: Array, *, size: int) -> Array:
    """Put the columns of the classes that were seen where they belong among all."""
    spread = np.zeros((len(outputs), size))
    spread[:, present.astype(np.int64)] = outputs
    return spread
