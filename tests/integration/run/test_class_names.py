"""Class names are shown wherever an answer is, beside the label itself; mapped labels are counted and told."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from transformers import AutoConfig, pipeline

from burnish.artifact.predictor import Predictor
from burnish.commands.compare.comparison import compare
from burnish.commands.predict import predict, predict_payload
from burnish.commands.train import train
from burnish.errors import ConfigError
from burnish.storage import manifest
from tests.integration.run.test_kinds import run, word

NAMES = "label_map: {-1: 0}, label_names: {0: negative, 1: positive}, slices: [source]"
ROWS: list[dict[str, object]] = [
    {
        "text": f"{word(n)} film" + " the story" * (n % 5),
        "label": (0, 1, -1, 1)[n % 4],
        "source": ("web", "mail")[n % 3 > 0],
    }
    for n in range(200)
]
OVERRIDES = ["data.split={validation: 40, test: 40}", "train.length=60 steps"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    root = tmp_path_factory.mktemp("names")
    run(root, tiny_bert, ROWS, task=NAMES, overrides=OVERRIDES)
    return root / "run"


def test_a_prediction_has_the_label_and_its_name(named: Path) -> None:
    [one] = predict(str(named), [{"text": f"{word(1)} film"}])
    assert (one.label, one.name) == ("1", "positive")
    assert set(one.probabilities) == {"0", "1"}
    body = predict_payload(str(named), json.dumps([{"text": f"{word(0)} film"}]).encode(), format="json").body
    assert json.loads(body)["predictions"][0] | {"confidence": 0, "probabilities": {}} == {
        "predicted": "0",
        "predicted_name": "negative",
        "confidence": 0,
        "probabilities": {},
    }


def test_signature_model_card_and_report_show_names(named: Path) -> None:
    classes = Predictor.load(named / "artifact").signature.answer.classes
    assert [(each.value, each.name) for each in classes] == [("0", "negative"), ("1", "positive")]
    card = (named / "artifact" / "README.md").read_text()
    assert "| 1 | positive |" in card
    assert "README.md" in (manifest.read(named / "artifact") or {})["files"]
    report = (named / "report.html").read_text()
    assert "positive" in report
    assert ">negative<" in report


def test_transformers_knows_the_names(named: Path) -> None:
    model = str(named / "artifact" / "model")
    assert AutoConfig.from_pretrained(model).id2label == {0: "negative", 1: "positive"}
    assert pipeline("text-classification", model=model)(f"{word(1)} film")[0]["label"] == "positive"


def test_predictions_keep_the_label_so_that_a_run_with_names_compares_with_one_without(
    named: Path, tmp_path: Path, tiny_bert: Path
) -> None:
    table = pq.read_table(named / "predictions" / "test.parquet")
    assert set(zip(table["predicted"].to_pylist(), table["predicted_name"].to_pylist(), strict=True)) <= {
        ("0", "negative"),
        ("1", "positive"),
    }
    run(tmp_path, tiny_bert, ROWS, task="label_map: {-1: 0}, num_views: 1", overrides=OVERRIDES)
    assert compare([named, tmp_path / "run"]).verdicts[0].p_value == 1


def test_rows_are_scored_apart_by_a_column_that_is_not_learned_from(named: Path) -> None:
    slices = json.loads((named / "insights.json").read_text())["slices"]
    assert {each["value"] for each in slices if each["column"] == "source"} == {"web", "mail"}
    assert all(each["interval"][0] <= each["scores"]["accuracy"] <= each["interval"][1] for each in slices)


def test_mapped_labels_are_counted_and_told(named: Path) -> None:
    noted = [json.loads(line).get("message", "") for line in (named / "events.jsonl").read_text().splitlines()]
    [sentence] = [each for each in noted if each.startswith("task.label_map")]
    counts = [int(word) for word in sentence.replace(",", "").split() if word.isdigit()]
    assert sentence.startswith("task.label_map: -1: ")
    assert sum(counts) == 50


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        ("label_names: {2: other}", "task.label_names.2: there is no class '2'; the classes are -1, 0, 1"),
        ("label_map: {5: 0}", "task.label_map.5: no row has the label '5'"),
        ("slices: [nowhere]", "task.slices: there is no column `nowhere`"),
    ],
)
def test_what_only_the_data_shows_to_be_wrong_is_refused_with_its_place(
    tmp_path: Path, tiny_bert: Path, task: str, sentence: str
) -> None:
    with pytest.raises(ConfigError) as refusal:
        run(tmp_path, tiny_bert, ROWS, task=task)
    assert sentence in str(refusal.value)
    assert f"set by {tmp_path / 'config.yaml'}:1" in str(refusal.value)


def test_a_table_has_names_too(tmp_path: Path) -> None:
    rows = [{"area": n % 7, "dear": (0, 1, -1)[n % 3]} for n in range(60)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "config.yaml").write_text(
        "task: {type: tabular, target: dear, label_map: {-1: 0}, label_names: {1: dear}}\nmodel: linear\n"
        f"data: {{train: {tmp_path}/rows.jsonl, split: {{validation: 8}}}}\ntrain: {{length: 2 steps, batch: 8}}\n"
    )
    artifact = train(str(tmp_path / "config.yaml"), directory=tmp_path / "run").directory / "artifact"
    signature = Predictor.load(artifact).signature
    assert [(each.value, each.name) for each in signature.answer.classes] == [("0", "0"), ("1", "dear")]
    assert "predicted_name" in signature.answer.fields
