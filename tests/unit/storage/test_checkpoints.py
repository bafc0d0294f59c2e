"""Checkpoints that cannot lie."""

import errno
import os
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.storage import manifest
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
    for _ in range(2):
        with pytest.raises(CheckpointError, match="none of the 1 checkpoints"):
            kept.newest()


def test_leftovers_of_a_killed_save_are_swept(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)
    (tmp_path / "checkpoints" / ".step-00000010.123.building").mkdir()
    assert kept.newest().step == 5  # type: ignore[union-attr]
    assert os.listdir(tmp_path / "checkpoints") == ["step-00000005"]


def test_a_deleted_one_is_gone_and_the_newest_cannot_be_deleted(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 1, 2, 3)
    kept.delete(2)
    assert kept.steps() == [1, 3]
    with pytest.raises(AssertionError, match="the newest"):
        kept.delete(3)


def test_a_failing_write_leaves_nothing_behind(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)

    def half(folder: Path) -> None:
        (folder / "weights.bin").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        kept.save(10, {}, half)
    assert os.listdir(tmp_path / "checkpoints") == ["step-00000005"]


def test_states_of_all_are_given_but_for_one_that_cannot_be_read(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 1, 2, 3)
    (tmp_path / "checkpoints" / "step-00000002" / "state.json").write_text("{")
    assert kept.states() == {1: {"step": 1}, 3: {"step": 3}}


def test_another_format_is_refused_and_not_put_aside(tmp_path: Path) -> None:
    kept = store(tmp_path)
    save(kept, 5)
    manifest.commit(tmp_path / "checkpoints" / "step-00000005", {"format": 99, "step": 5})
    with pytest.raises(CheckpointError, match="format 99"):
        kept.newest()
    assert kept.steps() == [5]


def test_an_older_one_that_is_damaged_is_found_at_the_start_too(tmp_path: Path) -> None:
    told = Told()
    kept = store(tmp_path, told)
    save(kept, 5, 10, 15)
    damage(tmp_path / "checkpoints" / "step-00000005" / "weights.bin", "flip")
    assert [each.step for each in kept.good()] == [10, 15]
    assert [sentence.split(" (")[0] for sentence in told] == ["checkpoint step-00000005 is damaged"]


def test_a_file_that_the_disk_refuses_to_read_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error")

    kept = store(tmp_path)
    save(kept, 5)
    monkeypatch.setattr(manifest, "sha256_of", unreadable)
    assert "cannot be read: Input/output error" in str(manifest.fault(tmp_path / "checkpoints" / "step-00000005"))
