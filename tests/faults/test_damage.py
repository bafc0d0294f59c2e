"""A checkpoint that was changed on disk is put aside and told of, and the one before it leads to the same bits."""

import json
import shutil
from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory
from tests.faults.conftest import Scene, Tally, copy_of, whole
from tests.harness.faults import Fault

FILES = (
    "MANIFEST.json",
    "averages.safetensors",
    "data.json",
    "optimizer.json",
    "optimizer.safetensors",
    "plan.yaml",
    "profile.json",
    "state.json",
    "weights.safetensors",
)


def test_the_files_named_here_are_those_of_a_checkpoint(halfway: RunDirectory) -> None:
    assert tuple(sorted(path.name for path in whole(halfway)[-1].iterdir())) == FILES


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_damage_to_any_file_is_found_told_and_survived(
    scene: Scene, tally: Tally, halfway: RunDirectory, name: str, damage: str
) -> None:
    run = copy_of(halfway, f"{damage}-{name}")
    newest, before = whole(run)[-1], whole(run)[-2]
    harm(newest / name, damage)
    scene.resume(run, tally)
    said = (run.path / "output.txt").read_text()
    assert f"checkpoint {newest.name} is damaged" in said
    assert f"continuing from step {int(before.name[5:])}" in said
    assert (run.quarantine / newest.name / "REASON.txt").read_text().strip()
    scene.assert_same(run, tally)


def test_no_good_checkpoint_left_is_a_refusal_and_never_a_fresh_start(scene: Scene, halfway: RunDirectory) -> None:
    run = copy_of(halfway, "all-damaged")
    for folder in whole(run):
        harm(folder / "weights.safetensors", "flipped")
    attempt = scene.start(run, Tally())
    assert attempt.wait() == 5
    assert "none of the 2 checkpoints" in attempt.output.read_text()


def harm(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(content[:-1])
        return
    place = content.rindex(b"sha256") + 12 if path.name == "MANIFEST.json" else len(content) // 2
    content[place] ^= 1
    path.write_bytes(content)


def test_a_best_checkpoint_that_was_damaged_is_made_again_from_the_one_before_it(scene: Scene, tally: Tally) -> None:
    run = scene.plan("best-damaged", "train.keep=9")
    points = [point for point in scene.points if point.kind == "tensors" and "building" in point.path]
    last = points[-1]
    scene.killed(run, Fault(last.kind, last.number), tally)
    best = json.loads((whole(run)[-1] / "state.json").read_text())["train"]["best_step"]
    assert int(whole(run)[0].name[5:]) < best < int(whole(run)[-1].name[5:])
    harm(run.checkpoints / f"step-{best:08d}" / "weights.safetensors", "flipped")
    scene.resume(run, tally)
    assert f"step-{best:08d} is damaged" in (run.path / "output.txt").read_text()
    scene.assert_same(run, tally)


def test_a_best_checkpoint_that_cannot_be_made_again_is_told_of_and_the_last_one_taken(scene: Scene) -> None:
    run = copy_of(scene.undisturbed, "best-lost")
    best, last = (int(folder.name[5:]) for folder in (whole(run)[0], whole(run)[-1]))
    harm(whole(run)[0] / "weights.safetensors", "flipped")
    run.exit.unlink()
    for folder in whole(run)[1:-1]:
        shutil.rmtree(folder)
    assert scene.start(run, Tally()).wait() == 0
    words = f"the best checkpoint, of step {best}, is lost; the weights of the last step, {last}, are taken"
    assert words in (run.path / "output.txt").read_text()
