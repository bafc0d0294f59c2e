"""A disk that is full at any call of a save leaves no torn checkpoint, and the run goes on to the same bits."""

import json
import threading

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.storage import manifest
from tests.faults.conftest import IS_FULL, Scene, Tally
from tests.harness.faults import Action, Fault, Point

NEEDING_SPACE = ("open", "write", "fsync", "tensors")
EVERY = 1 if IS_FULL else 7
LONGEST_SECONDS = 60.0
REFUSED = 5


@pytest.mark.parametrize("action", ["full", "full_from"])
@pytest.mark.parametrize("part", range(4))
def test_a_full_disk_is_waited_for_or_ends_the_run_and_tears_nothing(
    scene: Scene, tally: Tally, action: Action, part: int
) -> None:
    points = [point for point in scene.points_of_save(1) if point.kind in NEEDING_SPACE][part :: 4 * EVERY]
    assert points
    for point in points:
        run = scene.plan(f"{action}-{point.kind}-{point.number}", "train.disk_wait=never")
        code = starved(scene, run, point, tally, action=action)
        assert code in (0, REFUSED)
        assert [manifest.fault(folder) for folder in run.checkpoints.glob("step-*")] == [None] * checkpoints(run)
        scene.resume(run, tally)
        scene.assert_same(run, tally)


def test_a_disk_that_has_room_again_lets_the_run_go_on_by_itself(scene: Scene, tally: Tally) -> None:
    point = next(point for point in scene.points_of_save(0) if point.kind == "tensors")
    run = scene.plan("paused")
    assert starved(scene, run, point, tally, action="full") == 0
    assert "has no room for a checkpoint" in (run.path / "output.txt").read_text()
    scene.assert_same(run, tally)


@pytest.mark.parametrize("number", range(2))
def test_a_disk_that_is_full_when_all_is_trained_ends_it_with_a_sentence(
    scene: Scene, tally: Tally, number: int
) -> None:
    points = [point for point in scene.points if "artifact" in point.path and point.kind in NEEDING_SPACE]
    point = points[number * (len(points) - 1)]
    run = scene.plan(f"full-at-the-end-{number}", "train.disk_wait=never")
    assert starved(scene, run, point, tally, action="full") == REFUSED
    assert "resume" in json.loads(run.exit.read_text())["message"]
    scene.resume(run, tally)
    scene.assert_same(run, tally)


def starved(scene: Scene, run: RunDirectory, point: Point, tally: Tally, *, action: Action) -> int:
    attempt = scene.start(run, tally, fault=Fault(point.kind, point.number, action=action))
    limit = threading.Timer(LONGEST_SECONDS, attempt.kill)
    limit.start()
    code = attempt.wait()
    limit.cancel()
    said = attempt.output.read_text()
    assert "Traceback" not in said, (point, said[-3000:])
    return code


def checkpoints(run: RunDirectory) -> int:
    return len(list(run.checkpoints.glob("step-*")))
