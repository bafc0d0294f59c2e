"""What else one could use, as contestants: transformers' Trainer and its pipeline, on the same rows and weights."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    pipeline,
)
from transformers.trainer_pt_utils import LengthGroupedSampler, get_length_grouped_indices
from transformers.utils import logging

from bench.harness.blocks import Block
from bench.harness.contestant import Referee
from bench.harness.sample import Sample, num_threads, take_sample
from burnish.dist.world import place_of
from burnish.run.build import build_stream
from burnish.run.predicting.scoring import Scorer
from burnish.spec.values import RandomKey

_INPUTS = ("input_ids", "token_type_ids", "attention_mask")
_NO_END = 100_000
_MEGA_BATCHES = 50


def write_plain_model(scorer: Scorer, folder: Path) -> None:
    """Write network and tokenizer as a folder that transformers loads: everyone begins with the same weights."""
    experiment, prepared = scorer.experiment, scorer.prepared
    network = experiment.model.network(experiment.task.head(prepared.profile), prepared.assets)
    folder.mkdir(parents=True, exist_ok=True)
    experiment.model.save(network, folder)
    prepared.assets.save(folder)


def train(request: Mapping[str, Any], referee: Referee) -> None:
    """Let Trainer train an epoch of the sample each turn."""
    sample = _set_up(request)
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(sample, request, folder)
        trainer.add_callback(_Turns(referee, sample))
        try:
            trainer.train()
        except _Over:
            return


def learned(request: Mapping[str, Any]) -> NDArray[np.float32]:
    """Let Trainer train on the whole sample as the request says; give its logits of the validation rows, in order."""
    sample = _set_up(request)
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(sample, request, folder)
        trainer.train()
        # One that groups by length answers in that order.
        judge = Trainer(model=trainer.model, args=trainer.args, data_collator=trainer.data_collator)
        rows = list(_rows(sample, "validation"))
        return np.asarray(judge.predict(rows).predictions)  # type: ignore[arg-type]  # any sequence will do


def predict(request: Mapping[str, Any], referee: Referee) -> None:
    """Let Trainer predict the encoded sample each turn."""
    sample = _set_up(request)
    with tempfile.TemporaryDirectory() as folder:
        trainer = _trainer(sample, request, folder)
        rows = list(_rows(sample))
        referee.repeat(lambda: trainer.predict(rows), lengths=sample.lengths)  # type: ignore[arg-type]  # any sequence will do


def pipe(request: Mapping[str, Any], referee: Referee) -> None:
    """Let `pipeline("text-classification")` answer the texts of the sample each turn."""
    sample = _set_up(request)
    dtype = torch.bfloat16 if request.get("bf16") else torch.float32
    device = "cuda" if torch.cuda.is_available() else "cpu"
    answers = pipeline("text-classification", model=request["model"], device=device, dtype=dtype)
    texts = _texts(sample)
    asked: list[Any] = (
        texts[0] if len(texts) == 1 else [{"text": a, "text_pair": b} for a, b in zip(*texts, strict=True)]
    )
    options = {"batch_size": request.get("batch_size", 1), "truncation": True, "max_length": request["max_length"]}
    referee.repeat(lambda: answers(asked, **options), lengths=sample.lengths)


def _texts(sample: Sample) -> list[list[str]]:
    """Give the columns that a prediction reads, as text."""
    table = sample.scorer.prepared.rows["train"].table
    rows = sample.scorer.prepared.features["train"]["row"].to_numpy()
    return [table[name].take(rows).to_pylist() for name in sample.experiment.task.input_columns]


def _set_up(request: Mapping[str, Any]) -> Sample:
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # transformers leaves it untyped
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # as above
    sample = take_sample(request)
    torch.set_num_threads(num_threads(sample.experiment))
    return sample


def _trainer(sample: Sample, request: Mapping[str, Any], folder: str) -> Trainer:
    """Make a Trainer with its own defaults but for what the request names."""
    model = AutoModelForSequenceClassification.from_pretrained(
        request["model"], attn_implementation=request.get("attention"), dtype=torch.float32
    )
    workers = request.get("workers", 0)
    arguments = TrainingArguments(
        output_dir=folder,
        per_device_train_batch_size=_batch_size(sample) // place_of().size,
        ddp_backend="gloo" if place_of().size > 1 and not torch.cuda.is_available() else None,
        ddp_find_unused_parameters=False,
        bf16=request.get("bf16", False),
        dataloader_num_workers=workers,
        dataloader_persistent_workers=workers > 0,
        use_cpu=not torch.cuda.is_available(),
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        **{"num_train_epochs": _NO_END, **request.get("arguments", {})},
    )
    tokenizer = AutoTokenizer.from_pretrained(request["model"])
    pad_to = request.get("pad_to")
    collator = DataCollatorWithPadding(tokenizer, padding="max_length" if pad_to else True, max_length=pad_to)
    multiple = max(1, min(sample.num_rows_of_all // (4 * _batch_size(sample)), _MEGA_BATCHES))
    kind = partial(_Grouped, multiple=multiple) if request.get("is_grouped") else Trainer
    return kind(model=model, args=arguments, train_dataset=list(_rows(sample)), data_collator=collator)


def _batch_size(sample: Sample) -> int:
    """Give as many examples a step as Burnish takes, also when its batches are counted in tokens."""
    stream = build_stream(sample.experiment, sample.scorer.prepared, sample.scorer.world)
    asked = sample.experiment.train.batch.examples
    return asked if isinstance(asked, int) else -(-len(sample.lengths) // stream.batches_in(0))


class _Grouped(Trainer):
    """Sort by length within stretches as long as those of the whole data set.

    Left alone, Trainer makes the stretches of a small sample so short that little is gained by sorting them.
    """

    def __init__(self, *, multiple: int, **options: Any) -> None:
        super().__init__(**options)
        self._multiple = multiple

    def _get_train_sampler(self, train_dataset: Any = None) -> "_Stretched":
        return self._sampler(train_dataset or self.train_dataset, self.args.train_batch_size)

    def _get_eval_sampler(self, eval_dataset: Any) -> "_Stretched":
        return self._sampler(eval_dataset, self.args.eval_batch_size)

    def _sampler(self, rows: Any, batch_size: int) -> "_Stretched":
        return _Stretched(batch_size, [len(row["input_ids"]) for row in rows], multiple=self._multiple)


class _Stretched(LengthGroupedSampler):
    def __init__(self, batch_size: int, lengths: list[int], *, multiple: int) -> None:
        super().__init__(batch_size, lengths=lengths)
        self._multiple = multiple

    def __iter__(self) -> Iterator[int]:
        order = get_length_grouped_indices(self.lengths, self.batch_size, mega_batch_mult=self._multiple)  # type: ignore[no-untyped-call]  # as above
        return iter(order)


class _Over(Exception):
    """There are no more turns."""


class _Turns(TrainerCallback):
    """Hold Trainer before each epoch until it is its turn, and time the epoch."""

    def __init__(self, referee: Referee, sample: Sample) -> None:
        self._referee = referee
        self._size = len(sample.lengths), int(sample.lengths.sum())
        self._began = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Say that everything is loaded."""
        self._referee.ready()

    def on_epoch_begin(self, *_: Any, **__: Any) -> None:
        """Wait, then start the clock."""
        if not self._referee.turn():
            raise _Over
        self._began = perf_counter()

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        """Stop the clock."""
        self._referee.report(Block(perf_counter() - self._began, *self._size))


def _rows(sample: Sample, split: str = "train") -> Iterator[dict[str, Any]]:
    """Give each example as it would come out of a tokenizer: not padded, with its label."""
    prepared, seed = sample.prepared, sample.experiment.runtime.seed
    draw = RandomKey(seed=seed, epoch=0, is_training=False)
    features = prepared.features[split]
    for index in range(len(features)):
        batch = prepared.encoder.collate(features, [index], draw)  # type: ignore[arg-type]  # any sequence of places
        yield {
            **{name: batch[name][0].tolist() for name in _INPUTS if name in batch},
            "labels": batch["label"][0].tolist(),
        }
