"""Writes encoded texts as TFRecord files of `tf.train.Example`, under the names that BERT's own scripts gave them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from burnish.data.batching.ragged import pick
from burnish.data.codecs.example import Feature, serialise_example
from burnish.data.codecs.tfrecord import FRAME_BYTES, write_records
from burnish.data.tokens.tokens import TextAssets
from burnish.errors import DataError
from burnish.run.preparation.prepared_data import PreparedTask
from burnish.spec.experiment import Experiment
from burnish.spec.values import Array, Batch, RandomKey

NAMES: Mapping[str, str] = {
    "input_ids": "input_ids",
    "attention_mask": "input_mask",
    "token_type_ids": "segment_ids",
    "label": "label_ids",
    "row": "row",
}
"""What an array of a batch is called in a record."""
_AT_ONCE = 256
_NO_LABEL = -100


@dataclass(frozen=True)
class Form:
    """How wide records are, what fills them, and what a label stands for."""

    length: int
    pads: Mapping[str, int]
    side: str
    has_spans: bool


def records_writer(
    experiment: Experiment,
    prepared: PreparedTask,
    *,
    shard_bytes: int,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Callable[[Path, str], int]:
    """Give what writes a split; refuse a task that does not read texts of a known length."""
    length, assets = getattr(experiment.task, "max_length", None), prepared.assets
    if not isinstance(length, int) or not isinstance(assets, TextAssets):
        raise DataError("--tfrecord writes texts, and this task has none; leave it out, and the features are written")
    pads = {"input_ids": assets.pad_id, "segment_ids": assets.pad_type_id, "label_ids": _NO_LABEL}
    has_spans = experiment.task.head(prepared.profile).objective.name == "span"
    form = Form(length, pads, assets.padding_side, has_spans)

    def write(folder: Path, split: str) -> int:
        records = _records(prepared, split, form=form, progress=progress)
        number = 0
        with ExitStack() as stack:
            stream: BinaryIO | None = None
            for record in records:
                if stream is None or stream.tell() + len(record) + FRAME_BYTES > shard_bytes:
                    stack.close()
                    stream = stack.enter_context((folder / f"{split}-{number:05d}.tfrecord").open("wb"))
                    number += 1
                write_records(stream, (record,))
        return number

    return write


def _records(
    prepared: PreparedTask, split: str, *, form: Form, progress: Callable[[int, int], None]
) -> Iterator[bytes]:
    collate, total = prepared.collate(split), prepared.features[split].num_rows
    # Where a span is the label, only batches to learn from hold it, and nothing of them is drawn.
    has_labels = form.has_spans and "label" in prepared.features[split].column_names
    draw = RandomKey(seed=0, epoch=0, is_training=has_labels)
    for start in range(0, total, _AT_ONCE):
        which = np.arange(start, min(start + _AT_ONCE, total))
        batch = dict(collate(which, draw))
        if prepared.profile.kind == "regression" and "label" in batch:
            batch["label"] = pick(prepared.features[split]["label"], which)  # in its own unit, whoever reads it
        arrays = arrays_of(batch, form)
        yield from (_record(arrays, at) for at in range(len(arrays["input_ids"])))
        progress(min(start + _AT_ONCE, total), total)


def arrays_of(batch: "Batch", form: Form) -> "dict[str, Array]":
    """Give the arrays of a batch as records hold them: other names, and all of one width."""
    if batch["input_ids"].ndim != 2:
        raise DataError("--tfrecord writes one text or pair a record, and this task has several; leave it out")
    missing = form.length - batch["input_ids"].shape[1]
    arrays = {name: batch[own] for own, name in NAMES.items() if own in batch}
    arrays.setdefault("segment_ids", np.full_like(arrays["input_ids"], form.pads["segment_ids"]))
    wide = {"input_ids", "input_mask", "segment_ids", *(["label_ids"] if "scored" in batch else [])} & arrays.keys()
    arrays |= {name: _fitted(arrays[name], missing, form.pads.get(name, 0), side=form.side) for name in wide}
    if form.has_spans and "label_ids" in arrays:
        places = arrays.pop("label_ids") + (missing if form.side == "left" else 0)
        arrays |= {"start_positions": places[:, 0], "end_positions": places[:, 1]}
    return {**arrays, "is_real_example": np.ones(len(batch["input_ids"]), dtype=np.int64)}


def _fitted(array: "Array", missing: int, fill: int, *, side: str) -> "Array":
    """Add padding, or take some away: batches are padded to a round width, which may be beyond the longest text."""
    if missing < 0:
        return array[:, -missing:] if side == "left" else array[:, :missing]
    return np.pad(array, ((0, 0), (missing, 0) if side == "left" else (0, missing)), constant_values=fill)


def _record(arrays: "Mapping[str, Array]", at: int) -> bytes:
    return serialise_example({name: _feature(array[at : at + 1].ravel()) for name, array in arrays.items()})


def _feature(values: "Array") -> Feature:
    if np.issubdtype(values.dtype, np.floating):
        return Feature("float", tuple(values.tolist()))
    return Feature("int64", tuple(values.astype(np.int64).tolist()))
