"""The examples with a loss of one's own, trained: a student of a teacher, and a model against an adversary."""

from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import EventsFile
from burnish.run.record.plan import settle_plan
from burnish.run.sinks import EventDispatcher
from burnish.spec.events import Evaluated, Event, Stepped
from burnish.testing.tiny_torch import tiny_model
from tests.project import BAD, GOOD, PLAIN, write_rows
from tests.training import train_here

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_loss"


@pytest.mark.parametrize("name", ["distil", "adversarial"])
def test_the_example_learns_in_its_folder(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    teacher = tmp_path / "runs" / "teacher" / "artifact" / "model"
    tiny_model(teacher, texts=(" ".join((*GOOD, *BAD, *PLAIN)),))
    write_rows(tmp_path / "reviews.csv", 120)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(EXAMPLE)
    run, events = RunDirectory(tmp_path / "run"), list[Event]()
    settle_plan(run, check(EXAMPLE / f"{name}.yaml", overrides=["runtime.threads=1", "task.max_length=24"]))
    train_here(run, sinks=EventDispatcher(EventsFile(run.events), 1, events.append))
    losses = [event.loss for event in events if isinstance(event, Stepped)]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])
    assert max(event.scores["accuracy"] for event in events if isinstance(event, Evaluated)) > 0.8
