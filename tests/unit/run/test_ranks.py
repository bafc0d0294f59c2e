"""From which checkpoint a run goes on."""

from pathlib import Path

import pytest

from burnish.dist.world import Solo
from burnish.run.ranks import newest_checkpoint
from burnish.storage.checkpoints import CheckpointStore


def resumed_from(root: Path, checkpoints: dict[int, int | None], *, damaged: int | None = None) -> int | None:
    """Save checkpoints that each speak of a best step, harm one, and tell which one a run would go on from."""
    store = CheckpointStore(root / "checkpoints", root / "quarantine", tell=lambda sentence: None)
    for step, best in checkpoints.items():
        state = {"train": {"best_step": best}, "cursor": {"epoch": 0, "batch": step}}
        store.save(step, state, lambda folder: (folder / "weights").write_bytes(b"1"))
    if damaged is not None:
        (root / "checkpoints" / f"step-{damaged:08d}" / "weights").write_bytes(b"2")
    found = newest_checkpoint(store, Solo())
    return None if found is None else found.step


def test_a_run_without_checkpoints_begins(tmp_path: Path) -> None:
    assert resumed_from(tmp_path, {}) is None


@pytest.mark.parametrize(
    ("damaged", "step"),
    [
        (None, 9),  # the newest
        (9, 6),  # the newest that is good
        (6, 3),  # the best is lost: from before it, it is made again
        (3, 9),  # nobody misses it
    ],
)
def test_the_newest_good_one_whose_best_is_there_is_taken(tmp_path: Path, damaged: int | None, step: int) -> None:
    assert resumed_from(tmp_path, {3: None, 6: 6, 9: 6}, damaged=damaged) == step


def test_when_the_best_cannot_be_made_again_the_newest_is_taken(tmp_path: Path) -> None:
    assert resumed_from(tmp_path, {6: 6, 9: 6}, damaged=6) == 9
