"""Whatever a data file, a row or an override holds: a documented exit code, a sentence, nothing run, nothing lost."""

import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.adversary.judge import IS_FULL, Canary, judge

pytestmark = pytest.mark.timeout(3600 if IS_FULL else 300)


def cases(few: int) -> Callable[[Any], Any]:
    return settings(
        max_examples=2000 if IS_FULL else few,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    )


ODD_TEXTS = [
    *(
        "",
        " ",
        "\x00",
        "\t",
        "\n",
        "\r",
        "\r\n",
        '"',
        '""',
        "'",
        ",",
        ";",
        "\\",
        "\ufeff",
        "\u2028",
        "é",
        "①",
        "-",
        "--1",
    ),
    *("NaN", "inf", "-Infinity", "1e999", "1e-999", "9" * 400, "9" * 5001, str(2**63), "0x1F", "1_000", "TRUE", "null"),
    *(
        "../../etc/passwd",
        "${HOME}",
        "{{7*7}}",
        "strange_code:Thing",
        "subprocess:call",
        "=1+1",
        "a" * 3000,
        "2020-13-45",
    ),
]
texts = st.sampled_from(ODD_TEXTS) | st.text(max_size=8)
names = (
    st.sampled_from(["a", "b", "c", "y", "text", "label", "words", "tags", "", " a", "a,b", "\x00", "row", "file"])
    | texts
)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=6,
)
rows = st.dictionaries(names, values, max_size=4)
DEEP = ["[" * levels + "]" * levels for levels in (99, 101, 3000, 100_000)]


def json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)


lines_of_text = st.lists(st.lists(texts, max_size=4), min_size=1, max_size=6)
csv_files = st.tuples(
    st.just(".csv"), lines_of_text.map(lambda rows: "\n".join(map(",".join, rows)).encode(errors="replace"))
)
tsv_files = st.tuples(
    st.just(".tsv"), lines_of_text.map(lambda rows: "\n".join(map("\t".join, rows)).encode(errors="replace"))
)
conll_files = st.tuples(
    st.sampled_from([".conll", ".txt"]),
    lines_of_text.map(lambda rows: "\n".join(map(" ".join, rows)).encode(errors="replace")),
)
objects = st.lists(rows.map(json_text) | st.sampled_from(DEEP).map(lambda deep: f'{{"a": {deep}}}') | texts, max_size=5)
jsonl_files = st.tuples(st.just(".jsonl"), objects.map(lambda lines: "\n".join(lines).encode(errors="replace")))
json_files = st.tuples(
    st.just(".json"),
    (st.lists(rows, max_size=4) | st.dictionaries(names, st.lists(values, max_size=3)) | values)
    .map(json_text)
    .map(str.encode)
    | st.sampled_from(DEEP).map(str.encode),
)
question = {"id": "q", "question": "who?", "answers": [{"text": "Ann", "answer_start": 0}]}
squad_files = st.tuples(
    st.just(".json"),
    st.dictionaries(st.sampled_from([*question, "is_impossible"]), values, max_size=3).map(
        lambda odd: json_text({"data": [{"paragraphs": [{"context": "Ann went.", "qas": [question | odd]}]}]}).encode()
    ),
)
COLUMNS = [
    *([1, None, 3], [1.5, float("nan"), float("inf")], ["x", "", None], [b"\xff", b"", None], [True, None, False]),
    *([[1], None, []], [{"k": 1}, None, {}], [date(2020, 1, 2), None, None], [Decimal("1.50"), None, None]),
    *([2**63 - 1, -(2**63), 0], [None, None, None], [["a"], ["b", None], None]),
]


def parquet_bytes(columns: list[tuple[str, list[object]]]) -> bytes:
    sink = pa.BufferOutputStream()
    arrays = [pa.array(values) for _, values in columns]
    pa.parquet.write_table(pa.Table.from_arrays(arrays, names=[name for name, _ in columns]), sink)
    return bytes(sink.getvalue().to_pybytes())


parquet_files = st.tuples(
    st.just(".parquet"),
    st.lists(st.tuples(names, st.sampled_from(COLUMNS)), min_size=1, max_size=4).map(
        lambda columns: parquet_bytes([(name.encode(errors="replace").decode(), values) for name, values in columns])
    ),
)
damages = st.none() | st.tuples(st.integers(0, 2**16), st.binary(max_size=3))


def damaged(content: bytes, damage: tuple[int, bytes] | None) -> bytes:
    if damage is None or not content:
        return content
    at = damage[0] % len(content)
    return content[:at] + damage[1] + content[at + 1 :]


files = csv_files | tsv_files | conll_files | jsonl_files | json_files | squad_files | parquet_files


@cases(60)
@given(files, damages)
def test_any_file(tmp_path: Path, canary: Canary, file: tuple[str, bytes], damage: tuple[int, bytes] | None) -> None:
    data = tmp_path / f"data{file[0]}"
    data.write_bytes(damaged(file[1], damage))
    config = tmp_path / "config.yaml"
    config.write_text(f"task: {{type: tabular, target: y}}\ndata: {data}\nmodel: linear\n")
    judge(["new", data, "-o", tmp_path / "new.yaml", "--force"], keeps=[data], canary=canary)
    judge(["cache", "why-miss", config], keeps=[data], canary=canary)


@cases(25)
@given(files, damages, st.sampled_from([".csv", ".tsv", ".jsonl", ".parquet"]))
def test_any_file_to_predict(
    original: Path, tmp_path: Path, file: tuple[str, bytes], damage: tuple[int, bytes] | None, suffix: str
) -> None:
    data, out = tmp_path / f"data{file[0]}", tmp_path / f"out{suffix}"
    data.write_bytes(damaged(file[1], damage))
    outcome = judge(["predict", original, "--in", data, "--out", out], keeps=[data, original])
    assert outcome.code == 0 or not out.exists()
    out.unlink(missing_ok=True)


@cases(25)
@given(st.lists(rows.map(json_text) | texts | st.sampled_from(DEEP), min_size=1, max_size=3))
def test_any_rows(original: Path, rows: list[str]) -> None:
    words = [word for row in rows for word in ("--row", row)]
    judge(["predict", original, *words], keeps=[original])


@cases(25)
@given(
    st.sampled_from(["json", "json_lists", "jsonl", "csv", "csv_rows"]),
    st.lists(rows.map(json_text) | texts | st.sampled_from(DEEP), min_size=1, max_size=3).map("\n".join),
)
def test_any_payload(original: Path, tmp_path: Path, format: str, payload: str) -> None:
    data = tmp_path / "payload"
    data.write_bytes(payload.encode(errors="replace"))
    judge(["predict", original, "--format", format, "--in", data, "--out", tmp_path / "answer"], keeps=[data, original])


KEYS = [
    "data.train",
    "data",
    "data.split.validation",
    "data.limit.train",
    "data.filter",
    "data.delimiter",
    "data.columns",
]
KEYS += [
    "task.target",
    "task",
    "task.columns",
    "task.derived",
    "model",
    "name",
    "runtime.seed",
    "train.length",
    "data.also.x",
]


@cases(150)
@given(st.lists(st.tuples(st.sampled_from(KEYS) | names, values.map(json_text) | texts), min_size=1, max_size=2))
def test_any_override(tmp_path: Path, canary: Canary, overrides: list[tuple[str, str]]) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("task: {type: tabular, target: y}\ndata: rows.csv\nmodel: linear\n")
    argv = ["config", "check", config, *(f"{key}={value}" for key, value in overrides)]
    is_named = any(canary.module in value for _, value in overrides)  # what a user types himself may run
    judge(argv, keeps=[config], canary=None if is_named else canary)
    canary.trace.unlink(missing_ok=True)


@pytest.mark.parametrize("odd", ["--1", "①", "+1", "9" * 5001])
def test_labels_that_look_like_numbers(tmp_path: Path, odd: str) -> None:
    data = tmp_path / "data.csv"
    data.write_text("x,y\n" + "".join(f"{row},{odd if row % 2 else 1}\n" for row in range(40)))
    config = tmp_path / "config.yaml"
    config.write_text(f"task: {{type: tabular, target: y}}\ndata: {data}\nmodel: linear\n")
    assert judge(["cache", "why-miss", config], keeps=[data]).code == 0
