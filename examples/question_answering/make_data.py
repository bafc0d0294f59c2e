"""Writes small files in SQuAD's JSON, 1.1 and 2.0: lives of people who never were, the same ones each time."""

import json
import random
from pathlib import Path
from typing import Any

FIRST = ("Ada", "Bruno", "Clara", "Diego", "Elena", "Farid", "Greta", "Hugo", "Ingrid", "Jonas", "Kira", "Leon")
LAST = ("Abel", "Berg", "Castro", "Dahl", "Ekman", "Fuchs", "Gallo", "Horn", "Ivers", "Jensen", "Klein", "Lund")
TOWNS = ("Lisbon", "Oslo", "Ghent", "Turin", "Cork", "Basel", "Lyon", "Porto", "Bergen", "Graz", "Malmo", "Seville")
TRADES = ("painter", "surgeon", "pilot", "printer", "teacher", "composer", "botanist", "carpenter")


def paragraph(draw: random.Random, name: str, *, has_impossible: bool) -> dict[str, Any]:
    """Tell a life in three sentences, and ask about it."""
    person, trade = f"{draw.choice(FIRST)} {draw.choice(LAST)}", draw.choice(TRADES)
    born, home = draw.sample(TOWNS, 2)
    year = str(draw.randint(1820, 1990))
    told = [
        f"{person} was born in {born}.",
        f"In {year} the family moved to {home}.",
        f"There {person} became a {trade}.",
    ]
    context = " ".join(told)
    asked = [
        (f"Where was {person} born?", born),
        ("When did the family move?", year),
        (f"Which trade did {person} learn?", trade),
        *([("Who was the first teacher?", None)] if has_impossible else []),
    ]
    qas = [question(context, text, answer, f"{name}-{at}", has_impossible) for at, (text, answer) in enumerate(asked)]
    return {"context": context, "qas": qas}


def question(context: str, text: str, answer: str | None, name: str, has_impossible: bool) -> dict[str, Any]:
    """Write a question with its place in the text; SQuAD 2.0 says of each whether it has an answer."""
    answers = [] if answer is None else [{"text": answer, "answer_start": context.index(answer)}]
    impossible = {"is_impossible": answer is None} if has_impossible else {}
    return {"id": name, "question": text, "answers": answers, **impossible}


def main() -> None:
    """Write a file to learn from and one to be judged by, of each version."""
    folder = Path("data")
    folder.mkdir(exist_ok=True)
    for version, has_impossible in (("1.1", False), ("2.0", True)):
        for part, paragraphs, seed in (("train", 45, 3), ("dev", 15, 4)):
            draw = random.Random(seed)
            told = [paragraph(draw, f"{part}{at}", has_impossible=has_impossible) for at in range(paragraphs)]
            document = {"version": version, "data": [{"title": "Lives", "paragraphs": told}]}
            (folder / f"{part}-v{version}.json").write_text(json.dumps(document))


if __name__ == "__main__":
    main()
