"""After the loop: scores the best checkpoint with intervals, keeps predictions, and writes the artifact."""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from burnish.artifact.bundle import write_artifact
from burnish.artifact.predictor import Predictor, golden_of
from burnish.artifact.tables import prediction_columns, words
from burnish.run.assemble import Trained, put_best_in_place
from burnish.run.directory import RunDirectory, write_json
from burnish.run.result import ScoreSheet, sheet_to_json
from burnish.spec.values import Outcome, Rows, Score

_GOLDEN_ROWS = 8
_SHOWN_CHARACTERS = 2000


def finish(trained: Trained, directory: RunDirectory, *, tell: Callable[[str], None]) -> dict[str, Outcome]:
    """Score every split but train with the best weights, and on process 0 write scores, predictions, the artifact."""
    step = put_best_in_place(trained, directory, tell=tell)
    with trained.learner.averaged():
        outcomes = {
            split: trained.scorer.outcome(split, trained.learner.infer, fitting=trained.fitting)
            for split in trained.prepared.features
            if split != "train"
        }
        if trained.scorer.world.rank > 0:
            return outcomes
        _write_artifact(trained, directory, step=step)
    scores = {split: trained.scorer.tally(outcome).scored() for split, outcome in outcomes.items()}
    write_scores(directory, trained.headline, scores, baselines={})
    for split, outcome in outcomes.items():
        _write_predictions(directory, split, outcome, trained)
    return outcomes


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
    columns = experiment.task.input_columns
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


def _write_predictions(directory: RunDirectory, split: str, outcome: Outcome, trained: Trained) -> None:
    directory.predictions.mkdir(exist_ok=True)
    rows = trained.prepared.rows[split]
    table = prediction_table(outcome, rows, shown=trained.experiment.task.input_columns[0])
    pq.write_table(table, directory.predictions / f"{split}.parquet")


def prediction_table(outcome: Outcome, rows: Rows, *, shown: str) -> pa.Table:
    """Put texts, truths and decisions side by side, in row order."""
    texts = pc.utf8_slice_codeunits(rows.table[shown].cast(pa.large_string()), 0, _SHOWN_CHARACTERS)
    columns: dict[str, Any] = {"row": outcome.rows, "text": texts.take(pa.array(outcome.rows))}
    if outcome.truth is not None:
        columns["truth"] = pa.array(words(outcome.truth, outcome))
    columns |= prediction_columns(outcome)
    if outcome.outputs.ndim == 2:
        columns["probabilities"] = pa.array(list(outcome.outputs))
    return pa.table(columns)
