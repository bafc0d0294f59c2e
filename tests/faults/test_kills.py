"""A worker that is killed at any moment, as often as one likes, goes on to the bits of a run never killed."""

import signal
import time
from random import Random

import pytest

from burnish.commands.train import train
from burnish.run.record.directory import RunDirectory
from tests.faults.conftest import IS_FULL, Scene, Tally, is_complete
from tests.harness.digests import digests
from tests.harness.faults import TORN, Fault, Point

SLICES = 12
CHAINS = 90 if IS_FULL else 14
KILLS_IN_A_CHAIN = 3


def test_a_run_in_a_fresh_process_comes_to_the_bits_of_the_forked_one(scene: Scene) -> None:
    run = scene.root / "fresh"
    train(str(scene.undisturbed.plan), directory=run)
    assert digests(scene.plan("fresh")) == scene.expected


def test_what_is_compared_is_everything_that_a_run_comes_to(scene: Scene) -> None:
    names = {name.rpartition("/")[2] for name in scene.expected}
    tensors = {"weights.safetensors", "optimizer.safetensors", "averages.safetensors"}
    assert tensors | {"state.json", "test.parquet", "validation.parquet", "scores.json", "events.jsonl"} <= names


@pytest.mark.parametrize("number", range(CHAINS))
def test_killed_again_and_again_at_any_time_or_call_it_ends_with_the_same_bits(
    scene: Scene, tally: Tally, draw: Random, number: int
) -> None:
    run = scene.plan(f"chain-{number}")
    for link in range(KILLS_IN_A_CHAIN):
        if is_complete(run):
            break
        if (number + link) % 2:
            killed_at_a_time(scene, run, draw.uniform(0.1, 0.6), tally)
        else:
            scene.killed(run, drawn_fault(scene, draw, is_resumed=link > 0), tally)
    scene.resume(run, tally)
    scene.assert_same(run, tally)


@pytest.mark.slow
@pytest.mark.skipif(not IS_FULL, reason="takes minutes: `make faults` runs it")
@pytest.mark.parametrize("part", range(SLICES))
def test_killed_at_every_call_of_a_save_it_ends_with_the_same_bits(scene: Scene, tally: Tally, part: int) -> None:
    for number, fault in list(enumerate(all_faults(scene.points_of_save(2))))[part::SLICES]:
        run = scene.plan(f"save-{number}")
        scene.killed(run, fault, tally)
        scene.resume(run, tally)
        scene.assert_same(run, tally)


def killed_at_a_time(scene: Scene, run: RunDirectory, share: float, tally: Tally) -> None:
    attempt = scene.start(run, tally)
    time.sleep(share * scene.seconds)
    attempt.kill()
    code = attempt.wait()
    assert code in (0, -signal.SIGKILL), attempt.output.read_text()[-3000:]
    tally.kills += code == -signal.SIGKILL


def drawn_fault(scene: Scene, draw: Random, *, is_resumed: bool) -> Fault:
    # a resumed worker has fewer calls before it, and should still come as far as the one that is drawn
    reached = len(scene.points) // 3 if is_resumed else 2 * len(scene.points) // 3
    return draw.choice(all_faults([draw.choice(scene.points[:reached])]))


def all_faults(points: list[Point]) -> list[Fault]:
    moments = {point: ("before", "within", "after") if point.kind in TORN else ("before", "after") for point in points}
    return [Fault(point.kind, point.number, moment) for point in points for moment in moments[point]]
