"""Writes short reviews in which a few words tell the verdict, the same ones each time."""

import csv
import random
from pathlib import Path

WORDS = {"pos": ("good", "fine", "warm", "funny"), "neg": ("bad", "dull", "cold", "boring")}
PLAIN = ("a", "film", "with", "the", "cast", "plot", "story", "is", "and")


def review(draw: random.Random, label: str) -> str:
    """Mix telling words among others."""
    words = [*draw.choices(PLAIN, k=draw.randint(3, 12)), *draw.choices(WORDS[label], k=draw.randint(1, 3))]
    draw.shuffle(words)
    return " ".join(words)


if __name__ == "__main__":
    draw = random.Random(7)
    with Path("reviews.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["text", "label"])
        writer.writerows([review(draw, label), label] for _ in range(150) for label in WORDS)
