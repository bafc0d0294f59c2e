"""Few rows are learned well by what a task takes where nothing is written."""

import csv
from pathlib import Path

import numpy as np

from burnish.commands.plan import plan
from burnish.commands.train import train
from burnish.spec.events import Event, Started
from tests.project import make_project


def started(events: list[Event]) -> Started:
    return next(event for event in events if isinstance(event, Started))


def test_a_small_text_set_gets_steps_enough_and_says_what_it_took(tmp_path: Path, tiny_bert: Path) -> None:
    project = make_project(tmp_path, model=tiny_bert, rows=256, config="track: []\n")
    events: list[Event] = []
    result = train(str(project.config), directory=project.run("a"), watch=events.append)
    told = started(events).facts
    assert (told["length"], told["batch"], told["learning_rate"], told["select"]) == ("10 epochs", 8, 1e-4, "log_loss")
    assert result.step == 200
    assert plan(str(project.config)).facts["length"] == "10 epochs"


def test_what_is_stated_is_not_told_as_taken(tmp_path: Path, tiny_bert: Path) -> None:
    project = make_project(tmp_path, model=tiny_bert, rows=128)
    events: list[Event] = []
    train(str(project.config), directory=project.run("a"), overrides=["train.length=2 steps"], watch=events.append)
    assert not {"length", "batch", "learning_rate"} & set(started(events).facts)


def test_a_linear_model_comes_as_far_as_the_linear_baseline(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(400, 8))
    target = 150 + inputs @ draw.normal(size=8) * 20 + draw.normal(size=400) * 30
    with (tmp_path / "rows.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([[*"abcdefgh", "y"], *np.column_stack([inputs, target]).tolist()])
    path = tmp_path / "table.yaml"
    path.write_text(
        f"task: {{type: tabular, target: y, importance: 0}}\nmodel: linear\nruntime: {{threads: 1}}\n"
        f"data: {{train: {tmp_path / 'rows.csv'}, split: {{validation: 10%, test: 100}}}}\n"
    )
    result = train(str(path), directory=tmp_path / "run")
    ours, ridge = (scores["rmse"].value for scores in (result.scores["test"], result.baselines["ridge"]))
    assert ours < 1.03 * ridge
