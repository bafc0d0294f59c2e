"""Finishes a run's record: baselines beside its scores, and the page that shows it all."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from burnish.data.batching.ragged import pick
from burnish.report.baselines import baselines
from burnish.report.collect import collect
from burnish.report.events import read_story
from burnish.report.linear import sample
from burnish.report.page import render
from burnish.report.table_baselines import table_baselines
from burnish.report.tag_baselines import tag_baselines
from burnish.report.texts import RowTexts
from burnish.report.trees_baseline import boosted_trees
from burnish.run.attempt import Trained
from burnish.run.finish import Outcomes
from burnish.run.predicting.scoring import Scorer, scored
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.run.record.directory import RunDirectory, read_json, write_json, write_text
from burnish.run.record.result import THIS_RUN, sheet_from_json, sheet_to_json
from burnish.spec.experiment import Experiment
from burnish.spec.parts import ALONE
from burnish.spec.values import Array, Outcome, Score, Times
from burnish.tasks.token_classification import TokenClassification

_MOST_SCORED = 20_000
"""Rows that baselines are scored on at most; their intervals are narrow enough then."""


def compare(trained: Trained, outcomes: Outcomes) -> None:
    """Put baselines next to the scores of a run, on the test rows or else on those of validation."""
    scorer, directory = trained.scorer, trained.run.directory
    tasks = scorer.prepared.parts
    split = next(split for split in ("test", "validation") if _is_known(outcomes.get(split, {}), tasks))
    said = _predicted(scorer.parts, outcomes[split], split=split, note=trained.run.sinks.note)
    fit_seconds = read_story(directory.events).training_seconds
    own = replace(_total(each.times for each in outcomes[split].values()), fit_seconds=fit_seconds)
    times = {name: _total(each.times for each in found.values()) for name, found in said.items()}
    add_baselines(directory, score_baselines(scorer, said), times={THIS_RUN: own, **times})


def _is_known(outcomes: Mapping[str, Outcome], tasks: Collection[str]) -> bool:
    """Tell whether a split has the truth of every task."""
    return all(name in outcomes and outcomes[name].truth is not None for name in tasks)


def score_baselines(scorer: Scorer, said: Mapping[str, Mapping[str, Outcome]]) -> dict[str, Mapping[str, Score]]:
    """Score what simple models predicted for each task."""
    return {
        baseline: scored({name: (part.metrics, found.get(name)) for name, part in scorer.parts.items()})
        for baseline, found in said.items()
    }


def _predicted(
    parts: Mapping[str, Scorer], outcomes: Mapping[str, Outcome], *, split: str, note: Callable[[str], None]
) -> dict[str, dict[str, Outcome]]:
    """Give by baseline and task what it predicts for the rows that the run was scored on, or thousands of them."""
    said: dict[str, dict[str, Outcome]] = {}
    for name, outcome in outcomes.items():
        for baseline, found in _beside(parts[name], outcome, split=split, note=note).items():
            said.setdefault(baseline, {})[name] = found
    return said


def _total(times: Iterable[Times]) -> Times:
    """Add up the times of several tasks."""
    pairs = [(each.fit_seconds or 0.0, each.predict_seconds or 0.0) for each in times]
    return Times(*(round(sum(seconds), 6) for seconds in zip(*pairs, strict=True)))


def _beside(scorer: Scorer, outcome: Outcome, *, split: str, note: Callable[[str], None]) -> dict[str, Outcome]:
    prepared = scorer.prepared.parts[ALONE]
    beside = _beside_a_table if "table" in prepared.profile.facts else _BESIDE.get(outcome.kind, _beside_nothing)
    return beside(scorer.experiment, prepared, outcome=outcome, split=split, note=note)


def _beside_a_table(
    experiment: Experiment, prepared: PreparedTask, *, outcome: Outcome, split: str, note: Callable[[str], None]
) -> dict[str, Outcome]:
    features, seed = prepared.features, experiment.runtime.seed
    found = table_baselines(features["train"], features[split], outcome, profile=prepared.profile, seed=seed, note=note)
    if experiment.model.is_grown:
        return found
    trees = boosted_trees(prepared, experiment.task, split=split, seed=seed, note=note)
    return found if trees is None else {**found, "boosted_trees": trees}


def _beside_texts(
    experiment: Experiment, prepared: PreparedTask, *, outcome: Outcome, split: str, note: Callable[[str], None]
) -> dict[str, Outcome]:
    columns, seed = experiment.task.input_columns, experiment.runtime.seed
    kept = sample(len(outcome.rows), most=_MOST_SCORED, seed=seed)
    return baselines(
        RowTexts(prepared.rows["train"], columns),
        _truth(prepared.features["train"]),
        eval_texts=RowTexts(prepared.rows[split], columns).among(outcome.rows[kept]),
        eval_truth=None if outcome.truth is None else outcome.truth[kept],
        kind=outcome.kind,
        labels=outcome.labels,
        eval_rows=outcome.rows[kept],
        seed=seed,
        note=note,
    )


def _beside_tags(
    experiment: Experiment, prepared: PreparedTask, *, outcome: Outcome, split: str, note: Callable[[str], None]
) -> dict[str, Outcome]:
    task = experiment.task
    return tag_baselines(task, prepared, outcome=outcome, split=split) if isinstance(task, TokenClassification) else {}


def _beside_choices(
    experiment: Experiment, prepared: PreparedTask, *, outcome: Outcome, split: str, note: Callable[[str], None]
) -> dict[str, Outcome]:
    began = perf_counter()
    usual = np.bincount(prepared.features["train"]["label"].to_numpy()).argmax()
    times = Times(perf_counter() - began, 0.0)
    return {"majority": replace(outcome, decisions=np.full_like(outcome.decisions, usual), answers=None, times=times)}


def _beside_nothing(
    experiment: Experiment, prepared: PreparedTask, *, outcome: Outcome, split: str, note: Callable[[str], None]
) -> dict[str, Outcome]:
    return {}


_BESIDE = {
    **dict.fromkeys(["binary", "multiclass", "multilabel", "regression"], _beside_texts),
    "tags": _beside_tags,
    "choice": _beside_choices,
}


def add_baselines(
    directory: RunDirectory, found: Mapping[str, Mapping[str, Score]], *, times: Mapping[str, Times]
) -> None:
    """Write baselines and times into scores.json, next to what the run scored."""
    sheet = sheet_from_json(read_json(directory.scores))
    if sheet is not None:
        write_json(directory.scores, sheet_to_json(replace(sheet, baselines=found, times=times)))


def write_page(directory: RunDirectory) -> None:
    """Write report.html from the files of the run."""
    write_text(directory.report, render(collect(directory.path)))


def _truth(features: pa.Table) -> "Array":
    # A long text may have several windows; its label counts once.
    return pick(features["label"], np.flatnonzero(np.diff(features["row"].to_numpy(), prepend=-1)))
