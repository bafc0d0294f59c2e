"""Writes a small MNLI in GLUE's files, and its training rows as TFRecords of tf.train.Example; the same each time."""

import random
from pathlib import Path

import pyarrow as pa

from burnish.data.codecs.example import write_examples

NAMES = ("Maria", "Anna", "Martin", "Robert", "Laura", "Daniel", "Sophia", "Victor")
THINGS = ("a piano", "a guitar", "a tiger", "a hotel", "a taxi", "a radio", "a garden", "a telescope")
HYPOTHESES = {
    "entailment": ("Somebody has {what}.", "It is true that there is {what}."),
    "contradiction": ("{who} owns nothing at all.", "There never was {what}."),
    "neutral": ("{who} got it last year.", "Perhaps it is for sale."),
}


def pair(draw: random.Random, label: str) -> dict[str, str]:
    """Say that someone has something, and go on from there."""
    said = {"who": draw.choice(NAMES), "what": draw.choice(THINGS)}
    return {
        "sentence1": "{who} has {what}.".format(**said),
        "sentence2": draw.choice(HYPOTHESES[label]).format(**said),
        "gold_label": label,
    }


def write_tsv(path: Path, rows: list[dict[str, str]], names: tuple[str, ...]) -> None:
    """Write what GLUE publishes: a header, tabs, no quotes."""
    lines = ["\t".join((str(at), *(row[name] for name in names))) for at, row in enumerate(rows)]
    path.write_text("\n".join(["\t".join(("index", *names)), *lines]) + "\n")


if __name__ == "__main__":
    folder, names = Path("data/MNLI"), ("sentence1", "sentence2", "gold_label")
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": 100, "dev_matched": 20, "dev_mismatched": 20, "test_matched": 10}
    for seed, (part, each) in enumerate(parts.items()):
        draw = random.Random(seed)
        rows = [pair(draw, label) for _ in range(each) for label in HYPOTHESES]
        write_tsv(folder / f"{part}.tsv", rows, names if "test" not in part else names[:2])
        if part in ("train", "dev_matched"):
            with (folder.parent / f"{part}.tfrecord").open("wb") as stream:
                write_examples(stream, pa.Table.from_pylist(rows))
