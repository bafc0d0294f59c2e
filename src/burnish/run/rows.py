"""Rows to score with a finished model: a split of the data it was trained on, or a file."""

from burnish.artifact.predictor import Predictor
from burnish.data.encode import faults_of
from burnish.data.faults import settle
from burnish.errors import DataError
from burnish.run.prepare import request_of
from burnish.spec.values import Rows


def rows_to_score(predictor: Predictor, *, split: str | None, data: str | None) -> tuple[str | None, Rows]:
    """Read the rows, refuse those that cannot be scored, and tell of which split they are."""
    name, rows = (None, _from_file(predictor, data)) if data else _from_split(predictor, split)
    source = predictor.experiment.data
    sound = settle(
        rows,
        faults_of(predictor.encoder, rows),
        policy=getattr(source, "bad_rows", "error"),
        share=getattr(source, "max_bad_share", 0.0),
        quarantine=None,
        split=data or name or "",
    )
    return name, sound


def _from_split(predictor: Predictor, split: str | None) -> tuple[str, Rows]:
    splits = predictor.experiment.data.load(request_of(predictor.experiment, None))
    held = {"train": splits.train, "validation": splits.validation, "test": splits.test}
    there = {name: rows for name, rows in held.items() if rows is not None}
    chosen = split or list(there)[-1]
    there |= splits.others
    if chosen not in there:
        raise DataError(f"the data of this model has no {chosen} split; it has {', '.join(there)}")
    return chosen, there[chosen]


def _from_file(predictor: Predictor, data: str) -> Rows:
    from burnish.data.read_one import read_file

    columns = dict.fromkeys((*predictor.input_columns, *predictor.task.training_columns))
    return read_file(data, columns=tuple(columns), like=predictor.experiment.data)
