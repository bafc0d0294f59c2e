"""What a task means by silence lies below every layer, with the task as its origin."""

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from burnish.config.render import render
from burnish.config.resolve import Resolved, load
from burnish.errors import ConfigError
from tests.unit.config.fakes import fake_registry

ORIGIN = "default of task sort"
REGISTRY = fake_registry(EntryPoint("sort", "tests.unit.config.fakes:Sort", "burnish.tasks"))


def resolved(tmp_path: Path, text: str, *overrides: str) -> Resolved:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    return load(str(path), overrides=overrides, registry=REGISTRY)


@pytest.mark.parametrize("task", ["sort", "{type: sort}", "tests.unit.config.fakes:Sort"])
def test_a_task_alone_brings_its_model_optimizer_length_and_batch(tmp_path: Path, task: str) -> None:
    found = resolved(tmp_path, f"task: {task}\n")
    experiment = found.experiment
    assert (experiment.model.name, experiment.model.layers) == ("large", 2)  # type: ignore[attr-defined]
    assert (type(experiment.optimizer).__name__, experiment.optimizer.learning_rate) == ("Slide", 0.5)
    assert (str(experiment.train.length), experiment.train.batch.examples) == ("7 epochs", 16)
    for path in ("model.name", "optimizer.type", "optimizer.learning_rate", "train.length", "train.batch.examples"):
        assert str(found.origin(path)) == ORIGIN
    assert str(found.origin("train.clip")) == str(found.origin("model.layers")) == "default"


def test_a_task_without_defaults_has_those_of_every_component(tmp_path: Path) -> None:
    assert resolved(tmp_path, "task: guess\n").experiment.train.batch.examples is None


def test_what_is_written_wins_and_says_nothing_of_what_was_silent(tmp_path: Path) -> None:
    found = resolved(tmp_path, "task: sort\ntrain: {length: 2 epochs}\n", "train.batch=8", "train.batch=9")
    assert (str(found.experiment.train.length), found.experiment.train.batch.examples) == ("2 epochs", 9)
    assert found.origin("train.length").lines() == (f"set by {tmp_path}/mine.yaml:2",)
    assert found.origin("train.batch.examples").lines() == (
        "set by train.batch=9 on the command line",
        "replacing 8 from train.batch=8 on the command line",
    )


def test_options_of_the_defaults_type_join_it(tmp_path: Path) -> None:
    optimizer = resolved(tmp_path, "task: sort\noptimizer: {momentum: 0.9}\n").experiment.optimizer
    assert (optimizer.learning_rate, optimizer.momentum) == (0.5, 0.9)  # type: ignore[attr-defined]


def test_another_type_drops_the_options_of_the_default(tmp_path: Path) -> None:
    found = resolved(tmp_path, "task: sort\nmodel: line\noptimizer: {type: adamw}\n")
    assert type(found.experiment.model).__name__ == "Line"
    assert found.experiment.optimizer.learning_rate == 1e-3
    assert str(found.origin("optimizer.learning_rate")) == "default"


def test_another_task_brings_other_defaults(tmp_path: Path) -> None:
    found = resolved(tmp_path, "task: sort\ntrain: {length: 2 epochs}\n", "task.type=guess")
    assert (str(found.experiment.train.length), found.experiment.train.batch.examples) == ("2 epochs", None)
    back = resolved(tmp_path, "task: guess\n", "task.type=sort")
    assert back.experiment.train.batch.examples == 16


def test_a_default_gives_way_to_an_option_that_excludes_it(tmp_path: Path) -> None:
    batch = resolved(tmp_path, "task: sort\ntrain: {batch: {tokens: 512}}\n").experiment.train.batch
    assert (batch.examples, batch.tokens) == (None, 512)
    kept = resolved(tmp_path, "task: sort\ntrain: {batch: {tokens: null}}\n").experiment.train.batch
    assert kept.examples == 16


def test_a_section_is_blamed_on_who_wrote_it_first_and_not_on_silence(tmp_path: Path) -> None:
    assert str(resolved(tmp_path, "task: sort\nmodel: {layers: 3}\n").origin("model")) == (
        f"set by {tmp_path}/mine.yaml:2"
    )


def test_a_default_that_the_option_refuses_is_blamed_on_the_task(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, "task: tests.unit.config.fakes:Mistaken\n")
    assert [str(problem) for problem in caught.value.problems] == [
        "train.lenght: no such option. Did you mean `train.length`?\n  default of task tests.unit.config.fakes:Mistaken"
    ]


def test_a_task_that_does_not_exist_is_reported_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        resolved(tmp_path, "task: sotr\n")
    (problem,) = caught.value.problems
    assert "Did you mean" in str(problem)


def test_a_plan_in_full_is_not_touched_by_defaults(tmp_path: Path) -> None:
    written = "task: sort\nmodel: line\ntrain: {batch: {tokens: 512}, length: 1 epoch}\noptimizer: {type: adamw}\n"
    found = resolved(tmp_path, written)
    plan = tmp_path / "plan.yaml"
    plan.write_text(render(found.experiment, origin=found.origin, registry=REGISTRY))
    assert load(str(plan), registry=REGISTRY).experiment == found.experiment
