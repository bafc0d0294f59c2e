"""What `burnish predict --format` says of payloads that are wrong in one way or another; a stand-in model answers."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from burnish.artifact import predictor as module
from burnish.cli.main import run
from burnish.commands import predict as command
from burnish.data.codecs.columns import ColumnSpec
from burnish.spec.values import Outcome, Profile

Captured = pytest.CaptureFixture[str]
COLUMNS = [
    ColumnSpec("fare", "number", default=9.5),
    ColumnSpec("seats", "integer", is_required=False),
    ColumnSpec("company"),
]
PAYLOADS: list[tuple[str, bytes]] = [
    ("json", b'[{"fare": "a lot", "seats": 2.5}, {"company": ["x"], "fare": true}, 7, {"company": 1, "company": 2}]'),
    ("json", b'{"instances": {"company": "x"}}'),
    ("json", b'[{"company": "x",}]'),
    ("json", b'{"company": "x"}\n{"company": "y"}\n'),
    ("json", b"company\nx,y\n"),
    ("json", b'[{"company": "\xff"}]'),
    ("json", b""),
    ("jsonl", b'{"company": "x"}\nnot json\n[1, 2]\n'),
    ("json_lists", b'[[1, 2, "x"], [1, 2], {"company": "x"}]'),
    ("csv", b'company,fare\n"x\ny",1\nz,much\nw\n"open,1\n'),
    ("csv", b"compny,fare\nx,1\n"),
    ("csv", b"1,2,x\n3,4,y\n"),
    ("csv", b"fare,fare,company\n1,2,x\n"),
    ("csv", b'[{"company": "x"}]'),
    ("csv_rows", b"1,2,x\n1,2\nfare,seats,company\n"),
    ("example", b'{"company": "x"}'),
    ("example", b"CgA=\n????\nAAAA\n"),
    ("example", b"\x0a\x05\x0a"),
]


class Model:
    """Answer every row with its fare."""

    profile = Profile("regression")
    task = SimpleNamespace(input_specs=lambda profile: COLUMNS)

    def outcome(self, table: pa.Table, **_: object) -> Outcome:
        values = table["fare"].to_numpy()
        return Outcome("regression", np.arange(len(table)), values, values, None)


@pytest.fixture(autouse=True)
def _model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_artifact", Path)
    monkeypatch.setattr(module.Predictor, "load", lambda _path, **_options: Model())


def test_refusals(golden: Callable[[str, str], None], capfd: Captured) -> None:
    told = []
    for format, payload in PAYLOADS:
        Path("rows").write_bytes(payload)
        code = run(["predict", "r", "--format", format, "--in", "rows"])
        answer = capfd.readouterr()
        assert (code, answer.out) == (4, "")
        told.append(f"{format} {payload!r}\n{answer.err}")
    golden("errors/payloads", "\n".join(told))


def test_rows_from_standard_input_are_answered_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"company,fare,id\nx,1.5,7\nz,,8\n")))
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(body := io.BytesIO()))
    assert run(["predict", "r", "--format", "csv", "--in", "-", "--out", "-"]) == 0
    assert body.getvalue() == b'"predicted"\n1.5\n9.5\n'
    assert capfdbinary.readouterr().err == b"ignored, because the model has no such column: id\n"


def test_skipped_rows_are_listed_and_stand_in_the_answers(capfd: Captured) -> None:
    Path("rows.jsonl").write_text('{"company": "x"}\n{"fare": 1}\n')
    argv = ["predict", "r", "--format", "jsonl", "--in", "rows.jsonl", "--bad-rows", "skip", "--out", "deep/out.jsonl"]
    assert run(argv) == 0
    said = "row 2 (line 2), company: is missing and has no default; expected text"
    answer = capfd.readouterr()
    assert answer.out == "2 predictions in deep/out.jsonl\n"
    assert answer.err.splitlines()[-1] == f"skipped {said}"
    assert list(map(json.loads, Path("deep/out.jsonl").read_text().splitlines())) == [
        {"predicted": 9.5},
        {"error": said},
    ]
    assert run([*argv, "--json"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["rows"], document["errors"][0]["row"], document["errors"][0]["column"]) == (2, 2, "company")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--format", "json", "--json"], 2, "--json prints to standard output, where the predictions go"),
        (["--format", "json", "--text", "x"], 2, "predict takes rows from one place"),
        (["--in", "-", "--out", "x.csv"], 2, "- needs --format, which says how the rows are written: json, jsonl"),
        (["--bad-rows", "skip", "--in", "a", "--out", "b"], 2, "--bad-rows goes with --format"),
        (["--format", "json", "--in", "nowhere"], 4, "nowhere could not be read: No such file or directory"),
        (["--format", "json", "--in", "rows", "--out", "."], 4, "could not be written: it is a folder"),
        (["--format", "xml"], 2, "no format is called `xml`. There are json, "),
    ],
)
def test_options_that_do_not_go_together(words: list[str], code: int, said: str, capfd: Captured) -> None:
    Path("rows").write_text("[]")
    assert run(["predict", "r", *words]) == code
    assert said in capfd.readouterr().err
