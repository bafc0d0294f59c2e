"""Three small sets that one encoder can learn: moods of texts, how alike two are, and tags of words."""

import csv
import json
import random
from pathlib import Path

from burnish.commands.config import check
from burnish.config import Resolved
from tests.project import BAD, GOOD, PLAIN, write_rows

CONFIG = """\
task:
  type: multi
  sampling: uniform
  tasks:
    mood: {{type: text_classification, max_length: 24}}
    alike: {{type: text_classification, text: a, pair: b, label: score, kind: regression, max_length: 32}}
    tag: {{type: token_classification, max_length: 24}}
data:
  type: several
  sets:
    mood: {{train: {root}/mood.csv, validation: {root}/mood_dev.csv}}
    alike: {{train: {root}/alike.csv, validation: {root}/alike_dev.csv}}
    tag: {{train: {root}/tag.jsonl, validation: {root}/tag_dev.jsonl}}
model: {{name: {model}, dropout: 0}}
optimizer: {{learning_rate: 3e-3}}
train: {{length: 14 steps, batch: 8, evaluate_every: 7 steps, checkpoint_every: 4 steps, keep: 2}}
runtime: {{threads: 1, precision: fp32}}
"""


def write_sets(root: Path) -> None:
    """Write the training and validation rows of every set."""
    draw = random.Random(0)
    write_rows(root / "mood.csv", 72)
    write_rows(root / "mood_dev.csv", 24, seed=1)
    for name, count in (("alike.csv", 32), ("alike_dev.csv", 20)):
        with (root / name).open("w", newline="") as stream:
            csv.writer(stream).writerows([("a", "b", "score"), *(_pair(draw) for _ in range(count))])
    for name, count in (("tag.jsonl", 40), ("tag_dev.jsonl", 20)):
        (root / name).write_text("".join(json.dumps(_tagged(draw)) + "\n" for _ in range(count)))


def several(root: Path, model: Path, *overrides: str) -> Resolved:
    """Write rows and an experiment of all three tasks."""
    root.mkdir(parents=True, exist_ok=True)
    write_sets(root)
    path = root / "several.yaml"
    path.write_text(CONFIG.format(root=root, model=model))
    return check(str(path), overrides=overrides)


def _pair(draw: random.Random) -> tuple[str, str, int]:
    word, score = draw.choice(GOOD + BAD), draw.randint(0, 4)
    second = [word] * score + draw.choices(PLAIN, k=4 - score)
    return " ".join([word, *draw.choices(PLAIN, k=3)]), " ".join(second), score


def _tagged(draw: random.Random) -> dict[str, list[str]]:
    words = draw.choices(PLAIN + GOOD, k=draw.randint(3, 9))
    return {"words": words, "tags": ["B-NICE" if word in GOOD else "O" for word in words]}
