import json
import os
import socket
import time
from pathlib import Path

import pytest

from burnish.commands.run_control import remove, stop, tag, wait
from burnish.commands.runs import ls
from burnish.errors import BurnishError, CheckpointError, ConfigError
from burnish.run.record.directory import RunDirectory
from tests.unit.commands.run_maker import STORY, finish, make_run


def running(path: Path) -> RunDirectory:
    run = make_run(path, story=STORY[:5])
    run.lock.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "heartbeat": time.time()}))
    return run


def test_stopping_asks_a_run_that_runs_and_no_other(tmp_path: Path) -> None:
    run = running(tmp_path / "a")
    assert stop(run.path).stop_file.exists()
    finish(done := make_run(tmp_path / "b"))
    with pytest.raises(BurnishError, match="it is finished"):
        stop(done.path)
    assert not done.stop_file.exists()


def test_waiting_ends_when_the_run_does(tmp_path: Path) -> None:
    run = running(tmp_path / "a")

    def sleep(_seconds: float) -> None:
        run.lock.unlink()
        finish(run)

    assert wait(run.path, sleep=sleep) == "finished"


def test_waiting_ends_with_the_timeout(tmp_path: Path) -> None:
    clock = iter(range(100))
    with pytest.raises(BurnishError, match="still runs after 3 s"):
        wait(running(tmp_path / "a").path, timeout_seconds=3, sleep=lambda _: None, now=lambda: float(next(clock)))


def test_a_removed_run_is_gone_and_one_that_runs_is_not_removed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    (tmp_path / ".a.removed").mkdir()
    remove(run.path)
    assert not [*tmp_path.iterdir()]
    with pytest.raises(CheckpointError, match="runs stop"):
        remove(running(tmp_path / "b").path)
    with pytest.raises(CheckpointError, match="is not a run"):
        remove(tmp_path)
    assert (tmp_path / "b" / "plan.yaml").exists()


def test_removing_a_link_removes_the_run_it_points_to_and_nothing_else(tmp_path: Path) -> None:
    other = make_run(tmp_path / "other")
    run = make_run(tmp_path / "a")
    (run.path / "linked").symlink_to(other.path)
    remove(run.path)
    assert other.plan.exists()


def test_tags_are_kept_in_order_once_and_can_be_listed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    make_run(tmp_path / "b")
    assert tag(run.path, ["best", "v1"]) == ("best", "v1")
    assert tag(run.path, ["best", "paper"], remove=["v1", "absent"]) == ("best", "paper")
    assert [row.name for row in ls(tmp_path, tag="paper")] == ["a"]
    with pytest.raises(ConfigError, match="2 problems"):
        tag(run.path, ["a b", "", "fine"])


def test_a_file_of_tags_that_is_none_means_no_tags(tmp_path: Path) -> None:
    make_run(tmp_path / "a").tags.write_text('{"x": [1')
    assert ls(tmp_path)[0].tags == ()
