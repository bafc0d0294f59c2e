"""Rows encoded a second, onto the disk, against `datasets.map(batched=True)`."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

import datasets
import pyarrow as pa
from transformers import AutoTokenizer

from bench.harness.blocks import Block
from bench.harness.pairs import take_turns
from bench.sets import DataSet
from bench.tables import RATES_HEAD, rates
from burnish.commands.config import check
from burnish.data.cache.features import FeatureCache
from burnish.dist.world import available_cores
from burnish.run.preparation.prepare import Preparation
from burnish.spec.experiment import Experiment
from burnish.spec.protocols import Encoder

_ROWS = 8000


def tokenising(sets: Sequence[DataSet], *, rounds: int, tell: Callable[[str], None]) -> Iterator[str]:
    """Encode the same rows of each set in turn; both write what they made to the disk."""
    datasets.disable_progress_bars()
    yield from [line.replace("examples/s", "rows/s") for line in RATES_HEAD]
    for each in sets:
        tell(f"tokenising {each.name}")
        experiment = check(each.experiment, overrides=each.overrides).experiment
        with tempfile.TemporaryDirectory() as folder:
            contestants = contestants_of(experiment, Path(folder), rows=min(_ROWS, 16 * each.rows))
            results = take_turns(contestants, rounds=rounds, tell=tell)
        yield from rates(each.name, results, ours="Burnish")


def contestants_of(experiment: Experiment, folder: Path, *, rows: int) -> dict[str, Callable[[], Block]]:
    """Give the ways to encode the first so many rows of an experiment's training split."""
    splits = Preparation(experiment).read()
    table = splits.train.table.slice(0, rows)
    assets = experiment.model.assets()
    encoder = experiment.task.encoder(experiment.task.profile(splits.train), assets)
    text = table[experiment.task.input_columns[0]].to_pylist()
    cores = available_cores()
    numbers = count()

    def timed(work: Callable[[int], object]) -> Callable[[], Block]:
        def turn() -> Block:
            number, began = next(numbers), perf_counter()
            work(number)
            return Block(perf_counter() - began, table.num_rows)

        return turn

    assets.save(folder)
    tokenizer = partial(AutoTokenizer.from_pretrained(folder), truncation=True, max_length=experiment.task.max_length)
    mapped = {"datasets.map": None, f"datasets.map, {cores} processes": cores if cores > 1 else None}
    return {
        "Burnish": timed(lambda number: _ours(table, encoder, folder, number)),
        **{
            name: timed(lambda number, each=each: _theirs(text, tokenizer, folder / f"{number}.arrow", num_proc=each))
            for name, each in mapped.items()
            if each is not None or name == "datasets.map"
        },
    }


def _ours(table: pa.Table, encoder: Encoder, folder: Path, number: int) -> None:
    FeatureCache(folder / "cache").store({"turn": number}, lambda: encoder.encode(table))


def _theirs(text: list[str], tokenizer: Callable[..., Any], path: Path, *, num_proc: int | None) -> None:
    options = {"batched": True, "num_proc": num_proc, "cache_file_name": str(path), "load_from_cache_file": False}
    rows = datasets.Dataset.from_dict({"text": text})
    rows.map(lambda batch: tokenizer(batch["text"]), remove_columns=["text"], **options)
