"""The files that the experiments of the documentation name, made small: the right columns, and something to learn."""

import csv
import gzip
import json
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.integration.tasks.rows import sentence
from tests.project import BAD, GOOD, PLAIN

Rows = Sequence[Mapping[str, Any]]

PAYMENTS = ("Credit Card", "Cash", "No Charge", "Dispute")


def write_documented(root: Path) -> None:
    """Write every file that an experiment of the documentation reads."""
    draw = random.Random(0)
    (root / "more").mkdir()
    _write_reviews(root, draw)
    _write_pairs(root, draw)
    _write_language(root, draw)
    _write_trips(root, draw)
    _write_rents(root, draw)


def _write_reviews(root: Path, draw: random.Random) -> None:
    _csv(root / "reviews.csv", _reviews(draw, 160))
    _jsonl(root / "more" / "reviews.jsonl.gz", _reviews(draw, 20))
    pq.write_table(pa.Table.from_pylist(_reviews(draw, 40)), root / "held_out.parquet")
    parts = ("train", "train", "dev", "test")
    _csv(root / "everything.csv", [{**row, "part": parts[at // 2 % 4]} for at, row in enumerate(_reviews(draw, 160))])
    rotten = [
        {"genres": ("Drama", "War")[at % 2], "runtime": 80 + at % 50, "review": row["text"], "recommended": at % 2}
        for at, row in enumerate(_reviews(random.Random(1), 120))  # its own, so that what follows is as it was
    ]
    _csv(root / "rotten.csv", rotten)
    with gzip.open(root / "polarity.tsv.gz", "wt") as stream:
        stream.writelines(f"{row['label']}\t{row['text']}\n" for row in _reviews(draw, 160))
    films = [
        {"plot": row["text"], "genres": ("war", "war;drama")[at % 2]} for at, row in enumerate(_reviews(draw, 120))
    ]
    _csv(root / "films.csv", films)
    tickets = [
        {
            **row,
            "price": round(draw.gauss(20, 5), 2),
            "product": ("kettle", "lamp", "chair")[at % 3],
            "bought": f"2024-03-{1 + at % 28:02d}",
        }
        for at, row in enumerate(_reviews(draw, 120))
    ]
    _jsonl(root / "tickets.jsonl", tickets)


def _write_pairs(root: Path, draw: random.Random) -> None:
    for name in ("train.en", "dev.en", "test.en", "dev.de", "test.de", "test.sw"):
        pairs = ({"premise": a, "hypothesis": b, "label": ("no", "yes")[alike]} for a, b, alike in _alike(draw, 60))
        _jsonl(root / f"{name}.jsonl", list(pairs))
    for name in ("pairs", "pairs-dev"):
        rows = [
            {"sentence1": a, "sentence2": b, "score": 4.5 * alike, "first": a, "second": b, "label": alike}
            for a, b, alike in _alike(draw, 80)
        ]
        _csv(root / f"{name}.csv", rows)
    questions = [{"question": f"{a} {at}", "answer": f"{b} {at}"} for at, (a, b, _) in enumerate(_alike(draw, 80))]
    _csv(root / "questions.csv", questions)
    articles = [{"article": f"{a} {b}", "headline": a} for a, b, _ in _alike(draw, 60)]
    _csv(root / "articles.csv", articles)
    _jsonl(root / "quiz.jsonl", [_quiz(draw, at % 2) for at in range(80)])
    for name in ("train", "dev"):
        paragraphs = [_paragraph(draw, f"{name}{at}") for at in range(60)]
        document = {"version": "1.1", "data": [{"title": name, "paragraphs": paragraphs}]}
        (root / f"{name}-v1.1.json").write_text(json.dumps(document))


def _write_language(root: Path, draw: random.Random) -> None:
    (root / "corpus.txt").write_text("\n".join(sentence(draw, GOOD) for _ in range(80)) + "\n")
    for name in ("train.txt", "train.conll", "dev.conll"):
        sentences = [sentence(draw, GOOD).split() for _ in range(60)]
        lines = ("\n".join(f"{word} NN {'B-ORG' if word in GOOD else 'O'}" for word in words) for words in sentences)
        (root / name).write_text("\n\n".join(lines) + "\n")


def _write_trips(root: Path, draw: random.Random) -> None:
    trips = [_trip(draw) for _ in range(800)]
    _csv(root / "trips.csv", [_renamed(row, big_tipper="big_tipper") for row in trips])
    _csv(root / "rides.csv", [_renamed(row, tips="tips") for row in trips])
    _csv(root / "taxi_trips_train.csv", [_renamed(row, big_tipper="tip") for row in trips[:600]])
    _csv(root / "taxi_trips_eval.csv", [_renamed(row, big_tipper="tip") for row in trips[600:]])


def _write_rents(root: Path, draw: random.Random) -> None:
    """Flats of middling size find someone soon; the file is as a German Excel saves it."""
    lines = ["Straße;Größe_m2;Miete;vermietet"]
    for at in range(800):
        size = draw.uniform(15, 180)
        rent, is_let = size * draw.gauss(12, 1), draw.random() < (0.95 if 50 < size < 110 else 0.05)
        german = (f"{value:,.2f}".translate(str.maketrans(",.", ".,")) for value in (size, rent))
        lines.append(";".join((f"Königsallee {at}", *german, ("nein", "ja")[is_let])))
    (root / "mieten.csv").write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))


def _renamed(row: Mapping[str, Any], **answers: str) -> dict[str, Any]:
    """Keep of the columns that give the answer only these, under these names."""
    return {answers.get(key, key): row[key] for key in row if key in answers or key not in ("tips", "big_tipper")}


def _reviews(draw: random.Random, count: int) -> list[dict[str, Any]]:
    return [
        {"text": sentence(draw, (BAD, GOOD)[at % 2]), "label": ("neg", "pos")[at % 2], "user_id": f"u{at % 40}"}
        for at in range(count)
    ]


def _alike(draw: random.Random, count: int) -> list[tuple[str, str, int]]:
    """Two sentences in the same mood are alike."""
    kinds = [(draw.choice((GOOD, BAD)), at % 2) for at in range(count)]
    other = {GOOD: BAD, BAD: GOOD}
    return [(sentence(draw, first), sentence(draw, first if alike else other[first]), alike) for first, alike in kinds]


def _quiz(draw: random.Random, right: int) -> dict[str, Any]:
    answers = [draw.choice((BAD, GOOD)[at == right]) for at in range(2)]
    return {"passage": sentence(draw, PLAIN), "question": "is the film", "answers": answers, "right": right}


def _paragraph(draw: random.Random, name: str) -> dict[str, Any]:
    before, word = " ".join(draw.choices(PLAIN, k=draw.randint(1, 6))), draw.choice(GOOD)
    answer = {"text": word, "answer_start": len(before) + 1}
    return {
        "context": f"{before} {word} {' '.join(draw.choices(PLAIN, k=4))}",
        "qas": [{"id": name, "question": "the film is", "answers": [answer]}],
    }


def _trip(draw: random.Random) -> dict[str, Any]:
    """People who pay by card tip well on rides of middling length, more so in the evening."""
    miles, hour, payment = round(draw.gammavariate(2, 3), 2), draw.randrange(24), draw.choice(PAYMENTS)
    wish = 3 * (payment == "Credit Card") - 1.5 + 2 * math.sin(miles / 2) + 1.5 * (hour >= 17)
    is_big = int(draw.random() < 1 / (1 + math.exp(-2 * wish)))
    fare = round(3 + 2.2 * miles, 2)
    places = {
        f"{end}_{what}": round(draw.gauss(centre, 0.1), 3)
        for end in ("pickup", "dropoff")
        for what, centre in (("latitude", 41.9), ("longitude", -87.6))
    }
    areas = {f"{end}_community_area": draw.randint(1, 9) for end in ("pickup", "dropoff")}
    tracts = {f"{end}_census_tract": draw.randint(170310, 170315) for end in ("pickup", "dropoff")}
    return {
        "trip_miles": miles,
        "trip_seconds": round(miles * draw.gauss(180, 20)) + 60,
        "fare": fare,
        "trip_start_month": draw.randint(1, 12),
        "trip_start_hour": hour,
        "trip_start_day": draw.randint(1, 7),
        **areas,
        **tracts,
        **places,
        "payment_type": payment,
        "company": draw.choice(("Blue", "Red", "Flash", "Yellow")),
        "tips": round(fare * (0.25 if is_big else 0.1), 2),
        "big_tipper": is_big,
    }


def _csv(path: Path, rows: Rows) -> None:
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _jsonl(path: Path, rows: Rows) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
