"""After the loop: scores the best checkpoint with intervals, keeps predictions, and writes the artifact."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from burnish.artifact.bundle import write_artifact
from burnish.artifact.predictor import Predictor, golden_of, table_of
from burnish.artifact.signature import Signature, TrainingStatistics, describe
from burnish.engine.snapshot_torch import read_weights
from burnish.errors import DataError
from burnish.models.tabular.blend_torch import Blend
from burnish.run.attempt import Trained
from burnish.run.insights import Inspection
from burnish.run.predicting.prediction_tables import prediction_tables
from burnish.run.predicting.scoring import scored
from burnish.run.preparation.prepared_data import PreparedData
from burnish.run.record.directory import write_json
from burnish.run.record.result import ScoreSheet
from burnish.spec.events import FinalScores
from burnish.spec.parts import ALONE, join_profiles, prefix
from burnish.spec.values import Outcome, Profile

_GOLDEN_ROWS = 8
_SHOWN_COLUMNS = 8


@dataclass(frozen=True)
class Finished:
    """What the best weights say of every split but train, and how that scores."""

    outcomes: Mapping[str, Mapping[str, Outcome]]
    """Split → name of a task → what was predicted for its rows."""
    sheet: ScoreSheet


def finish(trained: Trained, *, is_inspected: bool = True) -> Finished:
    """Predict and score with the best weights, and on process 0 write predictions and the artifact."""
    directory, step = trained.run.directory, _put_best_in_place(trained)
    with trained.learner.averaged():
        settled = {name: refined(part) for name, part in _parts(trained).items()}
        parts = {name: part for name, (part, _) in settled.items()}
        outcomes = {
            split: {
                name: known.get(split) or part.scorer.outcome(split, part.learner.infer, fitting=part.fitting)
                for name, (part, known) in settled.items()
                if split in part.prepared.features
            }
            for split in trained.prepared.features
            if split != "train"
        }
        finished = Finished(outcomes, _score(trained, parts, outcomes))
        for split, scores in finished.sheet.scores.items():
            trained.run.sinks.tell(FinalScores(step, split, {name: each.value for name, each in scores.items()}))
        if not trained.run.is_first:
            return finished
        profile = _write_artifact(trained, parts, step=step)
        shown: Sequence[str] = ()
        if ALONE in parts and is_inspected:
            shown = _write_insights(parts[ALONE], {split: each[ALONE] for split, each in outcomes.items()})
    write_json(directory.profile, asdict(profile))
    for split, each in outcomes.items():
        for name, outcome in each.items():
            _write_predictions(prefix(name, split), outcome, parts[name], leading=shown)
    return finished


def _score(trained: Trained, parts: Mapping[str, Trained], outcomes: Mapping[str, Mapping[str, Outcome]]) -> ScoreSheet:
    headline = trained.scorer.headline()
    scores = {
        split: scored({name: (part.scorer.metrics, each.get(name)) for name, part in parts.items()})
        for split, each in outcomes.items()
    }
    return ScoreSheet(headline, scores, {}, trained.scorer.is_lower_better(headline))


def _put_best_in_place(trained: Trained) -> int:
    """Load the weights of the best checkpoint, the averaged ones if the run keeps an average; give its step."""
    store, best, last = trained.run.store, trained.ended.best_step, trained.ended.step
    if best is None:
        return last
    if best not in store.steps():
        # It was damaged, put aside at a start, and no older one was left to make it again from.
        trained.run.sinks.note(
            f"the best checkpoint, of step {best}, is lost; the weights of the last step, {last}, are taken instead"
        )
        best = last
    read_weights(trained.learner, store.at(best).path)
    return best


def _parts(trained: Trained) -> dict[str, Trained]:
    return {name: replace(trained, scorer=scorer) for name, scorer in trained.scorer.parts.items()}


def refined(trained: Trained) -> tuple[Trained, dict[str, Outcome]]:
    """Let the task fit to the validation rows what comes after the network; the first process's fit holds for all.

    Where there was nothing to fit, what was predicted for it still holds and is given too.
    """
    task, scorer = trained.experiment.task, trained.scorer
    outcome = scorer.outcome("validation", trained.learner.infer, fitting=trained.fitting)
    profile = task.refine(outcome, trained.prepared.profile)
    if profile is trained.prepared.profile:
        return trained, {"validation": outcome}
    profile = replace(profile, facts=scorer.world.gather(dict(profile.facts))[0])
    prepared = PreparedData({ALONE: replace(trained.prepared.parts[ALONE], profile=profile)})
    return replace(trained, scorer=replace(scorer, prepared=prepared)), {}


def _write_artifact(trained: Trained, parts: Mapping[str, Trained], *, step: int) -> Profile:
    profiles = {name: part.prepared.profile for name, part in parts.items()}
    proofs = {name: _golden(part) for name, part in parts.items()}
    goldens = {name: golden for name, (golden, _) in proofs.items()}
    profile = profiles[ALONE] if ALONE in parts else join_profiles(profiles)
    write_artifact(
        trained.run.directory.artifact,
        trained.experiment,
        profile=profile,
        assets=trained.prepared.assets,
        network=trained.learner.network,
        golden=goldens[ALONE] if ALONE in parts else {"tasks": goldens},
        signatures={name: signature for name, (_, signature) in proofs.items()},
        facts={
            "name": trained.experiment.name,
            "step": step,
            "precision": trained.facts["environment"]["precision"],
            "data": dict(trained.prepared.digests),
        },
    )
    return profile


def _golden(trained: Trained) -> tuple[dict[str, Any], Signature]:
    """Choose and answer the golden rows, and describe the model with the statistics of the training rows."""
    predictor = _predictor(trained)
    columns = predictor.input_columns
    servable = (at for at, row in enumerate(_rows(trained)) if _is_servable(row, predictor))
    places = [*itertools.islice(servable, _GOLDEN_ROWS)]
    if not places:
        table_of([next(_rows(trained))], predictor.task, profile=predictor.profile)  # raises what is wrong with a row
    table = trained.prepared.rows["validation"].table.take(places).select(columns)
    outcome = predictor.outcome(table)
    golden = golden_of(table, outcome, columns=columns)
    golden["inputs"] = predictor.digest_inputs(table_of(golden["rows"], predictor.task, profile=predictor.profile))
    prepared = trained.prepared.parts[ALONE]
    training = TrainingStatistics(prepared.rows["train"].table, prepared.features["train"]["length"].to_numpy())
    return golden, describe(trained.experiment, prepared.profile, golden=golden, outcome=outcome, training=training)


def _rows(trained: Trained) -> Iterator[Mapping[str, Any]]:
    table = trained.prepared.rows["validation"].table
    for start in range(0, len(table), _GOLDEN_ROWS):
        yield from table.slice(start, _GOLDEN_ROWS).to_pylist()


def _is_servable(row: Mapping[str, Any], predictor: Predictor) -> bool:
    """Tell whether a row can be asked by itself: a stray cell that is forgiven among many rows is refused there."""
    try:
        table_of([row], predictor.task, profile=predictor.profile)
    except DataError:
        return False
    return True


def _predictor(trained: Trained) -> Predictor:
    prepared = trained.prepared.parts[ALONE]
    return Predictor(trained.experiment, prepared.profile, prepared.encoder, trained.learner.infer)


def _write_insights(trained: Trained, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Look at slices of the rows and, if the task has columns, at each; list these with the most important first.

    On the test rows, or else on those of validation.
    """
    split = "test" if "test" in outcomes else "validation"
    if outcomes[split].truth is None:
        return []
    table, features = trained.prepared.rows[split].table, trained.prepared.features[split]
    # A row that was cut into windows has as many features; what is packed from many rows has a number of its own.
    lengths = np.bincount(features["row"].to_numpy(), features["length"].to_numpy(), minlength=len(table))
    metrics, headline = trained.scorer.metrics, trained.scorer.headline()
    inspection = Inspection(_predictor(trained), table, outcomes[split], metrics, headline, lengths)
    found = inspection.look(seed=trained.experiment.runtime.seed)
    found["members"] = _describe_members(trained, split, headline)
    if found["importance"] or found["slices"] or found["members"]:
        write_json(trained.run.directory.insights, {"split": split, **found})
    importance = found["importance"]
    known = {name: found["mean"] for name, found in importance.items() if found is not None}
    return sorted(importance, key=lambda name: -known.get(name, 0.0))


def _describe_members(trained: Trained, split: str, headline: str) -> list[dict[str, Any]]:
    """List the members of a blend, with what each would score alone; nothing where one model answers."""
    network = trained.learner.network
    if not isinstance(network, Blend):
        return []
    scorer, record = trained.scorer, network.record
    members: list[dict[str, Any]] = []
    for name in record.members:
        infer = network.infer_alone().get(name)
        score = None if infer is None else scorer.scores(split, infer, fitting=trained.fitting)[headline]
        members.append(
            {
                "name": name,
                "weight": record.weights.get(name, 0.0),
                "loss": record.losses.get(name),
                "score": score,
            }
        )
    members += [{"name": name, "weight": 0.0, "left_out": why} for name, why in record.left_out.items()]
    return members


def _write_predictions(place: str, outcome: Outcome, trained: Trained, *, leading: Sequence[str]) -> None:
    path = trained.run.directory.predictions / f"{place}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = trained.prepared.rows[path.stem]
    inputs = dict.fromkeys([*leading, *trained.prepared.profile.inputs])
    columns = [*inputs][:_SHOWN_COLUMNS] or trained.experiment.task.input_columns[:1]
    parts = prediction_tables(outcome, rows, shown=columns)
    first = next(parts)
    with pq.ParquetWriter(path, first.schema) as writer:
        for part in itertools.chain([first], parts):
            writer.write_table(part)
