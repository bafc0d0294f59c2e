"""Reads predictions/<split>.parquet back into an outcome, so that runs can be compared row by row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burnish.errors import CheckpointError, DataError
from burnish.run.record.directory import RunDirectory, read_json
from burnish.spec.parts import ALONE, prefix, read_profiles
from burnish.spec.values import Array, Outcome, Profile

if TYPE_CHECKING:
    import pyarrow as pa


_PLACE = ("file", "file_row")

_COMPARED = ("binary", "multiclass", "multilabel", "regression")
_OWN_COLUMNS = {
    "tags": ("tags", "true_tags"),
    "choice": ("choice", "true_choice"),
    "generated": ("predicted", "truth"),
    "spans": ("predicted", "true_answers"),
}
"""By kind, the columns of what was said and of what is true, where these are neither classes nor numbers."""


def read_outcome(directory: RunDirectory, split: str, *, task: str = ALONE) -> Outcome:
    """Read what a run said of each row of a split, or of that of one of its tasks, beside the truth."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = predictions_file(directory, split, task=task)
    try:
        profile = read_profile(directory, task=task)
        if profile.kind not in (*_COMPARED, *_OWN_COLUMNS):
            raise DataError(
                f"{directory.path} says {profile.kind} of its rows, and only runs that give classes, tags, choices, "
                f"answers or numbers can be compared row by row; `burnish runs ls` shows their scores side by side"
            )
        table = pq.read_table(path)
        if profile.kind in _OWN_COLUMNS:
            return _own_outcome(table, profile)
        truth = table["truth"].to_pylist() if "truth" in table.column_names else None
        return Outcome(
            kind=profile.kind,
            rows=table["row"].to_numpy(),
            outputs=_outputs(table, profile),
            decisions=_values(table["predicted"].to_pylist(), profile),
            truth=None if truth is None else _values(truth, profile),
            labels=profile.labels,
            names=profile.names,
            weights=table["weight"].to_numpy() if "weight" in table.column_names else None,
        )
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path} does not hold the predictions of this run, so it cannot be compared") from error


def read_places(directory: RunDirectory, split: str, *, task: str = ALONE) -> pa.Table | None:
    """Read from which row of which file each prediction was made; None of runs that did not write it down."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = predictions_file(directory, split, task=task)
    try:
        known = pq.read_schema(path).names
        return pq.read_table(path, columns=list(_PLACE)) if set(_PLACE) <= set(known) else None
    except (OSError, pa.ArrowException) as error:
        raise CheckpointError(f"{path} does not hold the predictions of this run, so it cannot be compared") from error


def read_profile(directory: RunDirectory, *, task: str = ALONE) -> Profile:
    """Read what a run, or one of its tasks, learned of its data."""
    fields = read_profiles(read_json(directory.profile))[task]
    facts = fields.get("facts", {})
    if not isinstance(facts, Mapping):
        raise ValueError(f"{directory.profile}: facts are no mapping")
    return Profile(str(fields["kind"]), tuple(map(str, fields["labels"])), facts)


def predictions_file(directory: RunDirectory, split: str, *, task: str = ALONE) -> Path:
    """Give the file of what was said of a split."""
    return directory.predictions / f"{prefix(task, split)}.parquet"


def _own_outcome(table: Any, profile: Profile) -> Outcome:
    """Rebuild answers that are neither classes nor numbers from the columns in which their task wrote them."""
    said, true = _OWN_COLUMNS[profile.kind]
    return Outcome(
        kind=profile.kind,
        rows=table["row"].to_numpy(),
        outputs=_own_outputs(table),
        decisions=_entries(table[said].to_pylist(), profile),
        truth=_entries(table[true].to_pylist(), profile) if true in table.column_names else None,
        labels=profile.labels,
        answers=table if profile.kind == "spans" else None,
    )


def _own_outputs(table: Any) -> Array:
    import numpy as np

    confidence: Array = table["confidence"].to_numpy()
    if "null_odds" not in table.column_names:
        return confidence
    return np.stack([confidence, table["null_odds"].to_numpy()], axis=1)


def _entries(values: list[Any], profile: Profile) -> Array:
    import numpy as np

    if profile.kind == "choice":
        return np.asarray(values)
    if profile.kind == "spans":
        answers = (each if isinstance(each, str) else tuple(each) for each in values)
        return np.fromiter(answers, dtype=object, count=len(values))
    numbers = {label: number for number, label in enumerate(profile.labels)}
    rows = (tuple(numbers[tag] for tag in tags) for tags in values)
    return np.fromiter(rows, dtype=object, count=len(values))


def _outputs(table: Any, profile: Profile) -> Array:
    import numpy as np

    if profile.kind == "regression":
        return np.asarray(table["predicted"].to_numpy())
    shares = table["probabilities"].combine_chunks()
    if hasattr(shares, "field"):  # a number for each named class; a run writes plain lists, in the order of the labels
        return np.column_stack([shares.field(label).to_numpy(zero_copy_only=False) for label in profile.labels])
    return np.asarray(shares.flatten().to_numpy(zero_copy_only=False)).reshape(-1, len(profile.labels))


def _values(written: list[Any], profile: Profile) -> Array:
    """Turn class names back into the numbers that metrics work on."""
    import numpy as np

    if profile.kind == "regression":
        return np.asarray(written, dtype=np.float64)
    if profile.kind == "multilabel":
        chosen = [set(_joined_names(each, profile) if isinstance(each, str) else each) for each in written]
        return np.asarray([[label in each for label in profile.labels] for each in chosen], dtype=np.int64)
    numbers = {label: number for number, label in enumerate(profile.labels)}
    return np.asarray([numbers[text] for text in written], dtype=np.int64)


def _joined_names(text: str, profile: Profile) -> list[str]:
    """Read names as older runs wrote them, in one text."""
    if any(";" in label for label in profile.labels):
        raise ValueError(f"{text} could be read in several ways")
    return text.split(";")
