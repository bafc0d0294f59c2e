"""Turns the logits of choices into the one that is chosen."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from burnish.spec.values import Array, BaselineRequest, Outcome, Profile, Times
from burnish.tasks.multiple_choice.rows import ChoiceColumns
from burnish.tasks.probabilities import softmax, unlikelihood
from burnish.tasks.token_classification.rows import TagItems


def decode(
    outputs: "Mapping[str, Array]", profile: Profile, table: pa.Table | None, *, columns: ChoiceColumns
) -> Outcome:
    """Return the likeliest choice of each row; what is no choice has probability 0."""
    order = np.argsort(outputs["row"], kind="stable")
    shares = softmax(outputs["logits"][order].astype(np.float64))
    decisions = shares.argmax(axis=1)
    truth = outputs["label"][order] if "label" in outputs else None
    rows = outputs["row"][order]
    answers = None
    if table is not None:
        answers = _answers(shares, decisions, truth, columns.options(table.take(pa.array(rows))))
    told = None if truth is None else unlikelihood(shares, truth)
    return Outcome(profile.kind, rows, shares, decisions, truth, profile.labels, answers, unlikelihood=told)


def majority(asked: BaselineRequest) -> Outcome:
    """Always choose the place that is right most often in the training rows."""
    began = perf_counter()
    usual = np.bincount(asked.features["train"]["label"].to_numpy()).argmax()
    times = Times(perf_counter() - began, 0.0)
    decisions = np.full_like(asked.outcome.decisions, usual)
    return replace(asked.outcome, decisions=decisions, answers=None, times=times, unlikelihood=None)


def _answers(shares: "Array", decisions: "Array", truth: "Array | None", options: TagItems) -> pa.Table:
    """Return the chosen text, the right one if known, the number of the choice and the probability of each."""
    begins = np.cumsum(options.lengths) - options.lengths
    columns = {"predicted": options.flat.take(pa.array(begins + decisions))}
    if truth is not None:
        columns["truth"] = options.flat.take(pa.array(begins + truth))
        columns["true_choice"] = pa.array(truth, pa.int64())
    columns["confidence"] = pa.array(shares[np.arange(len(shares)), decisions])
    columns["choice"] = pa.array(decisions, pa.int64())
    is_there = np.arange(shares.shape[1]) < options.lengths[:, None]
    offsets = pa.array(np.append(0, np.cumsum(options.lengths)), pa.int32())
    columns["probabilities"] = pa.ListArray.from_arrays(offsets, pa.array(shares[is_there]))
    return pa.table(columns)
