"""A value that every training row had is asked for at every door, unless missing values are allowed."""

import json
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pyarrow as pa
import pytest

import burnish
from burnish.artifact.answering import answer
from burnish.artifact.predictor import Predictor
from burnish.commands.predict import predict, predict_file
from burnish.commands.train import train
from burnish.durable import read_json
from burnish.errors import DataError
from tests.harness.server import RunningServer, running_server

CONFIG = """
task:
  type: tabular
  target: left
  columns: {zone: {kind: category, default: north}}
  derived: {ratio: debt / income}
data: {train: rows.csv, split: {validation: 20%}}
model: linear
train: {length: 20 steps, batch: 20}
runtime: {threads: 1, precision: fp32}
"""
WHOLE = {"income": 12.5, "debt": 3, "since": "2024-03-01", "plan": "basic", "note": "a", "zone": "south"}
OPTIONAL = ("note", "zone")
NEEDED = ("debt", "income", "plan", "since")
CLI = [sys.executable, "-m", "burnish"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose rows all have a value in four columns, and in another but for a few; a last one has a default."""
    root, draw = tmp_path_factory.mktemp("missing"), Random(1)
    lines = ["income,debt,since,plan,note,zone,left"]
    for at in range(200):
        income = draw.uniform(10, 90)
        cells = [f"{income:.2f}", str(draw.randrange(9)), f"2024-{1 + at % 12:02d}-{1 + at % 28:02d}"]
        cells += [
            draw.choice(["basic", "plus"]),
            "" if at % 10 == 0 else draw.choice("ab"),
            draw.choice(["north", "south"]),
        ]
        lines.append(",".join([*cells, "yes" if income > 50 else "no"]))
    (root / "rows.csv").write_text("\n".join(lines) + "\n")
    (root / "config.yaml").write_text(CONFIG.lstrip().replace("rows.csv", str(root / "rows.csv")))
    train(root / "config.yaml", directory=root / "run")
    sys.modules["torch"].set_flush_denormal(False)
    return root


@pytest.fixture(scope="module")
def predictor(folder: Path) -> Predictor:
    return Predictor.load(folder / "run" / "artifact")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[RunningServer]:
    with running_server("run", "--deadline", "30", directory=folder, log=folder / "server.log") as running:
        yield running


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in WHOLE.items() if name not in names}


def test_the_signature_says_which_inputs_are_required(predictor: Predictor) -> None:
    required = {field.name for field in predictor.signature.inputs if field.is_required}
    assert required == set(NEEDED)


@pytest.mark.parametrize("absent", [None, "", "?", float("nan")], ids=str)
@pytest.mark.parametrize("name", NEEDED)
def test_rows_without_a_value_are_refused(folder: Path, name: str, absent: object) -> None:
    model = burnish.load(folder / "run")
    rows = [WHOLE, {**WHOLE, name: absent}]
    with pytest.raises(DataError, match=rf"a value is missing that every training row had\n  {name}: in 1 of 2 rows"):
        model.predict(rows)
    frame = pa.table({key: [str(WHOLE[key]), None if key == name else str(WHOLE[key])] for key in WHOLE})
    with pytest.raises(DataError, match=f"{name}: in 1 of 2 rows"):
        model.predict(frame)


def test_all_columns_are_named_at_once_with_what_was_given_instead(folder: Path) -> None:
    row = {**without("income", "plan"), "incme": 12.5}
    said = (
        r"values of 2 columns are missing that every training row had\n"
        r"  income: in the only row\. Was it given as `incme`\?\n  plan: "
    )
    for door in (lambda: burnish.load(folder / "run").predict([row]), lambda: predict(str(folder / "run"), [row])):
        with pytest.raises(DataError, match=said) as refused:
            door()
        assert "--allow-missing (in Python allow_missing=True)" in str(refused.value)
    with pytest.raises(DataError, match=said):
        burnish.load(folder / "run").predict(pa.Table.from_pylist([row]))


@pytest.mark.parametrize("name", OPTIONAL)
def test_what_training_rows_lacked_too_and_what_has_a_default_may_be_missing(folder: Path, name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [alone] = burnish.load(folder / "run").predict([without(name)])
        [null] = burnish.load(folder / "run").predict([{**WHOLE, name: None}])
    assert alone == null


def test_where_it_is_allowed_there_is_an_answer_and_a_note(folder: Path) -> None:
    model = burnish.load(folder / "run")
    note = r"`income` is missing in the only row, and every training row had it; its median is used"
    with pytest.warns(RuntimeWarning, match=note):
        [found] = model.predict([without("income")], allow_missing=True)
    with pytest.warns(RuntimeWarning, match=note):
        again = model.predict(pa.Table.from_pylist([without("income")]), allow_missing=True)
    assert again["predicted"].to_pylist() == [found.label]


def test_a_file_is_refused_too_and_answered_with_notes(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "new.csv"
    path.write_text("debt,since,plan,note,zone\n1,2024-03-01,basic,a,south\n1,2024-03-02,,a,south\n")
    with pytest.raises(DataError, match=r"income: in all 2 rows\n  plan: in 1 of 2 rows"):
        predict_file(str(folder / "run"), source=str(path))
    found = predict_file(str(folder / "run"), source=str(path), allow_missing=True)
    assert found.notes == (
        "`plan` is missing in 1 of 2 rows, and every training row had it; it counts as missing",
        f"`income` is not in {path}; its median is used in all 2 rows",
    )


PAYLOADS = {
    "json": json.dumps([without("income", "plan")]).encode(),
    "jsonl": json.dumps(without("income", "plan")).encode() + b"\n",
    "csv": b"debt,since,note,zone\n3,2024-03-01,a,south\n",
}


@pytest.mark.parametrize("format", PAYLOADS)
def test_a_payload_is_refused_in_every_format(predictor: Predictor, format: str) -> None:
    with pytest.raises(DataError) as refused:
        answer(predictor, PAYLOADS[format], format=format)
    assert all(word in str(refused.value) for word in ("income", "plan", "--allow-missing"))
    allowed = answer(predictor, PAYLOADS[format], format=format, allow_missing=True)
    assert [note.split(" is missing")[0] for note in allowed.notes] == ["`income`", "`plan`"]
    if format != "csv":
        skipped = answer(predictor, PAYLOADS[format], format=format, bad_rows="skip")
        assert [error.column for error in skipped.errors] == ["income", "plan"]


def test_every_column_is_named_however_many_rows_lack_it(predictor: Predictor) -> None:
    with pytest.raises(DataError, match=r"none of the 8,000 rows has a value in 2 of the columns") as refused:
        answer(predictor, json.dumps([without("income", "plan")] * 8000).encode(), format="json")
    assert all(f"\n  {name}" in str(refused.value) for name in ("income", "plan"))


def ask(server: RunningServer, body: bytes, query: str = "", kind: str = "application/json") -> tuple[int, Any, Any]:
    request = Request(f"{server.url}/v1/predict{query}", body, {"content-type": kind})
    try:
        with urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode(), reply.headers
    except HTTPError as error:
        return error.code, error.read().decode(), error.headers


def test_a_server_refuses_with_all_fields_and_says_how_to_allow_it(server: RunningServer) -> None:
    status, body, _ = ask(server, json.dumps({"instances": [{**without("income", "plan"), "incme": 1}]}).encode())
    refusal = json.loads(body)
    assert status == 422
    assert [each["field"] for each in refusal["rows"]] == ["income", "plan"]
    assert "Was it sent as `incme`?" in refusal["rows"][0]["error"]
    assert "?missing=allow" in refusal["error"]
    status, body, _ = ask(server, PAYLOADS["csv"], kind="text/csv")
    assert status == 422
    assert all(words in body for words in ("has no `income`", "has no `plan`", "?missing=allow"))


@pytest.mark.parametrize(("format", "kind"), [("json", "application/json"), ("csv", "text/csv")])
def test_a_server_that_is_allowed_to_notes_it_in_a_header(server: RunningServer, format: str, kind: str) -> None:
    status, _, headers = ask(server, PAYLOADS[format], "?missing=allow", kind)
    assert status == 200
    notes = json.loads(headers["burnish-notes"])
    assert notes[0] == "`income` is missing in the only row, and every training row had it; its median is used"
    whole = ask(server, json.dumps([WHOLE]).encode(), "?missing=allow")
    assert (whole[0], whole[2]["burnish-notes"]) == (200, None)
    assert ask(server, json.dumps([WHOLE]).encode(), "?missing=perhaps")[0] == 400


def test_rows_to_try_are_answered(server: RunningServer) -> None:
    with urlopen(f"{server.url}/v1/models/run/examples", timeout=60) as reply:
        rows = json.loads(reply.read())["rows"]
    assert ask(server, json.dumps({"instances": rows}).encode())[0] == 200
    with urlopen(f"{server.url}/openapi.json", timeout=60) as reply:
        described = json.loads(reply.read())
    assert set(described["components"]["schemas"]["run_row"]["anyOf"][0]["required"]) == set(NEEDED)
    assert "missing" in [each["name"] for each in described["paths"]["/v1/predict"]["post"]["parameters"]]


def test_the_command_line_refuses_and_allows(folder: Path) -> None:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*CLI, "predict", "run", *words], cwd=folder, capture_output=True, text=True, timeout=120)

    refused = call("--row", json.dumps(without("income", "plan")))
    assert refused.returncode == 4
    assert all(word in refused.stderr for word in ("income", "plan", "--allow-missing"))
    allowed = call("--row", json.dumps(without("income", "plan")), "--allow-missing")
    assert allowed.returncode == 0
    assert "`income` is missing in the only row" in allowed.stderr


def test_an_artifact_that_does_not_know_what_was_missing_asks_for_nothing(folder: Path, predictor: Predictor) -> None:
    from dataclasses import replace

    profile = json.loads(json.dumps(read_json(folder / "run" / "artifact" / "profile.json")))
    for column in profile["facts"]["table"]["columns"]:
        column["facts"].pop("missing", None)
    profile["facts"].pop("always_given")
    old = replace(predictor, profile=replace(predictor.profile, facts=profile["facts"]))
    assert answer(old, PAYLOADS["json"], format="json").errors == ()
