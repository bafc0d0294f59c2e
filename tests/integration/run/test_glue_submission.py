"""A model trained on a set of GLUE answers its test files, as anyone who asks it row by row is answered."""

from pathlib import Path

import pytest

from burnish.cli.main import run
from burnish.commands.glue import predict_glue
from burnish.commands.predict import predict
from burnish.commands.prepare import prepare
from burnish.commands.train import train
from burnish.errors import DataError

LABELS = ("contradiction", "entailment", "neutral")
TESTS = {"test_matched": ["a film", "good plot", "the cast"], "test_mismatched": ["a story"]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    root = tmp_path_factory.mktemp("mnli")
    rows = [f"{at}\t{'good ' * (at % 3)}film\ta {LABELS[at % 3]} film\t{LABELS[at % 3]}" for at in range(24)]
    for stem in ("train", "dev_matched", "dev_mismatched"):
        (root / f"{stem}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tgold_label", *rows]) + "\n")
    for stem, texts in TESTS.items():
        lines = [f"{at}\t{text}\ta dull film" for at, text in enumerate(texts)]
        (root / f"{stem}.tsv").write_text("\n".join(["index\tsentence1\tsentence2", *lines]) + "\n")
    small = ["task.max_length=24", "train.length=2 steps", "train.batch=8", "runtime.threads=1"]
    train("glue/mnli", overrides=[f"data.dir={root}", f"model={tiny_bert}", *small], directory=root / "run")
    return root


def test_the_answers_are_those_of_the_model(trained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["predict", str(trained / "run"), "--format", "glue", "--in", str(trained), "--out", str(trained / "out")]
    assert run(words) == 0
    assert [line.split()[:2] for line in capsys.readouterr().out.splitlines()] == [
        ["set", "rows"],
        ["MNLI-m", "3"],
        ["MNLI-mm", "1"],
    ]
    for called, stem in (("MNLI-m", "test_matched"), ("MNLI-mm", "test_mismatched")):
        asked = predict(str(trained / "run"), [{"text": text, "pair": "a dull film"} for text in TESTS[stem]])
        expected = [f"{at}\t{each.label}" for at, each in enumerate(asked)]
        assert (trained / "out" / f"{called}.tsv").read_text().splitlines() == ["index\tprediction", *expected]


def test_a_run_from_prepared_features_answers_too(trained: Path, tiny_bert: Path) -> None:
    small = ["task.max_length=24", "train.length=2 steps", "train.batch=8", "runtime.threads=1", f"model={tiny_bert}"]
    written = prepare("glue/mnli", overrides=[f"data.dir={trained}", *small], out=trained / "ready")
    train("glue/mnli", overrides=[f"data={{type: prepared, dir: {written.path}}}", *small], directory=trained / "again")
    made = predict_glue(str(trained / "again"), source=str(trained), out=trained / "others")
    assert [(each.name, each.num_rows) for each in made] == [("MNLI-m", 3), ("MNLI-mm", 1)]
    (written.path / "MANIFEST.json").unlink()
    with pytest.raises(DataError, match=r"was trained from .* is no longer a complete folder of prepared data"):
        predict_glue(str(trained / "again"), source=str(trained), out=trained / "none")
