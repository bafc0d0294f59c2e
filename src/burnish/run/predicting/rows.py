"""Rows to score with a finished model: a split of the data it was trained on, or a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from burnish.artifact.predictor import Predictor
from burnish.data.cache.spill import find_faults
from burnish.data.options import NAMES, filter_columns, filter_of
from burnish.data.rows import filter_rows
from burnish.errors import CheckpointError, DataError
from burnish.run.preparation.inputs import changed_files, digests_of, of_task
from burnish.run.preparation.prepare import Preparation, named_splits, settle_rows
from burnish.spec.parts import prefix
from burnish.spec.values import Rows, Splits


@dataclass(frozen=True)
class RowsToScore:
    """The rows of each task, of which split they are, and what a reader of the scores should know of them."""

    split: str | None
    """None for a file."""
    rows: Mapping[str, Rows]
    notes: tuple[str, ...] = ()


def rows_to_score(
    predictors: Mapping[str, Predictor], *, split: str | None, data: str | None, trained_on: Mapping[str, str]
) -> RowsToScore:
    """Read the rows of each task and refuse those that cannot be scored; `trained_on` has the digest of each file."""
    if data is not None:
        rows, notes = {}, []
        for name, predictor in predictors.items():
            filtered, told = _filter(predictor, _from_file(predictor, data), data)
            rows[name] = _sound(predictor, filtered, data)
            notes += [*told, *predictor.encoder.notes(rows[name])]
        return RowsToScore(None, rows, tuple(notes))
    loaded = {name: Preparation(each.experiment).read() for name, each in predictors.items()}
    there = {name: named_splits(each) for name, each in loaded.items()}
    chosen = split or [name for name in NAMES if all(name in each for each in there.values())][-1]
    for name, each in there.items():
        if chosen not in each:
            whose = f"of the task {name}" if name else "of this model"
            raise DataError(f"the data {whose} has no {chosen} split; it has {', '.join(each)}")
    notes = [note for name, each in loaded.items() for note in _changes(name, each, chosen, trained_on)]
    rows = {name: _sound(predictors[name], each[chosen], chosen) for name, each in there.items()}
    return RowsToScore(chosen, rows, tuple(notes))


def _changes(task: str, splits: Splits, split: str, trained_on: Mapping[str, str]) -> list[str]:
    """Tell which files of a split changed since training; refuse a split that is carved from those of train."""
    files: Mapping[str, Sequence[str]] = splits.facts.get("files", {})  # type: ignore[assignment]  # names by split
    own = [prefix(task, file) for file in files.get(split, ())] if split != "train" else []
    known, found = of_task(task, trained_on), digests_of(task, splits)
    if own:
        known = {file: digest for file, digest in known.items() if file in own}
        return [f"{change} since training" for change in changed_files(known, {file: found[file] for file in own})]
    changes = changed_files(known, found)
    if changes:
        raise CheckpointError(
            f"the {split} split is drawn from files that are not those of the training: {'; '.join(changes)}. Rows "
            "that the model learned from may be in it; put the files back, or score other rows with --in FILE"
        )
    return []


def _sound(predictor: Predictor, rows: Rows, split: str) -> Rows:
    return settle_rows(predictor.experiment.data, rows, find_faults(predictor.encoder, rows), split=split)


def _from_file(predictor: Predictor, data: str) -> Rows:
    from burnish.data.readers.read import read_file

    columns = dict.fromkeys((*predictor.input_columns, *predictor.task.training_columns))
    return read_file(data, columns=tuple(columns), like=predictor.experiment.data)


def _filter(predictor: Predictor, rows: Rows, data: str) -> tuple[Rows, list[str]]:
    """Keep the rows that the model was trained for, as in its own splits; say what the filter did."""
    wanted = filter_of(predictor.experiment.data)
    absent = [name for name in filter_columns(wanted) if name not in rows.table.column_names]
    if absent:
        columns = ", ".join(f"`{name}`" for name in absent)
        return rows, [
            f"data.filter is not applied to {data}, which has no {columns}: all {len(rows):,} rows are scored"
        ]
    kept = filter_rows(rows, wanted, where=data)
    if len(kept) == len(rows):
        return rows, []
    return kept, [f"data.filter keeps {len(kept):,} of the {len(rows):,} rows of {data}"]
