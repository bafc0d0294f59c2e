"""Writes pairs of sentences in English, German and Spanish, the same ones each time."""

import json
import random
from pathlib import Path

NAMES = ("Maria", "Anna", "Martin", "Robert", "Laura", "Daniel", "Sophia", "Victor")
THINGS = {
    "en": ("a piano", "a guitar", "a tiger", "a hotel", "a taxi", "a radio"),
    "de": ("ein Piano", "eine Gitarre", "einen Tiger", "ein Hotel", "ein Taxi", "ein Radio"),
    "es": ("un piano", "una guitarra", "un tigre", "un hotel", "un taxi", "una radio"),
}
PREMISES = {"en": "{who} has {what}.", "de": "{who} hat {what}.", "es": "{who} tiene {what}."}
HYPOTHESES = {
    "entailment": {"en": "Yes, {what}.", "de": "Ja, {what}.", "es": "Sí, {what}."},
    "contradiction": {
        "en": "No, {who} has nothing.",
        "de": "Nein, {who} hat nichts.",
        "es": "No, {who} no tiene nada.",
    },
    "neutral": {"en": "Perhaps it is new?", "de": "Vielleicht gestern gekauft?", "es": "¿Quizás es nuevo?"},
}


def pair(draw: random.Random, language: str, label: str) -> dict[str, str]:
    """Say that someone has something, and go on from there."""
    said = {"who": draw.choice(NAMES), "what": draw.choice(THINGS[language])}
    texts = {"premise": PREMISES[language], "hypothesis": HYPOTHESES[label][language]}
    return {**{name: text.format(**said) for name, text in texts.items()}, "label": label}


if __name__ == "__main__":
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    files = (("en", "train", 80), *((name, "test", 20) for name in THINGS))
    for seed, (language, part, each) in enumerate(files):
        draw = random.Random(seed)
        rows = [pair(draw, language, label) for _ in range(each) for label in HYPOTHESES]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{part}.{language}.jsonl").write_text(lines, encoding="utf-8")
