"""Writes small CoNLL files: news of people, places and companies that never were, the same ones each time."""

import random
from pathlib import Path

NAMES = {
    "PER": ("Ada Berg", "Bruno Castro", "Clara Dahl", "Diego", "Elena Fuchs", "Farid", "Greta Horn", "Hugo Lund"),
    "LOC": ("Lisbon", "Oslo", "New York", "Turin", "Cork", "Basel", "Porto Alegre", "Bergen", "Graz"),
    "ORG": ("Nordlicht AG", "Blue Harbour", "Acme", "Casa Verde", "Orion Bank", "Tidewater", "Kestrel Air"),
}
PATTERNS = (
    "{PER} flew from {LOC} to {LOC} .",
    "{ORG} opens an office in {LOC} .",
    "Shares of {ORG} fell after {PER} left .",
    "{PER} of {ORG} met {PER} on Monday .",
    "It rained in {LOC} all week .",
    "Nobody asked {PER} about the plan .",
)


def sentence(draw: random.Random) -> str:
    """Fill a pattern; each line is a word and its tag."""
    lines = []
    for word in draw.choice(PATTERNS).split():
        kind = word.strip("{}")
        if kind in NAMES:
            parts = draw.choice(NAMES[kind]).split()
            lines += [f"{part} {'I' if at else 'B'}-{kind}" for at, part in enumerate(parts)]
        else:
            lines.append(f"{word} O")
    return "\n".join(lines)


if __name__ == "__main__":
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    for part, count, seed in (("train", 300, 5), ("valid", 60, 6), ("test", 60, 7)):
        draw = random.Random(seed)
        text = "\n\n".join(sentence(draw) for _ in range(count))
        (folder / f"{part}.txt").write_text(text + "\n")
