"""The measurements of `make bench` run, on a tiny model; what they say adds up."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench import evaluation as evaluation_script
from bench import sets as sets_script
from bench import training as training_script
from bench.machine import machine
from bench.sets import DataSet, data_sets, tiny_sets
from bench.tokenising import tokenising
from burnish.bench import roof_torch
from tests.integration.bench.in_threads import started


@pytest.fixture
def sets(tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[DataSet]:
    for module in (training_script, evaluation_script):
        monkeypatch.setattr(module, "started", started)
    monkeypatch.setattr(training_script, "_WORKERS", (0,))
    monkeypatch.setattr(evaluation_script, "_BATCHES", (8,))
    monkeypatch.setattr(roof_torch, "_SIZES", (64,))
    monkeypatch.setattr(roof_torch, "_LEAST_SECONDS", 0.01)
    return tiny_sets(tiny_bert, tmp_path)


def test_training_is_raced_and_set_against_the_peak(sets: list[DataSet]) -> None:
    lines = list(training_script.training(sets, rounds=1, tell=lambda _sentence: None))
    racers = [line.split(" | ")[1] for line in lines[2:6]]
    assert [name.split(":")[0] for name in racers] == [
        "Burnish",
        "Trainer, defaults",
        "Trainer, best flags",
        "Trainer, all padded to 24",
    ]
    assert lines[-1].startswith("| tiny, 24 rows | fp32 |")
    assert lines[-1].count("%") == 2


def test_the_flags_of_a_peer_are_tried_unless_it_must_be_quick(
    sets: list[DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_script, "fastest", lambda contestants: list(contestants)[-1])
    monkeypatch.setattr(training_script, "started", nullcontext)
    stage = SimpleNamespace(num_examples=8, peer=lambda function, **flags: (function, flags))
    tried = {"one": {"workers": 0}, "two": {"workers": 1}}
    chosen = [training_script.fastest_peer(each, stage, "train", tried) for each in (sets[0], sets[0].quick())]
    assert chosen == ["two", "one"]


def test_evaluation_is_raced_on_rows_and_on_texts(sets: list[DataSet]) -> None:
    lines = list(evaluation_script.evaluation(sets, rounds=1, tell=lambda _sentence: None))
    assert [line.split(" | ")[1].split(",")[0] for line in lines[2:]] == [
        "Burnish",
        "Trainer.predict",
        "Trainer.predict",
        "Burnish",
        "pipeline",
        "pipeline",
    ]


def test_tokenising_is_raced(sets: list[DataSet]) -> None:
    lines = list(tokenising(sets, rounds=1, tell=lambda _sentence: None))
    assert "rows/s" in lines[0]
    assert [line.split(" | ")[1].split(",")[0] for line in lines[2:4]] == ["Burnish", "datasets.map"]


def test_stand_ins_are_as_long_as_the_real_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets_script, "_STAND_IN_ROWS", 1000)
    for each in data_sets(tmp_path / "absent", tmp_path):
        assert "made-up texts" in each.note
    lengths = [len(json.loads(line)["text"].split()) + 2 for line in (tmp_path / "sst2.jsonl").open()]
    assert np.median(lengths) == pytest.approx(10, abs=1)
    assert np.percentile(lengths, 95) == pytest.approx(33, abs=2)


def test_the_machine_is_described() -> None:
    lines = machine()
    assert any(line.startswith("| processor | ") for line in lines)
    assert all(line.count("|") >= 3 for line in lines)
