"""The measurements of `make bench` run, on a tiny model; what they say adds up."""

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bench import accuracy as accuracy_script
from bench import contention as contention_script
from bench import evaluation as evaluation_script
from bench import foresight as foresight_script
from bench import sets as sets_script
from bench import startup as startup_script
from bench import training as training_script
from bench.harness import roof_torch
from bench.harness.peers_torch import learned
from bench.harness.stage import staged
from bench.machine import machine
from bench.sets import DataSet, data_sets, tiny_sets
from bench.tokenising import tokenising
from burnish.commands.config import check
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import record
from burnish.spec.events import Ended, Started, Stepped
from burnish.spec.forecast import Timing
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


def test_a_table_is_trained_quiet_and_beside_a_busy_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contention_script, "started", started)
    monkeypatch.setattr(contention_script, "_ROWS", 2048)
    lines = list(contention_script.contention([], tmp_path, rounds=1, is_quick=True, tell=lambda _sentence: None))
    assert lines[-1].startswith("| a table, batches of 256 |")
    assert lines[-1].count(" to ") == 4


def test_both_answer_the_same_rows_after_the_same_training(sets: list[DataSet]) -> None:
    lines = list(accuracy_script.accuracy(sets, rounds=2, tell=lambda _sentence: None))
    cells = [line.strip("| ").split(" | ") for line in lines[2:]]
    assert [row[1] for row in cells] == ["0", "1"]
    for _, _, ours, theirs, alone, _ in cells:
        only_ours, only_theirs, of_all = (int(word) for word in alone.split() if word.isdigit())
        assert of_all == 10  # a tenth of 96 rows is held out
        assert round((float(ours) - float(theirs)) * of_all) == only_ours - only_theirs


def test_a_peer_that_groups_by_length_answers_in_the_order_of_the_rows(sets: list[DataSet]) -> None:
    stays_as_it_is = {"num_train_epochs": 1, "learning_rate": 0.0}
    with staged(check(sets[0].experiment, overrides=sets[0].overrides), rows=24) as stage:
        answers = [learned({**stage.request, "is_grouped": it, "arguments": stays_as_it_is}) for it in (True, False)]
    np.testing.assert_allclose(*answers, atol=1e-5)


def test_the_flags_of_a_peer_are_tried_unless_it_must_be_quick(
    sets: list[DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_script, "fastest", lambda contestants: list(contestants)[-1])
    monkeypatch.setattr(training_script, "started", nullcontext)
    stage = SimpleNamespace(num_examples=8, peer=lambda function, **flags: (function, flags))
    tried = {"one": {"workers": 0}, "two": {"workers": 1}}
    chosen = [training_script.fastest_peer(each, stage, "train", tried) for each in (sets[0], sets[0].quick())]
    assert chosen == ["two", "one"]


def test_what_a_plan_foresaw_is_set_against_what_the_run_took(
    sets: list[DataSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([100.0, 130.0])
    timing = Timing(0.5, {"validation": 4.0})
    foreseen = SimpleNamespace(seconds=24.0, timing=timing, footprint=SimpleNamespace(memory_bytes=2_000_000_000))

    def train(_experiment: str, *, overrides: tuple[str, ...], directory: Path, watch: foresight_script.Watch) -> None:
        assert "data.limit={train: 320, validation: 256}" in overrides  # forty batches of eight
        watch.now = lambda: next(clock)
        for event in (Started(0, 1, 40, {}), Stepped(1, 0.5, 1e-4, 1.0, 8, 80, 0.1, 0.5), Ended(40, "finished")):
            watch(event)
        record(RunDirectory(directory), "finished", step=40, seconds=40.0, memory_bytes=1_500_000_000)

    monkeypatch.setattr(foresight_script, "plan", lambda *_, **__: foreseen)
    monkeypatch.setattr(foresight_script, "train", train)
    lines = list(foresight_script.foresight(sets, rounds=1, tell=lambda _sentence: None))
    assert lines[-1] == "| tiny | 20.0 | 30.0 | 1.50 | 2.00 | 1.50 | 0.75 |"


def test_start_up_is_told_in_multiples_of_an_empty_python(monkeypatch: pytest.MonkeyPatch) -> None:
    took = {"pass": 0.1, "import torch": 2.0, "--help": 0.2, "train.lenght=1 epoch": 0.3}
    monkeypatch.setattr(startup_script, "_seconds", lambda command: took[command[-1]])
    monkeypatch.setattr(startup_script, "first_step", lambda experiment: 6.0)
    lines = list(startup_script.startup("mine", rounds=2, tell=lambda _sentence: None))
    assert lines[-1] == (
        "| first step of `burnish train mine` | 6.00 (6.00 to 6.00) | 60.0x (60.0 to 60.0) | 3.0x (3.0 to 3.0) |"
    )
    assert "| `burnish --help` | 0.20 (0.20 to 0.20) | 2.0x (2.0 to 2.0) | 0.1x (0.1 to 0.1) |" in lines


def test_a_run_is_watched_to_its_first_step_and_one_without_any_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    says = "import sys; print({!r}, flush=True); sys.stdin.read() if {} else None"
    monkeypatch.setattr(startup_script, "_BURNISH", [sys.executable, "-c", says.format('{"event": "stepped"}', True)])
    assert startup_script.first_step("mine") > 0
    monkeypatch.setattr(startup_script, "_BURNISH", [sys.executable, "-c", says.format('{"event": "ended"}', False)])
    with pytest.raises(RuntimeError, match="ended before its first step"):
        startup_script.first_step("mine")


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
