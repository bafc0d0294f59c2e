"""Writes small files as people have them, the same each time: ten tables and five sets of texts, 150 to 2,000 rows."""

import csv
import gzip
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

Rows = Iterable[Sequence[object]]
_GROUPS = ("rec.autos", "sci.space", "comp.graphics", "talk.politics.mideast")
_GROUP_ROWS = 200
_MOST_WORDS = 100
"""Longer posts are left out, so that a run takes minutes."""
_SLIP_EVERY = 12
"""Of so many tickets, one has a priority that its words do not show."""
_SUBJECTS = {
    "high": ("cannot log in at all", "site is down", "payment failed twice", "data is gone", "checkout broken"),
    "medium": ("slow since monday", "wrong total on invoice", "email arrives late", "export lacks a column"),
    "low": ("question about my plan", "typo on the help page", "idea for the app", "change my address"),
}
_OPENINGS = ("hello team,", "hi,", "good morning,", "dear support,", "again me,")
_BODIES = {
    "high": (
        "nobody in our office can work",
        "customers are waiting and we lose orders",
        "everything stopped an hour ago",
    ),
    "medium": ("it happens every few hours", "we found a way around it", "it costs us some time each day"),
    "low": ("no hurry at all", "whenever you have time", "just so that you know"),
}
_CLOSINGS = ("thanks a lot.", "please look at it.", "we use the web version.", "see the picture.", "call me if needed.")


def small_files(shared: Path, folder: Path) -> tuple[dict[str, Path], dict[str, Path]]:
    """Write the tables and the texts, and give their files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    tables, texts = _tables(shared), _texts(shared)
    return tuple(  # type: ignore[return-value]  # two of them
        {name: _written(folder / f"{name}.csv", make) for name, make in made.items()} for made in (tables, texts)
    )


def _written(path: Path, make: Callable[[], Rows]) -> Path:
    if not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(make())
    return path


def _tables(shared: Path) -> dict[str, Callable[[], Rows]]:
    return {
        "iris": lambda: _loaded(datasets.load_iris()),
        "wine": lambda: _loaded(datasets.load_wine()),
        "moons": lambda: _generated(*datasets.make_moons(300, noise=0.25, random_state=0)),
        "synthetic_classes": lambda: _generated(
            *datasets.make_classification(400, n_features=20, n_informative=5, flip_y=0.05, random_state=0)
        ),
        "diabetes": lambda: _loaded(datasets.load_diabetes(scaled=False)),
        "friedman": lambda: _generated(*datasets.make_friedman1(500, noise=1.0, random_state=0)),
        "breast_cancer": lambda: _loaded(datasets.load_breast_cancer()),
        "digits": lambda: _loaded(datasets.load_digits()),
        "adult": lambda: _some(_csv(shared / "adult/train.csv.gz"), 2000),
        "california": lambda: _some(_target_last(_csv(shared / "california_housing/housing.csv.gz")), 2000),
    }


def _texts(shared: Path) -> dict[str, Callable[[], Rows]]:
    return {
        "tickets": _tickets,
        "sst2": lambda: _some(_sst2(shared), 400),
        "newsgroups": lambda: _newsgroups(shared),
        "movie_sentences": lambda: _some(_movie_sentences(shared), 1000),
        "cola": lambda: _some(_cola(shared), 2000),
    }


def _loaded(bunch: Any) -> Rows:
    return _generated(bunch.data, bunch.target, names=list(bunch.feature_names))


def _generated(inputs: Any, target: Any, names: Sequence[str] | None = None) -> Rows:
    yield [*(names or [f"x{at}" for at in range(inputs.shape[1])]), "target"]
    for values, answer in zip(inputs.tolist(), target.tolist(), strict=True):
        yield [*(f"{value:.6g}" for value in values), f"{answer:.6g}"]


def _some(rows: Rows, number: int) -> Rows:
    """Keep the header and so many rows, chosen by chance."""
    header, *rest = rows
    kept = np.sort(np.random.default_rng(0).choice(len(rest), number, replace=False))
    return [header, *(rest[at] for at in kept)]


def _csv(path: Path, **how: Any) -> Rows:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        yield from csv.reader(file, **how)


def _target_last(rows: Rows, target: str = "median_house_value") -> Rows:
    header, *rest = map(list, rows)
    order = [*(at for at, name in enumerate(header) if name != target), header.index(target)]
    return [[row[at] for at in order] for row in (header, *rest)]


def _sst2(shared: Path) -> Rows:
    return _csv(shared / "glue/SST-2/train.tsv.gz", delimiter="\t", quoting=csv.QUOTE_NONE)


def _cola(shared: Path) -> Rows:
    rows = _csv(shared / "glue/CoLA/train.tsv.gz", delimiter="\t", quoting=csv.QUOTE_NONE)
    return itertools.chain([("sentence", "label")], ((row[3], row[1]) for row in rows))


def _movie_sentences(shared: Path) -> Rows:
    rows = _csv(shared / "movie_review_sentences/rt-polarity.tsv.gz", delimiter="\t", quoting=csv.QUOTE_NONE)
    return itertools.chain([("sentence", "label")], ((row[1], row[0]) for row in rows))


def _newsgroups(shared: Path) -> Rows:
    """Take the short posts of four groups, without their headers and without what they quote."""
    yield "text", "label"
    left = dict.fromkeys(_GROUPS, _GROUP_ROWS)
    with gzip.open(shared / "20newsgroups/train.jsonl.gz", "rt", encoding="utf-8") as file:
        for post in map(json.loads, file):
            text = _own_words(post["text"])
            if left.get(post["label"], 0) and 10 <= len(text.split()) <= _MOST_WORDS:
                left[post["label"]] -= 1
                yield text, post["label"]


def _own_words(post: str) -> str:
    body = post.partition("\n\n")[2]
    lines = [line for line in body.splitlines() if not re.match(r"\s*[>|:]|.*(writes|wrote|says):?\s*$", line)]
    return " ".join(" ".join(lines).split())


def _tickets() -> Rows:
    """Make 400 tickets whose subject says as much as their body, a few with a priority by mistake."""
    draw = np.random.default_rng(0)
    yield "subject", "body", "priority"
    for number in range(400):
        meant: Mapping[str, str] = {part: str(draw.choice(list(_SUBJECTS))) for part in ("subject", "other")}
        priority = meant["subject"]
        stated = meant["other"] if number % _SLIP_EVERY == 0 else priority
        body = [
            draw.choice(each) for each in (_OPENINGS, _BODIES[priority if number % 3 else meant["other"]], _CLOSINGS)
        ]
        yield draw.choice(_SUBJECTS[priority if number % 4 else meant["other"]]), " ".join(body), stated
