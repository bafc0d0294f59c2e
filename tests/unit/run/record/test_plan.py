"""The plan of a run that several nodes begin: one of them writes it, and all agree."""

import threading
from pathlib import Path

import pytest

from burnish.commands.config import check
from burnish.config import load
from burnish.errors import CheckpointError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.plan import AnotherExperiment, share_plan


def test_nodes_that_begin_at_once_leave_one_plan_and_nothing_else(tmp_path: Path) -> None:
    run, resolved = RunDirectory(tmp_path / "run"), check("glue/sst2")
    threads = [threading.Thread(target=share_plan, args=(run, resolved)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [each.name for each in run.path.iterdir()] == ["plan.yaml"]
    assert load(str(run.plan)).experiment == resolved.experiment


def test_a_node_with_other_options_is_refused(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    share_plan(run, check("glue/sst2"))
    with pytest.raises(AnotherExperiment, match=r"train\.batch"):
        share_plan(run, check("glue/sst2", overrides=["train.batch=7"]))
    assert [each.name for each in run.path.iterdir()] == ["plan.yaml"]


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(CheckpointError, match="holds files but no run"):
        share_plan(RunDirectory(tmp_path), check("glue/sst2"))
