"""Writes small files in SWAG's columns: what happens next, out of four endings; the same ones each time."""

import csv
import random
from pathlib import Path

SCENES = {
    "cooks a soup": ("tastes it with a spoon", "serves it in bowls", "adds a pinch of salt"),
    "washes the car": ("dries it with a cloth", "rinses the windows", "empties the bucket"),
    "tunes a guitar": ("plays a first chord", "tightens a string", "hums the melody"),
    "plants a tree": ("waters the roots", "fills the hole with earth", "ties it to a stake"),
    "reads a letter": ("folds it again", "looks for the envelope", "answers it at once"),
    "repairs a bike": ("pumps up the tyre", "oils the chain", "tries the brakes"),
}
WHO = ("Ann", "Someone", "A man", "My aunt", "The girl", "An old lady", "Tom")
WHERE = ("in the yard", "on a Sunday", "at home", "after lunch", "with great care", "in the evening")


def scene(draw: random.Random) -> dict[str, str | int]:
    """Tell a beginning; one ending belongs to it, three belong to others."""
    doing = draw.choice(sorted(SCENES))
    others = draw.sample(sorted(set(SCENES) - {doing}), 3)
    right = draw.randrange(4)
    endings = [draw.choice(SCENES[other]) for other in others]
    endings.insert(right, draw.choice(SCENES[doing]))
    first = f"{draw.choice(WHO)} {doing} {draw.choice(WHERE)}."
    return {
        "sent1": first,
        "sent2": "Then she",
        **{f"ending{at}": end for at, end in enumerate(endings)},
        "label": right,
    }


if __name__ == "__main__":
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    for part, count, seed in (("train", 320, 8), ("validation", 80, 9)):
        draw = random.Random(seed)
        rows = [scene(draw) for _ in range(count)]
        with (folder / f"{part}.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
