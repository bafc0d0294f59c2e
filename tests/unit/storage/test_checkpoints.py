"""Checkpoints that cannot lie."""

import json
import os
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.storage.checkpoints import CheckpointStore


class Told(list[str]):
    """Remembers sentences."""


def store(tmp_path: Path, told: Told | None = None) -> CheckpointStore:
    return CheckpointStore(
        tmp_path / "checkpoints", tmp_path / "quarantine", tell=(Told() if told is None else told).append
    )


def save(kept: CheckpointStore, *steps: int) -> None:
    for step in steps:
        kept.save(
            step, {"step": step}, lambda folder, step=step: (folder / "weights.bin").write_bytes(bytes([step] * 9))
        )


def test_the_newest_good_one_is_given(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5, 10)
    newest = kept.newest()
    assert newest is not None
    assert (newest.step, newest.state()) == (10, {"step": 10})


def test_a_run_without_checkpoints_has_none(tmp_path: Path) -> None:
    assert store(tmp_path).newest() is None


@pytest.mark.parametrize("name", ["weights.bin", "state.json", "MANIFEST.json"])
@pytest.mark.parametrize("harm", ["flip", "cut", "remove"])
def test_a_damaged_one_is_put_aside_told_and_passed_over(tmp_path: Path, name: str, harm: str) -> None:
    told = Told()
    kept = store(tmp_path, told)
    save(kept, 5, 10)
    damage(tmp_path / "checkpoints" / "step-00000010" / name, harm)
    newest = kept.newest()
    assert newest is not None
    assert newest.step == 5
    assert len(told) == 1
    assert "step-00000010 is damaged" in told[0]
    assert (tmp_path / "quarantine" / "step-00000010" / "REASON.txt").read_text().strip() in told[0]


def damage(path: Path, harm: str) -> None:
    content = bytearray(path.read_bytes())
    if harm == "remove":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(content[:-3])
    else:
        # The first byte of a manifest is its brace; of other files, any byte will do.
        content[0] ^= 255
        path.write_bytes(content)


def test_when_none_is_good_it_refuses_and_never_starts_afresh(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)
    (tmp_path / "checkpoints" / "step-00000005" / "state.json").write_text("{}")
    with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
        kept.newest()


def test_leftovers_of_a_killed_save_are_swept(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)
    (tmp_path / "checkpoints" / ".step-00000010.123.building").mkdir()
    assert kept.newest().step == 5  # type: ignore[union-attr]
    assert os.listdir(tmp_path / "checkpoints") == ["step-00000005"]


def test_retention_keeps_the_last_and_the_wanted(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 1, 2, 3, 4)
    kept.retain(lambda step: step == 2, last=1)
    assert kept.steps() == [2, 4]


def test_another_format_is_refused_and_not_put_aside(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)
    path = tmp_path / "checkpoints" / "step-00000005" / "MANIFEST.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(CheckpointError, match="format 99"):
        kept.newest()
    assert kept.steps() == [5]
