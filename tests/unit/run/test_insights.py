"""Slices hold every row once: by value, or by range where there are many values."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from burnish.errors import DataError
from burnish.metrics.classification import F1, Accuracy
from burnish.run.insights import Inspection, slices_of
from burnish.spec.values import Outcome
from burnish.tasks.tabular.options import Derived


def test_values_come_by_frequency_and_missing_last() -> None:
    table = pa.table({"pay": ["Cash", "Card", "Card", "", "Card", "Cash"]})
    found = [(value, mask.tolist()) for value, mask in slices_of(table, "pay", derived={})]
    assert [value for value, _ in found] == ["Card", "Cash", "missing"]
    assert np.sum([mask for _, mask in found], axis=0).tolist() == [1] * 6


def test_a_quantity_is_cut_into_ranges_that_hold_every_row_once() -> None:
    table = pa.table({"miles": [str(at / 7) for at in range(100)] + [None]})
    masks = [mask for _, mask in slices_of(table, "miles", derived={})]
    assert len(masks) == 5
    assert np.sum(masks, axis=0).tolist() == [1] * 101
    assert [int(mask.sum()) for mask in masks] == [25, 25, 25, 25, 1]


def test_a_derived_column_can_be_sliced_by_and_an_unknown_one_is_refused() -> None:
    table = pa.table({"a": ["1", "2", "3"]})
    far = {"far": Derived(expression="a > 1")}
    assert {value: int(mask.sum()) for value, mask in slices_of(table, "far", derived=far)}["1"] == 2
    with pytest.raises(DataError, match="there is no column `b`"):
        list(slices_of(table, "b", derived={}))


def test_a_slice_without_positive_rows_has_no_f1() -> None:
    lengths = np.repeat([3.0, 10.0, 20.0, 40.0, 80.0, 100.0], 20)
    truth = ((np.arange(120) % 2) * (lengths > 30)).astype(np.int64)
    said = np.ones(120, np.int64)
    outcome = Outcome("binary", np.arange(120), np.eye(2)[said], said, truth, ("a", "b"))
    table = pa.table({"text": ["x"] * 120})
    metrics = (F1(), Accuracy())
    inspection = Inspection(SimpleNamespace(task=None), table, outcome, metrics, "f1", lengths)  # type: ignore[arg-type]
    slices = inspection.look(seed=0)["slices"]
    assert [each["scores"]["f1"] is None for each in slices] == [True, True, False, False]
    assert [each["interval"] is None for each in slices] == [True, True, False, False]
    assert [each["scores"]["accuracy"] for each in slices] == [0.0, 0.0, 0.5, 0.5]


def test_rows_of_unlike_lengths_are_scored_by_length() -> None:
    lengths = np.repeat([3.0, 10.0, 20.0, 40.0, 80.0, 100.0], 20)
    truth = (np.arange(120) % 2).astype(np.int64)
    said = np.where(lengths > 30, 1 - truth, truth)
    outcome = Outcome("binary", np.arange(120), np.eye(2)[said], said, truth, ("a", "b"))
    table = pa.table({"text": ["x"] * 120})
    inspection = Inspection(SimpleNamespace(task=None), table, outcome, (Accuracy(),), "accuracy", lengths)  # type: ignore[arg-type]
    slices = inspection.look(seed=0)["slices"]
    assert [each["value"] for each in slices] == ["3 to 10", "10 to 30", "30 to 80", "80 to 100"]
    assert [each["scores"]["accuracy"] for each in slices] == [1.0, 1.0, 0.0, 0.0]
    assert not replace(inspection, lengths=np.ones(120)).look(seed=0)["slices"]
