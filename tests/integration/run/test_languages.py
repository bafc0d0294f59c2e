"""A model that learns in one language is scored in another by name, and chosen by the first alone."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from burnish.commands.evaluate import evaluate
from burnish.commands.train import train
from burnish.errors import DataError

WORDS = {"en": ("good film", "bad film"), "de": ("warm cast", "cold cast")}
"""The second language has words of its own, so that nothing of the first helps there."""


def write_language(folder: Path, language: str, *, splits: dict[str, int]) -> None:
    for split, count in splits.items():
        rows = [
            {"premise": WORDS[language][at % 2], "hypothesis": "a story", "label": ("entailment", "neutral")[at % 2]}
            for at in range(count)
        ]
        (folder / f"{split}.{language}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    write_language(folder, "en", splits={"train": 96, "dev": 16, "test": 20})
    write_language(folder, "de", splits={"dev": 12, "test": 24})
    (folder / "xnli.yaml").write_text(
        "task: {type: text_classification, text: premise, pair: hypothesis, max_length: 24}\n"
        f"data:\n  dir: {folder}\n  train: train.en.jsonl\n  validation: dev.en.jsonl\n  test: test.en.jsonl\n"
        "  also: {validation_de: dev.de.jsonl, test_de: test.de.jsonl}\n"
        f"model: {tiny_bert}\nruntime: {{threads: 1}}\noptimizer: {{learning_rate: 3e-3}}\n"
        "train: {length: 3 epochs, batch: 8}\nmetrics: [accuracy]\n"
    )
    return folder


@pytest.fixture(scope="module")
def run(root: Path) -> Path:
    train(str(root / "xnli.yaml"), directory=root / "run")
    return root / "run"


def test_each_language_is_scored_under_its_name(run: Path) -> None:
    scores = json.loads((run / "scores.json").read_text())["scores"]
    assert set(scores) == {"validation", "test", "validation_de", "test_de"}
    assert scores["test"]["accuracy"]["value"] == 1.0
    answers = pq.read_table(run / "predictions" / "test_de.parquet")
    right = [a == b for a, b in zip(answers["predicted"].to_pylist(), answers["truth"].to_pylist(), strict=True)]
    assert len(right) == 24
    assert scores["test_de"]["accuracy"]["value"] == pytest.approx(sum(right) / 24)


def test_one_language_can_be_scored_again(run: Path) -> None:
    again = evaluate(str(run), split="test_de")
    scores = json.loads((run / "scores.json").read_text())["scores"]
    assert again.scores["accuracy"].value == pytest.approx(scores["test_de"]["accuracy"]["value"])


def test_only_the_first_language_chooses_the_checkpoint(run: Path) -> None:
    events = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    evaluated = {event["split"] for event in events if event["event"] == "evaluated"}
    assert evaluated == {"validation"}


def test_a_label_that_the_first_language_lacks_is_told_by_file_and_line(root: Path) -> None:
    (root / "odd.jsonl").write_text('{"premise": "a", "hypothesis": "b", "label": "contradiction"}\n')
    with pytest.raises(DataError, match=r"odd\.jsonl:1: .*contradiction"):
        train(str(root / "xnli.yaml"), overrides=["data.also={odd_de: odd.jsonl}"], directory=root / "odd")
