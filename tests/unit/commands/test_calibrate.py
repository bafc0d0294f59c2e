"""What is fastest is taken when it is clearly so, read_choices, and never measured twice."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from burnish.commands import calibrate
from burnish.commands import train as train_module
from burnish.commands.calibrate import OpenOption, open_choices, read_choices, time_choices
from burnish.commands.config import check
from burnish.config import load
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import read_plan
from burnish.spec.events import Event

DEMO = "demo/reviews"
ATTENTION = OpenOption("model.attention", ("auto", "sdpa"))
THREADS = OpenOption("runtime.threads", ("4", "2"))


def test_what_is_clearly_faster_is_taken_with_what_was_settled_before() -> None:
    asked: list[list[str]] = []

    def measure(overrides: Sequence[str]) -> float:
        asked.append([*overrides])
        return 1.0 if overrides[-1] in ("model.attention=sdpa", "runtime.threads=4") else 2.0

    assert time_choices([ATTENTION, THREADS], measure) == ["model.attention=sdpa", "runtime.threads=4"]
    there_and_back = ["auto", "sdpa", "sdpa", "auto"]
    assert [tried[-1] for tried in asked[:4]] == [f"model.attention={value}" for value in there_and_back]
    assert all(tried[0] == "model.attention=sdpa" for tried in asked[4:])


@pytest.mark.parametrize(("other", "taken"), [(0.97, "auto"), (0.94, "sdpa")])
def test_a_gain_that_may_be_the_weather_changes_nothing(other: float, taken: str) -> None:
    assert time_choices([ATTENTION], lambda tried: other if tried[-1].endswith("sdpa") else 1.0) == [
        f"model.attention={taken}"
    ]


def test_one_slow_moment_decides_nothing() -> None:
    seconds = iter([9.0, 1.5, 1.5, 1.0])
    assert time_choices([ATTENTION], lambda _tried: next(seconds)) == ["model.attention=auto"]


def test_what_an_experiment_states_is_no_choice() -> None:
    left = load(DEMO).experiment
    assert [choice.option for choice in open_choices(left, cores=4)] == ["model.attention", "runtime.threads"]
    assert [choice.option for choice in open_choices(left, cores=1)] == ["model.attention"]
    stated = load(DEMO, overrides=["model.attention=eager", "runtime.threads=1"]).experiment
    assert open_choices(stated, cores=4) == []


def test_what_was_measured_stands_in_the_plan_and_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"sdpa": 1.0, "auto": 2.0}
    monkeypatch.setattr(calibrate, "open_choices", lambda _experiment: [ATTENTION])
    monkeypatch.setattr(train_module, "time_step", lambda *given: seconds.pop(given[-1][-1].split("=")[1], 3.0))
    monkeypatch.setattr(train_module, "continue_run", lambda run, settle, **_: settle())
    run, notes = RunDirectory(tmp_path / "run"), list[Event]()
    for _ in range(2):
        train_module.train(DEMO, directory=run.path, is_calibrated=True, watch=notes.append)
    assert getattr(read_plan(run).model, "attention", None) == "sdpa"
    assert "set by model.attention=sdpa measured on this machine" in run.plan.read_text()
    assert seconds == {}
    assert len(notes) == 2


def test_a_resumed_run_takes_what_its_plan_says() -> None:
    earlier = load(DEMO, overrides=["model.attention=sdpa"]).experiment
    assert read_choices([ATTENTION, THREADS], earlier) == ["model.attention=sdpa"]


def test_the_command_line_has_the_last_word() -> None:
    found = check(DEMO, measured=["runtime.threads=4"], overrides=["runtime.threads=1"])
    assert found.experiment.runtime.threads == 1
    assert [str(line) for line in found.origin("runtime.threads").lines()][1].endswith("measured on this machine")
