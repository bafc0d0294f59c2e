"""A small table and a search over it, for tests that run studies for real."""

import csv
import json
import random
from hashlib import sha256
from pathlib import Path
from typing import Any

from burnish.artifact.locate import find_artifact

EXPERIMENT = """\
name: small
task: {{type: tabular, target: y}}
data: {{train: {data}, split: {{validation: 40, test: 40}}}}
model: linear
runtime: {{threads: 1}}
train: {{length: 4 epochs, batch: 32, patience: null}}
"""
SPACE = """\
tune:
  searcher: {searcher}
  trials: {trials}
  seed: 1
  space:
    optimizer.learning_rate: {{type: log, min: 1e-3, max: 1e-1}}
    train.batch: [16, 32]
"""


def make_study(root: Path, *, searcher: str = "random", trials: int = 4) -> tuple[Path, Path]:
    """Write data, an experiment and a space."""
    draw = random.Random(0)
    with (root / "data.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["a", "b", "c", "y"])
        for _ in range(200):
            a, b, c = draw.gauss(0, 1), draw.gauss(0, 1), draw.choice("xyz")
            y = a + 0.5 * b + (c == "x") + draw.gauss(0, 0.5) > 0
            writer.writerow([round(a, 3), round(b, 3), c, "yes" if y else "no"])
    experiment, space = root / "experiment.yaml", root / "space.yaml"
    experiment.write_text(EXPERIMENT.format(data=root / "data.csv"))
    space.write_text(SPACE.format(searcher=searcher, trials=trials))
    return experiment, space


def outcome(study: Path) -> tuple[Any, str | None]:
    """Give the final table, and the digest of the best artifact."""
    table = json.loads((study / "study.json").read_text())
    if not table["best"]:
        return table, None
    files = sorted(path for path in find_artifact(str(study)).rglob("*") if path.is_file())
    return table, sha256(b"".join(path.name.encode() + path.read_bytes() for path in files)).hexdigest()
