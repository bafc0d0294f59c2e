"""Every kind of label and every way to cut, trained for real on a tiny model."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from burnish.commands.predict import predict
from burnish.commands.train import train
from burnish.errors import BurnishError, ServeError
from burnish.run.record.result import RunResult
from burnish.storage import manifest
from tests.project import BAD, GOOD

SETTINGS = "optimizer: {learning_rate: 3e-3}\ntrain: {length: 20 steps, batch: 8}\nruntime: {threads: 1}\n"


def run(
    root: Path,
    model: Path | None,
    rows: list[dict[str, object]],
    *,
    task: str,
    more: str = "",
    overrides: Sequence[str] = (),
) -> RunResult:
    data = root / "rows.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = root / "config.yaml"
    config.write_text(
        f"task: {{type: text_classification, max_length: 16, {task}}}\n"
        f"data: {{train: {data}, split: {{validation: 8, test: 8}}}}\n"
        f"{f'model: {model}' if model else ''}\n{SETTINGS}{more}"
    )
    return train(str(config), directory=root / "run", overrides=overrides)


def word(number: int) -> str:
    return (GOOD if number % 2 else BAD)[number % 4]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def test_pairs_in_three_classes(root: Path, tiny_bert: Path) -> None:
    rows = [{"a": word(n), "b": word(n // 2), "label": ("no", "maybe", "yes")[n % 3]} for n in range(48)]
    result = run(root, tiny_bert, rows, task="text: a, pair: b")
    assert result.headline == "accuracy"
    assert set(result.scores) == {"validation", "test"}
    [one] = predict(str(root / "run"), [{"text": "good", "pair": "bad"}])
    assert set(one.probabilities) == {"no", "maybe", "yes"}
    assert sum(one.probabilities.values()) == pytest.approx(1)


def test_several_labels_a_row(root: Path, tiny_bert: Path) -> None:
    rows = [{"text": f"{word(n)} film", "label": ["good"] * (n % 2) + ["long"] * (n % 3 == 0)} for n in range(48)]
    result = run(root, tiny_bert, rows, task="kind: multilabel")
    assert result.headline == "f1_micro"
    [one] = predict(str(root / "run"), [{"text": "a good film"}])
    assert isinstance(one.label, list)
    assert set(one.probabilities) == {"good", "long"}


def test_numbers_of_any_level_are_learned_and_given_in_their_unit(root: Path, tiny_bert: Path) -> None:
    rows = [{"text": f"{word(n)} film", "label": 1000 + (n % 2) * 500 + n / 10} for n in range(48)]
    overrides = ["train.length=40 steps", "optimizer.learning_rate=1e-2"]
    result = run(root, tiny_bert, rows, task="kind: regression", overrides=overrides)
    assert result.headline == "r2"
    assert result.scores["test"]["r2"].value > 0.8
    assert set(result.baselines) == {"mean", "tfidf_ridge"}
    assert -0.5 < result.baselines["mean"]["r2"].value <= 0
    good, bad = predict(str(root / "run"), [{"text": f"{word(number)} film"} for number in (1, 2)])
    assert good.label is None
    assert good.value == pytest.approx(1500, abs=150)
    assert bad.value == pytest.approx(1000, abs=150)


@pytest.mark.parametrize(
    "truncation",
    [
        "{type: windows, stride: 4, pool: vote}",
        "{type: random_spans, span: 4}, num_views: 3",
        "rso",
        "rsd",
        "ht",
        "tail",
    ],
)
def test_long_texts(root: Path, tiny_bert: Path, truncation: str) -> None:
    rows = [{"text": " ".join([word(n)] * (5 + n)), "label": n % 2} for n in range(48)]
    result = run(root, tiny_bert, rows, task=f"truncation: {truncation}")
    assert len(json.loads((root / "run" / "scores.json").read_text())["scores"]["test"]) >= 5
    long = " ".join(["good"] * 60)
    assert predict(str(root / "run"), [{"text": long}])[0].label in ("0", "1")
    assert result.reason == "finished"


def test_an_artifact_whose_windows_voted_in_the_old_way_says_so(root: Path, tiny_bert: Path) -> None:
    rows = [{"text": " ".join([word(n)] * (5 + n)), "label": [word(n), "long"][: 1 + n % 2]} for n in range(48)]
    run(root, tiny_bert, rows, task="kind: multilabel, truncation: {type: windows, stride: 4, pool: vote}")
    artifact = root / "run" / "artifact"
    golden = json.loads((artifact / "golden.json").read_text())
    golden["outputs"] = [[1 + each for each in row] for row in golden["outputs"]]  # votes were added up
    (artifact / "golden.json").write_text(json.dumps(golden))
    facts = json.loads((artifact / manifest.NAME).read_text())
    manifest.commit(artifact, {name: value for name, value in facts.items() if name not in ("files", "digest")})
    with pytest.raises(ServeError, match="early versions of Burnish counted votes wrongly"):
        predict(str(root / "run"), [{"text": "a good film"}])


@pytest.mark.parametrize("loss", ["label_smoothing: 0.1", "loss: focal"])
def test_many_options_at_once_and_tensorboard(root: Path, tiny_bert: Path, loss: str) -> None:
    rows = [{"text": f"{word(n)} film", "label": n % 2} for n in range(48)]
    more = "schedule: {type: cosine, warmup: 10%}\nmetrics: [f1, accuracy, log_loss]\ntrack: [tensorboard]\n"
    task = f"class_weights: balanced, {loss}"
    result = run(root, tiny_bert, rows, task=task, more=more, overrides=["train.ema=0.9", "train.accumulate=2"])
    assert result.headline == "f1"
    assert list((root / "run" / "tensorboard").rglob("*tfevents*"))


def test_adapters_are_merged_into_a_plain_artifact(root: Path, tiny_bert: Path) -> None:
    rows = [{"text": f"{word(n)} film", "label": n % 2} for n in range(48)]
    run(root, tiny_bert, rows, task="kind: binary", overrides=["model.lora=4"])
    names = {path.name for path in (root / "run" / "artifact" / "model").iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert predict(str(root / "run"), [{"text": "a good film"}])[0].label in ("0", "1")


@pytest.mark.parametrize("averaged", ["", "train.ema=0.9"])
def test_an_adapter_apart_answers_as_one_that_was_merged(root: Path, tiny_bert: Path, averaged: str) -> None:
    pytest.importorskip("peft", reason="adapters need the extra `lora`")
    rows = [{"text": f"{word(n)} film", "label": n % 2} for n in range(48)]
    answers, asked = [], [{"text": f"{word(n)} film"} for n in range(5)]
    for merge in ("true", "false"):
        lora = f"model.lora={{rank: 4, alpha: 64, merge: {merge}}}"
        overrides = [lora, "optimizer.learning_rate=0.03", *([averaged] if averaged else [])]
        (root / merge).mkdir()
        run(root / merge, tiny_bert, rows, task="kind: binary", overrides=overrides)
        answers.append([each.probabilities["1"] for each in predict(str(root / merge / "run"), asked)])
    assert answers[1] == pytest.approx(answers[0], abs=1e-6)
    artifact = root / "false" / "run" / "artifact"
    assert (artifact / "model" / "adapter" / "adapter_config.json").is_file()
    assert "is an adapter of `peft`" in (artifact / "README.md").read_text()
    shutil.rmtree(artifact / "model" / "adapter")
    with pytest.raises(BurnishError, match="adapter"):
        predict(str(artifact), asked)


def test_a_model_from_nothing_needs_only_a_tokenizer(root: Path, tiny_bert: Path) -> None:
    rows = [{"text": f"{word(n)} film", "label": n % 2} for n in range(48)]
    size = "model.size={hidden_size: 16, num_hidden_layers: 1, num_attention_heads: 2, intermediate_size: 32}"
    overrides = ["model={type: transformer, pretrained: false}", f"model.tokenizer={tiny_bert}", size]
    assert run(root, None, rows, task="kind: binary", overrides=overrides).reason == "finished"


def test_further_sets_are_scored_beside_validation_and_test(tmp_path: Path, tiny_bert: Path) -> None:
    rows = [{"text": f"a {word(n)} film", "label": n % 2} for n in range(64)]
    (tmp_path / "mixed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[:12]))
    found = run(tmp_path, tiny_bert, rows, task="", overrides=[f"data.also.mixed={tmp_path / 'mixed.jsonl'}"])
    assert {*found.scores} == {"validation", "test", "mixed"}
    assert (tmp_path / "run" / "predictions" / "mixed.parquet").is_file()
    assert "mixed" in (tmp_path / "run" / "report.html").read_text()


def test_several_columns_are_read_as_one_text(root: Path, tiny_bert: Path) -> None:
    rows = [{"title": "film" if n % 3 else "", "body": f"{word(n)} film", "label": n % 2} for n in range(48)]
    result = run(root, tiny_bert, rows, task="text: [title, body]")
    assert result.reason == "finished"
    both, body = predict(str(root / "run"), [{"title": "good", "body": "film"}, {"title": None, "body": "film"}])
    assert both.probabilities != body.probabilities
