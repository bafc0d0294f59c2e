"""Answers to GLUE's test files look as its site wants them; a stand-in model gives them here."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from burnish.artifact import predictor as module
from burnish.commands.glue import predict_glue
from burnish.errors import DataError
from burnish.spec.values import Outcome
from burnish.storage.manifest import NAME

PAIR = "index\tsentence1\tsentence2"
PUBLISHED = {
    "sst2": ("SST-2", "test", "index\tsentence", "{}\ta film of {}", ("0", "1")),
    "cola": ("CoLA", "test", "index\tsentence", "{}\tThey drank {}.", ("0", "1")),
    "mrpc": ("MRPC", "test", "index\t#1 ID\t#2 ID\t#1 String\t#2 String", '{}\t7\t8\t"A {}\tB .', ("0", "1")),
    "rte": ("RTE", "test", PAIR, "{}\tA {}.\tB.", ("entailment", "not_entailment")),
    "wnli": ("WNLI", "test", PAIR, "{}\tA {}.\tB.", ("0", "1")),
    "stsb": (
        "STS-B",
        "test",
        "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2",
        "{}\tg\tf\t2012\t1\tn\tn\tA {}.\tB.",
        (),
    ),
    "qnli": ("QNLI", "test", "index\tquestion\tsentence", "{}\tWho {}?\tHe.", ("entailment", "not_entailment")),
    "qqp": ("QQP", "test", "id\tquestion1\tquestion2", "{}\tWhy {}?\tWhy not?", ("0", "1")),
    "mnli": ("MNLI-m", "test_matched", PAIR, "{}\tA {}.\tB.", ("contradiction", "entailment", "neutral")),
}
TEXTS = {
    "sst2": ("sentence",),
    "cola": ("sentence",),
    "qnli": ("question", "sentence"),
    "mnli": ("premise", "hypothesis"),
    "qqp": ("question1", "question2"),
}


class Turns:
    """Answer rows with the classes in turn, or with ever larger numbers."""

    def __init__(self, columns: tuple[str, ...], labels: tuple[str, ...]) -> None:
        self.input_columns = columns
        self.labels = labels

    def outcome(self, table: pa.Table, **_: object) -> Outcome:
        assert table.column_names == list(self.input_columns)
        rows = np.arange(len(table))
        if not self.labels:
            return Outcome("regression", rows, rows * 3.14159 - 1, rows * 3.14159 - 1, None)
        return Outcome("multiclass", rows, np.zeros((len(rows), 3)), rows % len(self.labels), None, self.labels)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run", NAME).touch()
    return Path("run")


def trained_on(name: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TEXTS.get(name, ("sentence1", "sentence2"))
    Path(run, "experiment.yaml").write_text(
        f"task: {{type: text_classification, text: {texts[0]}}}\ndata: {{type: glue, set: {name}}}\nmodel: none/such\n"
    )
    monkeypatch.setattr(module.Predictor, "load", lambda _path, **_options: Turns(texts, PUBLISHED[name][-1]))


def publish(name: str, *, stem: str = "", numbers: tuple[int, ...] = (0, 1, 2, 3)) -> Path:
    _, own, header, row, _ = PUBLISHED[name]
    path = Path("given", f"{stem or own}.tsv")
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([header, *(row.format(number, "x" * number) for number in numbers)]) + "\n")
    return path


def handed_in(path: Path) -> list[list[str]]:
    assert path.read_bytes().endswith(b"\n")
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("name", PUBLISHED)
def test_each_set_is_answered_in_its_file(name: str, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_on(name, run, monkeypatch)
    publish(name, numbers=(0, 1, 2, 3))
    (written,) = predict_glue("run", source="given", out=Path("out"))
    called, *_, labels = PUBLISHED[name]
    assert (written.name, written.path, written.num_rows) == (called, Path("out", f"{called}.tsv"), 4)
    answers = [labels[number % len(labels)] for number in range(4)] if labels else ["0.000", "2.142", "5.000", "5.000"]
    assert handed_in(written.path) == [["index", "prediction"], *([str(at), each] for at, each in enumerate(answers))]


def test_mnli_has_three_files_and_the_numbers_are_those_of_the_rows(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_on("mnli", run, monkeypatch)
    publish("mnli")
    publish("mnli", stem="test_mismatched", numbers=(9847, 9848))
    packed = publish("mnli", stem="diagnostic", numbers=(5,))
    packed.with_suffix(".tsv.gz").write_bytes(gzip.compress(packed.read_bytes()))
    packed.unlink()
    written = predict_glue("run", source="given", out=Path("out"))
    assert [(each.path.name, each.num_rows) for each in written] == [
        ("MNLI-m.tsv", 4),
        ("MNLI-mm.tsv", 2),
        ("AX.tsv", 1),
    ]
    assert [row[0] for row in handed_in(written[1].path)] == ["index", "9847", "9848"]
    assert handed_in(written[2].path)[1] == ["5", "contradiction"]


def test_one_file_goes_to_one_file(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained_on("mnli", run, monkeypatch)
    publish("mnli")
    given = publish("mnli", stem="test_mismatched")
    (written,) = predict_glue("run", source=str(given), out=Path("mine.tsv"))
    assert (written.name, written.path) == ("MNLI-mm", Path("mine.tsv"))
    with pytest.raises(DataError, match=r"mine\.tsv is one file, and MNLI-m, MNLI-mm make 2; give a folder"):
        predict_glue("run", source="given", out=Path("mine.tsv"))


def test_a_model_of_other_data_is_refused(run: Path) -> None:
    Path(run, "experiment.yaml").write_text("task: text_classification\ndata: a.csv\nmodel: none/such\n")
    with pytest.raises(DataError, match=r"run was not trained on a set of GLUE \(data\.type: glue\)"):
        predict_glue("run", source="given", out=Path("out"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, r"given has no test\.tsv \(nor \.gz, \.zst\), which GLUE's sst2 is tested on"),
        ("index\ttext\n0\ta\n", "there is no column `sentence`"),
        ("index\tsentence\n0\ta\nx\tb\n", r"test\.tsv:3: the index is 'x', but a number is expected"),
        ("index\tsentence\n0\ta\n0\tb\n", "the column `index` holds a number twice"),
        ("index\tsentence\n0\ta\tb\n", r"test\.tsv:2: has 3 fields"),
    ],
)
def test_odd_files_are_refused_and_nothing_is_written(
    run: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, said: str
) -> None:
    trained_on("sst2", run, monkeypatch)
    Path("given").mkdir()
    if content is not None:
        Path("given", "test.tsv").write_text(content)
    with pytest.raises(DataError, match=said):
        predict_glue("run", source="given", out=Path("out"))
    assert not Path("out").exists()
