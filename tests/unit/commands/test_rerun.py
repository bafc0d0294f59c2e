"""Where a run is trained again, and what is refused before any training."""

import json
from pathlib import Path

import pytest

from burnish.commands.rerun import free_directory, rerun
from burnish.errors import CheckpointError


def run_in(path: Path, *, reason: str | None) -> Path:
    path.mkdir(parents=True)
    (path / "plan.yaml").write_text("name: x\n")
    if reason is not None:
        (path / "exit.json").write_text(json.dumps({"reason": reason, "step": 3, "seconds": 1}))
    return path


def test_the_second_run_stands_beside_the_first(tmp_path: Path) -> None:
    run = run_in(tmp_path / "sst2", reason="finished")
    assert free_directory(run) == tmp_path / "sst2-rerun"


def test_a_finished_rerun_is_left_alone_and_an_interrupted_one_is_gone_on_with(tmp_path: Path) -> None:
    run = run_in(tmp_path / "sst2", reason="finished")
    run_in(tmp_path / "sst2-rerun", reason="finished")
    assert free_directory(run) == tmp_path / "sst2-rerun-2"
    run_in(tmp_path / "sst2-rerun-2", reason="preempted")
    assert free_directory(run) == tmp_path / "sst2-rerun-2"


def test_a_folder_that_is_no_run_is_not_taken(tmp_path: Path) -> None:
    run = run_in(tmp_path / "sst2", reason="finished")
    (tmp_path / "sst2-rerun").mkdir()
    assert free_directory(run) == tmp_path / "sst2-rerun-2"


@pytest.mark.parametrize("reason", [None, "preempted", "failed"])
def test_a_run_that_has_not_ended_cannot_be_verified(tmp_path: Path, reason: str | None) -> None:
    run = run_in(tmp_path / "sst2", reason=reason)
    with pytest.raises(
        CheckpointError, match="has not finished, so there is nothing to verify; finish it with `burnish resume"
    ):
        rerun(run, verify=True)


def test_a_run_is_not_trained_into_itself(tmp_path: Path) -> None:
    run = run_in(tmp_path / "sst2", reason="finished")
    with pytest.raises(CheckpointError, match="cannot be trained again into itself"):
        rerun(run, directory=run)
