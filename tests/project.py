"""A small project on disk: a tiny model, rows that can be learned, and a config; for tests that train for real."""

import csv
import random
from dataclasses import dataclass
from pathlib import Path

GOOD = ("good", "fine", "warm", "funny")
BAD = ("bad", "dull", "cold", "boring")
PLAIN = ("a", "film", "with", "the", "cast", "plot", "story", "is", "and")


@dataclass(frozen=True)
class Project:
    """Where things are."""

    root: Path
    config: Path
    data: Path

    def run(self, name: str) -> Path:
        """Give the directory of a run."""
        return self.root / "runs" / name


def make_project(root: Path, *, model: Path, rows: int = 352, config: str = "") -> Project:
    """Write data and a config; `config` is YAML that is put beneath the usual sections."""
    root.mkdir(parents=True, exist_ok=True)
    data = root / "data.csv"
    write_rows(data, rows)
    path = root / "experiment.yaml"
    path.write_text(
        f"name: small\n"
        f"task: {{type: text_classification, max_length: 24}}\n"
        f"data: {{train: {data}, split: {{validation: 32, test: 64}}}}\n"
        f"model: {model}\n"
        f"runtime: {{threads: 1, precision: fp32}}\n"
        f"{config or DEFAULT}"
    )
    return Project(root, path, data)


DEFAULT = """\
optimizer: {learning_rate: 3e-3}
train: {length: 2 epochs, batch: 8}
"""


def write_rows(path: Path, count: int, *, seed: int = 0) -> None:
    """Write sentences in which a few telling words give the label away."""
    draw = random.Random(seed)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        for number in range(count):
            label = number % 2
            words = draw.choices(PLAIN, k=draw.randint(1, 12)) + draw.choices(
                GOOD if label else BAD, k=draw.randint(2, 4)
            )
            draw.shuffle(words)
            writer.writerow([" ".join(words), ("neg", "pos")[label]])
