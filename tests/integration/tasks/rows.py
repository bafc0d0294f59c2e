"""Rows of the exams: sentences of the words that the tiny models know, and files of them."""

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.project import PLAIN


def sentence(draw: random.Random, words: tuple[str, ...], *, longest: int = 7) -> str:
    """Hide two telling words among plain ones."""
    chosen = [*draw.choices(PLAIN, k=draw.randint(1, longest)), *draw.choices(words, k=2)]
    draw.shuffle(chosen)
    return " ".join(chosen)


def write_parts(root: Path, rows: Sequence[Mapping[str, Any]], *, validation: int = 24) -> None:
    """Write JSON lines: the last rows into dev.jsonl, those before them into train.jsonl."""
    for name, part in (("train", rows[:-validation]), ("dev", rows[-validation:])):
        (root / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))


def change_lines(path: Path, changes: Mapping[int, Mapping[str, Any]]) -> None:
    """Change fields of the rows at these lines, counted from 1, of a file of JSON lines."""
    lines = path.read_text().splitlines()
    for number, fields in changes.items():
        lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | fields)
    path.write_text("\n".join(lines) + "\n")
