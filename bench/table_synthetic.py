"""Writes tables of any size with something to learn in them, the same each time."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

_SIZES = (5, 20, 100, 1000)
"""How many words each column of words has."""
_NUM_NUMBERS = 8
_AT_ONCE = 100_000


def write_table(path: Path, *, rows: int) -> Path:
    """Write a CSV file: eight numbers and four columns of words, some of them missing, a flag and a target `y`."""
    with path.open("wb") as stream:
        for start in range(0, rows, _AT_ONCE):
            options = pyarrow.csv.WriteOptions(include_header=start == 0)
            pyarrow.csv.write_csv(_part(min(_AT_ONCE, rows - start), seed=start), stream, options)
    return path


def _part(rows: int, *, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    numbers = draw.normal(size=(rows, _NUM_NUMBERS)).round(4)
    words = [draw.integers(0, size, rows) for size in _SIZES]
    worths = [np.random.default_rng(size).normal(size=size) * 0.7 for size in _SIZES]
    score = numbers[:, 0] - 0.5 * numbers[:, 1] ** 2 + numbers[:, 2] * numbers[:, 3]
    score = score + sum(worth[word] for worth, word in zip(worths, words, strict=True))
    columns: dict[str, Any] = {
        f"x{at}": pa.array(numbers[:, at], mask=draw.random(rows) < 0.02) for at in range(_NUM_NUMBERS)
    }
    columns |= {f"c{at}": pa.array(np.char.add(f"v{at}_", word.astype(str))) for at, word in enumerate(words)}
    columns["flag"] = pa.array(np.where(draw.random(rows) < 0.5, "yes", "no"))
    return pa.table({**columns, "y": (score + draw.logistic(size=rows) > 0).astype(np.int64)})
