"""Writes a stand-in for WikiText-2, articles of made-up towns, and one for SST-2 about them; the same each time."""

import random
from pathlib import Path

TOWNS = ("Arden", "Belmont", "Corvin", "Dunmore", "Elswick", "Fairlie", "Garston", "Hexham")
FACTS = (
    "{town} lies on the north bank of a river .",
    "The first bridge of {town} was built of wood .",
    "In winter the market of {town} is held indoors .",
    "A railway connects {town} with {other} .",
    "The old mill of {town} is a museum today .",
    "Most families of {town} once lived from fishing .",
    "A fire destroyed the church of {other} in spring .",
)
VIEWS = {1: ("lovely", "charming", "delightful", "friendly"), 0: ("dreary", "filthy", "tedious", "hostile")}


def article(draw: random.Random) -> str:
    """Write a heading, and two paragraphs of a few sentences, as WikiText has them."""
    town, other = draw.sample(TOWNS, 2)
    paragraphs = [" ".join(fact.format(town=town, other=other) for fact in draw.sample(FACTS, 4)) for _ in range(2)]
    return "\n \n".join([f" = {town} = ", *(f" {each} " for each in paragraphs)])


def review(draw: random.Random, label: int) -> str:
    """Write a sentence with a word that tells."""
    place = draw.choice(("mill", "market", "bridge", "church"))
    return f"the {place} of {draw.choice(TOWNS)} is {draw.choice(VIEWS[label])}"


if __name__ == "__main__":
    draw = random.Random(12)
    wiki, sst2 = Path("data/wikitext2"), Path("data/sst2")
    for folder in (wiki, sst2):
        folder.mkdir(parents=True, exist_ok=True)
    for part, count in (("train", 100), ("valid", 15), ("test", 15)):
        (wiki / f"wiki.{part}.raw").write_text("\n \n".join(article(draw) for _ in range(count)) + "\n")
    for part, count in (("train", 80), ("dev", 30)):
        rows = [f"{review(draw, label)}\t{label}" for _ in range(count) for label in VIEWS]
        (sst2 / f"{part}.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
