"""Kills in a recovery from bad numbers, in bfloat16, and in a run that is about to lose patience."""

import json
from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.run.record.directory import RunDirectory
from tests.faults import mutants
from tests.faults.conftest import CONFIG, IS_FULL, Scene, Tally, copy_of, undisturbed
from tests.faulty_model import POISON, poisoned_model
from tests.harness.digests import digests
from tests.harness.faults import Fault, Point
from tests.project import make_project, write_rows

pytestmark = pytest.mark.timeout(900)  # the first to ask for a scene makes it, and a busy machine takes its time
EVERY = 1 if IS_FULL else 9
POISONED_LINE = 40


@pytest.fixture(scope="module")
def poisoned(scene: Scene) -> Scene:
    """A run that meets NaN once an epoch, goes back each time and passes over the batch."""
    root = scene.root / "poisoned"
    project = make_project(root, model=poisoned_model(root / "model"), rows=80, config=CONFIG)
    lines = project.data.read_text().splitlines()
    lines[POISONED_LINE - 1] = lines[POISONED_LINE - 1].replace(",", f" {POISON},")
    project.data.write_text("\n".join(lines) + "\n")
    write_rows(root / "held-out.csv", 24, seed=1)
    text = project.config.read_text().replace("split: {validation: 32, test: 64}", f"validation: {root}/held-out.csv")
    project.config.write_text(text)
    overrides = ["train.length=2 epochs", "train.patience=null", "runtime.seed=3"]
    return undisturbed(root / "runs", scene.server, check(str(project.config), overrides=overrides))


def test_not_a_number_is_told_mended_and_recorded(poisoned: Scene) -> None:
    run = poisoned.undisturbed
    assert len(json.loads(run.repairs.read_text())["skipped"]) == 2
    said = (run.path / "output.txt").read_text()
    assert said.count("gave a loss of nan and a gradient norm of nan; going back to step") == 2
    losses = [json.loads(line)["loss"] for line in run.events.read_text().splitlines() if '"stepped"' in line]
    assert losses
    assert all(isinstance(loss, float) for loss in losses)


@pytest.mark.parametrize("part", range(2))
def test_killed_in_the_middle_of_a_recovery_it_ends_with_the_same_bits(
    poisoned: Scene, tally: Tally, part: int
) -> None:
    for number, fault in list(enumerate(faults_of_recovery(poisoned)))[part :: 2 * EVERY]:
        run = poisoned.plan(f"killed-{number}")
        poisoned.killed(run, fault, tally)
        poisoned.resume(run, tally)
        poisoned.assert_same(run, tally)


def faults_of_recovery(scene: Scene) -> list[Fault]:
    points = [point for point in scene.points if is_of_recovery(point)]
    assert {point.kind for point in points} >= {"write", "fsync", "replace"}
    return [Fault(point.kind, point.number, moment) for point in points for moment in ("before", "after")]


def is_of_recovery(point: Point) -> bool:
    name = Path(point.path).name
    return "repairs.json" in name or "events.replaced" in name or name.startswith(".events.jsonl")


@pytest.mark.parametrize(
    ("policy", "why"),
    [("stop", "train.recovery.action is stop"), ("{action: lower, tries: 1}", "1 recovery did not help")],
)
def test_when_nothing_more_may_be_tried_it_ends_with_the_step_the_rows_and_what_to_do(
    poisoned: Scene, tally: Tally, policy: str, why: str
) -> None:
    run = poisoned.plan(f"hopeless-{policy[:4]}", f"train.recovery={policy}")
    assert poisoned.start(run, tally).wait() == 1
    ending = json.loads(run.exit.read_text())
    assert (ending["reason"], ending["error"]) == ("failed", "BurnishError")
    assert "gave a loss of nan" in ending["message"]
    assert ending["message"].startswith("step ")
    for words in (why, f"data.csv:{POISONED_LINE}", "lower optimizer.learning_rate"):
        assert words in ending["message"]


def test_memory_that_runs_out_where_nothing_can_be_cut_ends_it_with_a_sentence(scene: Scene, tally: Tally) -> None:
    run = scene.plan("no-memory")
    change = "tests.faulty_model:leave_the_optimizer_no_memory"
    assert scene.start(run, tally, change=change).wait() == 1
    assert "out of memory where a smaller batch does not help" in json.loads(run.exit.read_text())["message"]
    assert "Traceback" not in (run.path / "output.txt").read_text()


@pytest.fixture(scope="module")
def coarse(scene: Scene) -> Scene:
    """The same experiment in bfloat16, which this processor may have to emulate."""
    resolved = check(str(scene.undisturbed.plan), overrides=["runtime.precision=bf16", "train.length=2 epochs"])
    return undisturbed(scene.root / "coarse", scene.server, resolved)


def test_it_does_compute_in_bfloat16(scene: Scene, coarse: Scene) -> None:
    assert '"precision": "bf16"' in coarse.undisturbed.events.read_text()
    assert losses(coarse.undisturbed) != losses(scene.undisturbed)[: len(losses(coarse.undisturbed))]


@pytest.mark.parametrize("save", range(2))
def test_killed_in_bfloat16_it_ends_with_the_same_bits(coarse: Scene, tally: Tally, save: int) -> None:
    run = coarse.plan(f"killed-{save}")
    point = [point for point in coarse.points_of_save(save) if point.kind == "tensors"][save]
    coarse.killed(run, Fault(point.kind, point.number, "within"), tally)
    coarse.resume(run, tally)
    coarse.assert_same(run, tally)


@pytest.fixture(scope="module")
def stubborn(scene: Scene) -> Scene:
    """The same experiment with a rate at which no score ever improves, so that patience ends it."""
    resolved = check(str(scene.undisturbed.plan), overrides=["optimizer.learning_rate=1e-12", "train.keep=9"])
    return undisturbed(scene.root / "stubborn", scene.server, resolved)


def test_killed_with_some_patience_used_up_it_stops_early_at_the_same_step(stubborn: Scene, tally: Tally) -> None:
    assert json.loads(stubborn.undisturbed.exit.read_text())["reason"] == "early_stopping"
    run = stubborn.plan("cut")
    last = [point for point in stubborn.points if point.kind == "tensors" and "building" in point.path][-1]
    stubborn.killed(run, Fault(last.kind, last.number), tally)
    assert tally.kills == 1
    forgetful = copy_of(run, "forgetful")
    stubborn.resume(run, tally)
    stubborn.assert_same(run, tally)
    change = mutants.address(mutants.the_patience_begins_anew)
    assert stubborn.start(forgetful, tally, change=change).wait() == 0
    assert digests(forgetful) != stubborn.expected


ADAPTIVE = [
    "schedule={type: reduce_on_plateau, patience: 0, rate: 0.5}",
    "optimizer={type: torch, name: NAdam, learning_rate: 1e-3}",
    "train.select={score: accuracy, direction: min}",
    "train.ema={decay: 0.9, start_step: 5, dynamic: true}",
    "train.clip_value=0.01",
    "train.patience=null",
    "train.recompute=true",
]


@pytest.fixture(scope="module")
def adaptive(scene: Scene) -> Scene:
    """The same experiment with a rate that follows the scores, of which none improves as it is asked to."""
    resolved = check(str(scene.undisturbed.plan), overrides=ADAPTIVE)
    return undisturbed(scene.root / "adaptive", scene.server, resolved)


def test_killed_after_a_plateau_it_goes_on_at_the_reduced_rate(adaptive: Scene, tally: Tally) -> None:
    assert min(rates(adaptive.undisturbed)) <= 1e-3 / 4
    run = adaptive.plan("cut")
    tensors = [point for point in adaptive.points if point.kind == "tensors" and "building" in point.path]
    middle = tensors[len(tensors) // 2]
    adaptive.killed(run, Fault(middle.kind, middle.number), tally)
    forgetful = copy_of(run, "forgetful")
    adaptive.resume(run, tally)
    adaptive.assert_same(run, tally)
    change = mutants.address(mutants.the_schedule_begins_anew)
    assert adaptive.start(forgetful, tally, change=change).wait() == 0
    assert digests(forgetful) != adaptive.expected


def rates(run: RunDirectory) -> list[float]:
    return [json.loads(line)["learning_rate"] for line in run.events.read_text().splitlines() if '"stepped"' in line]


def losses(run: RunDirectory) -> list[float]:
    return [json.loads(line)["loss"] for line in run.events.read_text().splitlines() if '"stepped"' in line]
