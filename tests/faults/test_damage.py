"""A checkpoint that was changed on disk is put aside and told of, and the one before it leads to the same bits."""

import shutil
from pathlib import Path

import pytest

from burnish.run.directory import RunDirectory
from burnish.testing.faults import Fault
from tests.faults.conftest import Scene, Tally

FILES = (
    "MANIFEST.json",
    "averages.safetensors",
    "optimizer.json",
    "optimizer.safetensors",
    "state.json",
    "weights.safetensors",
)


@pytest.fixture(scope="module")
def halfway(scene: Scene) -> RunDirectory:
    """A run that was killed when it had two good checkpoints."""
    run = scene.plan("halfway")
    fault = next(p for p in scene.points_of_save(2) if p.kind == "tensors")
    assert scene.start(run, Tally(), fault=Fault(fault.kind, fault.number)).wait() == -9
    assert len(whole(run)) == 2
    return run


def test_the_files_named_here_are_those_of_a_checkpoint(halfway: RunDirectory) -> None:
    assert tuple(sorted(path.name for path in whole(halfway)[-1].iterdir())) == FILES


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flipped", "cut"])
def test_damage_to_any_file_is_found_told_and_survived(
    scene: Scene, tally: Tally, halfway: RunDirectory, name: str, damage: str
) -> None:
    run = RunDirectory(scene.root / f"{damage}-{name}")
    shutil.copytree(halfway.path, run.path)
    newest, before = whole(run)[-1], whole(run)[-2]
    harm(newest / name, damage)
    scene.resume(run, tally)
    said = (run.path / "output.txt").read_text()
    assert f"checkpoint {newest.name} is damaged" in said
    assert f"going on from step {int(before.name[5:])}" in said
    assert (run.quarantine / newest.name / "REASON.txt").read_text().strip()
    scene.assert_same(run, tally)


def test_no_good_checkpoint_left_is_a_refusal_and_never_a_fresh_start(scene: Scene, halfway: RunDirectory) -> None:
    run = RunDirectory(scene.root / "all-damaged")
    shutil.copytree(halfway.path, run.path)
    for folder in whole(run):
        harm(folder / "weights.safetensors", "flipped")
    attempt = scene.start(run, Tally())
    assert attempt.wait() == 5
    assert "none of the 2 checkpoints" in attempt.output.read_text()


def whole(run: RunDirectory) -> list[Path]:
    return sorted(run.checkpoints.glob("step-*"))


def harm(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "cut":
        path.write_bytes(content[:-1])
        return
    place = content.rindex(b"sha256") + 12 if path.name == "MANIFEST.json" else len(content) // 2
    content[place] ^= 1
    path.write_bytes(content)
