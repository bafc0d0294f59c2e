"""Rows to score with a finished model: a split of the data it was trained on, or a file."""

from collections.abc import Mapping

from burnish.artifact.predictor import Predictor
from burnish.data.encode import faults_of
from burnish.data.faults import settle
from burnish.data.options import NAMES
from burnish.errors import DataError
from burnish.run.prepare import request_of
from burnish.spec.values import Rows


def rows_to_score(
    predictors: Mapping[str, Predictor], *, split: str | None, data: str | None
) -> tuple[str | None, dict[str, Rows]]:
    """Read the rows of each task, refuse those that cannot be scored, and tell of which split they are."""
    if data is not None:
        return None, {name: _sound(each, _from_file(each, data), data) for name, each in predictors.items()}
    there = {name: _splits(each) for name, each in predictors.items()}
    chosen = split or [name for name in NAMES if all(name in each for each in there.values())][-1]
    for name, each in there.items():
        if chosen not in each:
            whose = f"of the task {name}" if name else "of this model"
            raise DataError(f"the data {whose} has no {chosen} split; it has {', '.join(each)}")
    return chosen, {name: _sound(predictors[name], each[chosen], chosen) for name, each in there.items()}


def _sound(predictor: Predictor, rows: Rows, split: str) -> Rows:
    source = predictor.experiment.data
    return settle(
        rows,
        faults_of(predictor.encoder, rows),
        policy=getattr(source, "bad_rows", "error"),
        share=getattr(source, "max_bad_share", 0.0),
        quarantine=None,
        split=split,
    )


def _splits(predictor: Predictor) -> dict[str, Rows]:
    splits = predictor.experiment.data.load(request_of(predictor.experiment, None))
    held = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    return {**{name: rows for name, rows in held.items() if rows is not None}, **splits.others}


def _from_file(predictor: Predictor, data: str) -> Rows:
    from burnish.data.read_one import read_file

    columns = dict.fromkeys((*predictor.input_columns, *predictor.task.training_columns))
    return read_file(data, columns=tuple(columns), like=predictor.experiment.data)
