"""After the loop: scores the best checkpoint with intervals, keeps predictions, and writes the artifact."""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace

import pyarrow.parquet as pq

from burnish.artifact.bundle import write_artifact
from burnish.artifact.predictor import Predictor, golden_of
from burnish.run.assemble import Trained, put_best_in_place
from burnish.run.directory import RunDirectory, write_json
from burnish.run.insights import Inspection
from burnish.run.prediction_tables import prediction_tables
from burnish.run.result import ScoreSheet, sheet_to_json
from burnish.spec.protocols import Inspected, Refines
from burnish.spec.values import Outcome, Score

_GOLDEN_ROWS = 8
_SHOWN_COLUMNS = 8


def finish(trained: Trained, directory: RunDirectory, *, tell: Callable[[str], None]) -> dict[str, Outcome]:
    """Score every split but train with the best weights, and on process 0 write scores, predictions, the artifact."""
    step = put_best_in_place(trained, directory, tell=tell)
    with trained.learner.averaged():
        trained, known = refined(trained)
        outcomes = {
            split: known.get(split) or trained.scorer.outcome(split, trained.learner.infer, fitting=trained.fitting)
            for split in trained.prepared.features
            if split != "train"
        }
        if trained.scorer.world.rank > 0:
            return outcomes
        _write_artifact(trained, directory, step=step)
        _write_insights(trained, directory, outcomes)
    write_json(directory.profile, asdict(trained.prepared.profile))
    scores = {split: trained.scorer.tally(outcome).scored() for split, outcome in outcomes.items()}
    write_scores(directory, trained.headline, scores, baselines={})
    for split, outcome in outcomes.items():
        _write_predictions(directory, split, outcome, trained)
    return outcomes


def refined(trained: Trained) -> tuple[Trained, dict[str, Outcome]]:
    """Let the task fit to the validation rows what comes after the network; the first process's fit holds for all.

    Where there was nothing to fit, what was predicted for it still holds and is given too.
    """
    task, scorer = trained.experiment.task, trained.scorer
    if not isinstance(task, Refines):
        return trained, {}
    outcome = scorer.outcome("validation", trained.learner.infer, fitting=trained.fitting)
    profile = task.refine(outcome, trained.prepared.profile)
    if profile is trained.prepared.profile:
        return trained, {"validation": outcome}
    profile = replace(profile, facts=scorer.world.gather(dict(profile.facts))[0])
    prepared = replace(trained.prepared, profile=profile)
    return replace(trained, prepared=prepared, scorer=replace(scorer, prepared=prepared)), {}


def write_scores(
    directory: RunDirectory,
    headline: str,
    scores: Mapping[str, Mapping[str, Score]],
    *,
    baselines: Mapping[str, Mapping[str, Score]],
) -> None:
    """Write scores.json."""
    write_json(directory.scores, sheet_to_json(ScoreSheet(headline, scores, baselines)))


def _write_artifact(trained: Trained, directory: RunDirectory, *, step: int) -> None:
    experiment, prepared = trained.experiment, trained.prepared
    predictor = Predictor(experiment, prepared.profile, prepared.encoder, trained.learner.infer)
    columns = predictor.input_columns
    table = prepared.rows["validation"].table.slice(0, _GOLDEN_ROWS).select(columns)
    write_artifact(
        directory.artifact,
        experiment,
        profile=prepared.profile,
        assets=prepared.assets,
        network=trained.learner.network,
        golden=golden_of(table, predictor.outcome(table), columns=columns),
        facts={"name": experiment.name, "step": step},
    )


def _write_insights(trained: Trained, directory: RunDirectory, outcomes: Mapping[str, Outcome]) -> None:
    """Look at the columns one by one, if the task has such; on the test rows, or else on those of validation."""
    task, prepared = trained.experiment.task, trained.prepared
    split = "test" if "test" in outcomes else "validation"
    if not isinstance(task, Inspected) or outcomes[split].truth is None:
        return
    predictor = Predictor(trained.experiment, prepared.profile, prepared.encoder, trained.learner.infer)
    metrics, table = trained.scorer.metrics, prepared.rows[split].table
    inspection = Inspection(predictor, table, outcomes[split], metrics, trained.headline)
    found = inspection.look(task, seed=trained.experiment.runtime.seed)
    write_json(directory.insights, {"split": split, **found})


def _write_predictions(directory: RunDirectory, split: str, outcome: Outcome, trained: Trained) -> None:
    directory.predictions.mkdir(exist_ok=True)
    rows = trained.prepared.rows[split]
    columns = trained.prepared.profile.inputs[:_SHOWN_COLUMNS] or trained.experiment.task.input_columns[:1]
    parts = prediction_tables(outcome, rows, shown=columns)
    first = next(parts)
    with pq.ParquetWriter(directory.predictions / f"{split}.parquet", first.schema) as writer:
        for part in itertools.chain([first], parts):
            writer.write_table(part)
