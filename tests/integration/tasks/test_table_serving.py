"""What a model is served with gives, bit for bit, what evaluation gave: every column kind, every format, 1,000 rows."""

import base64
import csv
import gzip
import io
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.config import check
from burnish.commands.predict import predict_file
from burnish.config.resolve import Resolved
from burnish.data.codecs.columns import FormatName
from burnish.data.codecs.example import Feature, serialise_example
from burnish.data.codecs.tfrecord import write_records
from burnish.report.collect import collect
from burnish.report.page import render
from burnish.run.finish import finish
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import settle_plan
from burnish.run.record.result import write_sheet
from burnish.tasks.tabular.encoder import unseen_cells
from tests.shared_data import shared_data
from tests.training import train_here

NUM_SERVED = 1000
QUICK = ("train.length=1 epoch", "task.importance=0", "runtime.threads=1", "data.split={validation: 200, test: null}")
Row = Mapping[str, str]


@dataclass(frozen=True)
class Served:
    """A trained model, the rows of its test file as they stand there, and what evaluation said of each."""

    predictor: Predictor
    run: Path
    rows: Sequence[Row]
    expected: np.ndarray[Any, Any]

    @property
    def names(self) -> list[str]:
        return list(self.predictor.input_columns)

    @property
    def cells(self) -> list[str]:
        """Name the cells of a row without names: those of the file but the target."""
        target = self.predictor.task.target
        return [name for name in self.rows[0] if name != target]


GENERATED = """
task:
  type: tabular
  target: tip
  columns:
    amount: {kind: number, normalise: quantile}
    skewed: {kind: number, normalise: log, default: 1.5}
    miles: {kind: number, normalise: robust, boundaries: [1, 2.5, 5]}
    minutes: {kind: number, mean: 20, variance: 100}
    pay: {kind: category, vocabulary: [Cash, Card], default: Cash}
    town: {kind: category, min_count: 3}
    member: boolean
    begin: {kind: datetime, parts: [elapsed, month, weekday, hour, minute]}
    shop: {kind: hash, buckets: 50}
    hour: {kind: identity, size: 20, default: "3"}
  derived:
    speed: miles / (fill(minutes, 1) / 60)
    is_late: hour(begin) >= 20
    card: if_(pay == "Card", 1, 0)
  crosses: [[pay, miles], [town, hour, member]]
  calibration: platt
  threshold: f1
model: tab_m
"""


def _generated_rows(count: int, *, seed: int) -> Iterator[dict[str, object]]:
    """Give rows with every kind of cell; later seeds hold words that the first one does not."""
    draw = random.Random(seed)
    for number in range(count):
        miles = round(draw.gammavariate(2, 2), 2)
        row: dict[str, object] = {
            "amount": draw.choice([round(draw.gauss(0, 1e4), 3), draw.randint(-5, 5), "1e3", "+7"]),
            "skewed": round(draw.expovariate(0.01), 1),
            "miles": miles,
            "minutes": draw.randint(0, 90),
            "pay": draw.choice(["Cash", "Card", "Card", "Dispute", " Card "]),
            "town": f"town {draw.randint(0, 9 + seed)}",
            "member": draw.choice(["yes", "no"]),
            "begin": f"2024-{draw.randint(1, 12):02d}-{1 + number % 28:02d} {draw.randint(0, 23)}:{number % 60:02d}",
            "shop": f"s{draw.randint(0, 300 + 100 * seed)}",
            "hour": draw.randint(0, 19 + 3 * seed),
        }
        for name in row:
            if draw.random() < 0.05:
                row[name] = draw.choice(["", "", "NA", "?", "nan"])
        if draw.random() < 0.02:
            row["amount"] = draw.choice(["inf", "-inf"])
        yield {**row, "tip": int((row["pay"] == "Card" and miles > 2) or draw.random() < 0.1)}


def _write(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _read(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _trained(experiment: str, options: Sequence[str], run: Path, test: Path) -> Served:
    _train(RunDirectory(run), check(experiment, overrides=[*options, *QUICK, f"data.test={test}"]))
    said = pq.read_table(run / "predictions" / "test.parquet")
    column = said["probabilities" if "probabilities" in said.column_names else "predicted"]
    with test.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert said["row"].to_pylist() == list(range(NUM_SERVED)) == list(range(len(rows)))
    return Served(Predictor.load(run / "artifact"), run, rows, np.array(column.to_pylist()))


def _train(run: RunDirectory, resolved: Resolved) -> None:
    """Train in this process and without baselines, which takes a third of the time."""
    settle_plan(run, resolved)
    trained = train_here(run)
    finished = finish(trained)
    write_sheet(run, finished.sheet)
    trained.run.sinks.close()


def _generated(folder: Path) -> Served:
    files = [_write(folder / f"{seed}.csv", [*_generated_rows(2000 - 1000 * seed, seed=seed)]) for seed in (0, 1)]
    experiment = folder / "tips.yaml"
    experiment.write_text(f"name: tips\n{GENERATED}")
    return _trained(str(experiment), [f"data.train={files[0]}"], folder / "run", files[1])


def _adult(folder: Path) -> Served:
    parts = {split: _read(shared_data("adult", f"{split}.csv.gz")) for split in ("train", "test")}
    files = [_write(folder / f"{split}.csv", rows[-NUM_SERVED * 2 :]) for split, rows in parts.items()]
    test = _write(files[1], parts["test"][:NUM_SERVED])
    options = [f"data.train={files[0]}", "model=wide_deep", "task.crosses=[[education, sex]]"]
    return _trained("adult", options, folder / "run", test)


def _chicago(folder: Path) -> Served:
    rows = _read(shared_data("chicago_taxi", "data.csv.gz"))
    files = [_write(folder / f"{at}.csv", rows[at : at + size]) for at, size in ((0, 2000), (9000, NUM_SERVED))]
    options = [f"data.train={files[0]}", "task.columns={trip_start_timestamp: datetime, tips: drop, big_tipper: drop}"]
    return _trained("taxi/fare", options, folder / "run", files[1])


MADE: Mapping[str, Callable[[Path], Served]] = {"generated": _generated, "adult": _adult, "chicago": _chicago}


@pytest.fixture(scope="module", params=list(MADE))
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return MADE[request.param](tmp_path_factory.mktemp(request.param))


def _typed(text: str) -> int | float | str | None:
    """Give a cell as a program would send it: null, a number, a text."""
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text) if np.isfinite(float(text)) else text
    except ValueError:
        return text


def _example(row: Row, names: Sequence[str]) -> bytes:
    """Give whole numbers as int64, others as float where 32 bits hold all their digits, and the rest as bytes."""
    features: dict[str, Feature] = {}
    for name in names:
        value = _typed(row[name])
        if isinstance(value, int) and not isinstance(value, bool):
            features[name] = Feature("int64", (value,))
        elif isinstance(value, float) and float(str(np.float32(value))) == value:
            features[name] = Feature("float", (value,))
        elif value is not None:
            features[name] = Feature("bytes", (row[name].encode(),))
    return serialise_example(features)


def _csv(rows: Sequence[Row], names: Sequence[str], *, has_header: bool) -> bytes:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, extrasaction="ignore", lineterminator="\n")
    if has_header:
        writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue().encode()


def _tfrecord(rows: Sequence[Row], names: Sequence[str]) -> bytes:
    stream = io.BytesIO()
    write_records(stream, [_example(row, names) for row in rows])
    return stream.getvalue()


def _objects(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, object]]:
    typed = [{name: _typed(row[name]) for name in reversed(names)} for row in rows]
    # A value that is not there may be null, or not be named at all.
    return [row if at % 2 else {n: v for n, v in row.items() if v is not None} for at, row in enumerate(typed)]


FORMS: Mapping[str, tuple[FormatName, Callable[[Sequence[Row], Sequence[str]], bytes]]] = {
    "objects": ("json", lambda rows, names: json.dumps(_objects(rows, names)).encode()),
    "lines": ("jsonl", lambda rows, names: "\n".join(map(json.dumps, _objects(rows, names))).encode()),
    "lists": ("json_lists", lambda rows, names: json.dumps([[_typed(r[n]) for n in names] for r in rows]).encode()),
    "csv": ("csv", lambda rows, names: _csv(rows, ["no such column", *sorted(names, reverse=True)], has_header=True)),
    "csv without header": ("csv_rows", lambda rows, names: _csv(rows, names, has_header=False)),
    "tfrecord": ("example", _tfrecord),
    "base64": ("example", lambda rows, names: b"\n".join(base64.b64encode(_example(r, names)) for r in rows)),
    "base64 in json": (
        "json",
        lambda rows, names: json.dumps([{"b64": base64.b64encode(_example(r, names)).decode()} for r in rows]).encode(),
    ),
}


def _said(served: Served, rows: Sequence[Row], form: str) -> np.ndarray[Any, Any]:
    format, write = FORMS[form]
    names = served.cells if format in ("json_lists", "csv_rows") else served.names
    body = answer(served.predictor, write(rows, names), format=format, allow_missing=True).body
    if format in ("csv", "csv_rows"):
        cells = list(csv.reader(io.StringIO(body.decode())))[format == "csv" :]
        return np.array([[float(cell) for cell in row[2 if len(row) > 1 else 0 :]] for row in cells])
    given = json.loads(body)["predictions"] if format in ("json", "json_lists") else map(json.loads, body.splitlines())
    return np.array(
        [[*each["probabilities"].values()] if "probabilities" in each else [each["predicted"]] for each in given]
    )


@pytest.mark.parametrize("form", list(FORMS))
def test_every_format_gives_what_evaluation_gave(served: Served, form: str) -> None:
    assert np.array_equal(_said(served, served.rows, form), served.expected.reshape(NUM_SERVED, -1))


@pytest.mark.parametrize("size", [1, 7])
def test_rows_served_alone_or_a_few_at_a_time_too(served: Served, size: int) -> None:
    starts = range(0, NUM_SERVED, NUM_SERVED // 20)
    said = [_said(served, served.rows[at : at + size], "objects") for at in starts]
    expected = [served.expected.reshape(NUM_SERVED, -1)[at : at + size] for at in starts]
    assert np.array_equal(np.concatenate(said), np.concatenate(expected))


def test_a_file_gives_it_too_with_its_columns_in_any_order(served: Served, tmp_path: Path) -> None:
    turned = [dict(reversed(row.items())) for row in served.rows]
    source, out = str(_write(tmp_path / "rows.csv", turned)), tmp_path / "said.parquet"
    predict_file(str(served.run), source=source, out=out, allow_missing=True)
    table = pq.read_table(tmp_path / "said.parquet")
    labels = served.predictor.profile.labels
    column = table["probabilities"].combine_chunks() if labels else None
    said = (
        [column.field(label).to_numpy() for label in labels] if column is not None else [table["predicted"].to_numpy()]
    )
    assert np.array_equal(np.column_stack(said), served.expected.reshape(NUM_SERVED, -1))


def test_missing_and_unseen_values_are_among_the_rows(served: Served) -> None:
    table = pa.table({name: [row[name] or None for row in served.rows] for name in served.names})
    assert unseen_cells(served.predictor.encoder.encode(table)) > 0
    assert sum(column.null_count for column in table.columns) > 0 or any("?" in row.values() for row in served.rows)


STRAY = """
name: stray
task: {type: tabular, target: fare, importance: 20}
data: {bad_rows: skip}
model: {type: 'tests.tiny_table_torch:TinyTable'}
train: {length: 2 epochs, batch: 32}
runtime: {threads: 1}
"""


def test_stray_cells_and_one_bad_target_neither_change_the_task_nor_stop_the_run(tmp_path: Path) -> None:
    rows = [{"miles": f"{1 + at * 0.37 % 9:.2f}", "fare": f"{3 + at * 0.74 % 18:.2f}"} for at in range(400)]
    rows[3]["miles"], rows[300]["miles"], rows[390]["miles"], rows[9]["fare"] = "n.a.", "-", "1,234.50", "NA"
    cuts = {"train": rows[:300], "validation": rows[300:320], "test": rows[320:]}
    files = {name: _write(tmp_path / f"{name}.csv", part) for name, part in cuts.items()}
    (tmp_path / "stray.yaml").write_text(STRAY)
    overrides = [f"data.{name}={path}" for name, path in files.items()]
    run = RunDirectory(tmp_path / "run")
    _train(run, check(str(tmp_path / "stray.yaml"), overrides=overrides))
    profile = json.loads(run.profile.read_text())
    assert profile["kind"] == "regression"
    assert profile["facts"]["notes"] == ["cells that cannot be read, taken as missing: miles 1 ('n.a.')"]
    (skipped,) = map(json.loads, (run.path / "skipped_rows.jsonl").read_text().splitlines())
    assert (skipped["line"], skipped["why"]) == (11, "target fare 'NA' is not a number")
    assert Predictor.load(run.artifact).predict([{"miles": 2}])[0].value is not None
    assert json.loads((run.artifact / "MANIFEST.json").read_text())["precision"] == "fp32"
    assert predict_file(str(run.path), source=str(files["test"]), out=tmp_path / "said.csv").table.num_rows == 80


def test_test_rows_of_one_class_and_enormous_cells_do_not_stop_the_run(tmp_path: Path) -> None:
    rows = [{"miles": f"{at * 0.37 % 9 + at % 2:.2f}", "fare": str(at % 2)} for at in range(200)]
    rows[5]["miles"], rows[125]["miles"] = "1.797e308", "-1.7e308"
    cuts = {"train": rows[:120], "validation": rows[120:160], "test": rows[160::2]}
    files = {name: _write(tmp_path / f"{name}.csv", part) for name, part in cuts.items()}
    (tmp_path / "stray.yaml").write_text(STRAY)
    run = RunDirectory(tmp_path / "run")
    _train(run, check(str(tmp_path / "stray.yaml"), overrides=[f"data.{name}={path}" for name, path in files.items()]))
    test = json.loads(run.scores.read_text(), parse_constant=pytest.fail)["scores"]["test"]
    assert test["roc_auc"] == {"value": None, "low": None, "high": None, "why": "the truth is `0` in every row"}
    assert test["accuracy"]["value"] is not None
    insights = json.loads(run.insights.read_text(), parse_constant=pytest.fail)
    assert insights["importance"] == {"miles": None}
    profile = json.loads(run.profile.read_text(), parse_constant=pytest.fail)
    assert profile["facts"]["notes"] == ["infinite values, taken as missing: miles 1"]
    page = render(collect(run))
    assert "Not defined: ROC-AUC on test, because the truth is `0` in every row." in page
