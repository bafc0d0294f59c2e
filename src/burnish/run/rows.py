"""Rows to score with a finished model: a split of the data it was trained on, or a file."""

from burnish.artifact.predictor import Predictor
from burnish.data.encode import faults_of
from burnish.data.faults import settle
from burnish.errors import DataError
from burnish.run.prepare import request_of
from burnish.spec.values import Rows


def rows_to_score(predictor: Predictor, *, split: str, data: str | None) -> Rows:
    """Read the rows and refuse those that cannot be scored."""
    rows = _from_file(predictor, data) if data else _from_split(predictor, split)
    source = predictor.experiment.data
    return settle(
        rows,
        faults_of(predictor.encoder, rows),
        policy=getattr(source, "bad_rows", "error"),
        share=getattr(source, "max_bad_share", 0.0),
        quarantine=None,
        split=data or split,
    )


def _from_split(predictor: Predictor, split: str) -> Rows:
    splits = predictor.experiment.data.load(request_of(predictor.experiment, None))
    rows: Rows | None = getattr(splits, split, None) if split in ("train", "validation", "test") else None
    if rows is None:
        there = [name for name in ("train", "validation", "test") if getattr(splits, name) is not None]
        raise DataError(f"the data of this model has no {split} split; it has {', '.join(there)}")
    return rows


def _from_file(predictor: Predictor, data: str) -> Rows:
    from burnish.data.read_one import read_file

    return read_file(data, columns=predictor.task.columns, like=predictor.experiment.data)
