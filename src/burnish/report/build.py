"""Finishes a run's record: baselines beside its scores, and the page that shows it all."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from burnish.metrics.tally import Tally
from burnish.report.baselines import baselines
from burnish.report.collect import collect
from burnish.report.page import render
from burnish.run.directory import RunDirectory, read_json, write_json, write_text
from burnish.run.prepare import Prepared
from burnish.run.result import ScoreSheet, sheet_from_json, sheet_to_json
from burnish.spec.protocols import Metric
from burnish.spec.values import Outcome, Score

if TYPE_CHECKING:
    from collections.abc import Sequence

    from burnish.spec.values import Array


def score_baselines(
    prepared: Prepared,
    outcome: Outcome,
    *,
    split: str,
    metrics: "Sequence[Metric]",
    columns: "Sequence[str]",
    seed: int,
    note: Callable[[str], None],
) -> dict[str, Mapping[str, Score]]:
    """Score simple models on the rows that the run's own model was scored on."""
    train = prepared.rows["train"].table
    scored = prepared.rows[split].table
    found = baselines(
        _texts(train, columns),
        _truth(prepared.features["train"]),
        eval_texts=_texts(scored, columns),
        eval_truth=outcome.truth,
        kind=outcome.kind,
        labels=outcome.labels,
        eval_rows=outcome.rows,
        seed=seed,
        note=note,
    )
    return {name: Tally(metrics, [each]).scored() for name, each in found.items()}


def add_baselines(directory: RunDirectory, found: Mapping[str, Mapping[str, Score]]) -> None:
    """Write baselines into scores.json, beside what the run scored."""
    sheet = sheet_from_json(read_json(directory.scores))
    if sheet is not None:
        write_json(directory.scores, sheet_to_json(ScoreSheet(sheet.headline, sheet.scores, found)))


def write_page(directory: RunDirectory) -> None:
    """Write report.html from the files of the run."""
    write_text(directory.report, render(collect(directory.path)))


def _texts(table: pa.Table, columns: "Sequence[str]") -> list[str]:
    parts = [[text or "" for text in table[name].cast(pa.large_string()).to_pylist()] for name in columns]
    return [" ".join(each) for each in zip(*parts, strict=True)]


def _truth(features: pa.Table) -> "Array":
    # A long text may have several windows; its label counts once.
    first = np.unique(features["row"].to_numpy(), return_index=True)[1]
    labels = features["label"].combine_chunks()
    if not pa.types.is_fixed_size_list(labels.type):
        return np.asarray(labels.to_numpy()[first])
    width = labels.type.list_size
    return np.asarray(labels.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)[first])
