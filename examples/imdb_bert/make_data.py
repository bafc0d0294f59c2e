"""Writes a small stand-in for IMDB: reviews with a verdict somewhere in plain talk, the same ones each time."""

import csv
import random
from pathlib import Path

PLAIN = (
    "The film runs for two hours",
    "It was shot in the north of Spain",
    "The story begins in a small town by the sea",
    "My neighbour lent me the disc",
    "A detective looks for his brother",
    "The music comes from a string quartet",
    "We saw it on a rainy Sunday",
    "Most of it happens at night",
)
VERDICTS = {
    "pos": ("I loved every minute of it", "The acting is superb", "A warm and clever script", "I would see it again"),
    "neg": ("I regret every minute of it", "The acting is awful", "A dull and lazy script", "I wanted to walk out"),
}


def review(draw: random.Random, label: str) -> str:
    """Hide one or two sentences that tell among three that do not."""
    sentences = [*draw.sample(PLAIN, 3), *draw.sample(VERDICTS[label], draw.randint(1, 2))]
    draw.shuffle(sentences)
    return ". ".join(sentences) + "."


def write(path: Path, rows: int, *, seed: int) -> None:
    """Write as many reviews of each kind."""
    draw = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows([review(draw, label), label] for _ in range(rows // 2) for label in VERDICTS)


if __name__ == "__main__":
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    write(folder / "train.csv", 320, seed=1)
    write(folder / "test.csv", 120, seed=2)
