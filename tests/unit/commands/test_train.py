"""Two who train into one directory at the same time, and workers that end before they began."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pandas as pd
import pytest

from burnish.commands import train as module
from burnish.commands.config import check
from burnish.commands.train import work
from burnish.errors import BurnishError, CheckpointError, LaunchError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.events_file import to_dict
from burnish.run.record.plan import read_plan, settle_plan
from burnish.spec.events import Started

CONFIG = "task: {type: tabular, target: y}\ndata: rows.csv\nmodel: linear\n"
FIRST = """
import sys
from pathlib import Path
from burnish.commands import train as module
from burnish.run.record.plan import read_plan

def work(run, **_options):
    # Here the worker would start; what it finds must be what this process settled, whoever came in between.
    print("settled", flush=True)
    sys.stdin.readline()
    print(read_plan(run).optimizer.learning_rate, flush=True)
    return module.read_result(run)

module.work = work
module.train("mine.yaml", overrides=["optimizer.learning_rate=0.25"], directory=Path("run"))
"""


def test_the_first_trains_its_own_experiment_and_the_second_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "rows.csv").write_text("x,y\n1,0\n")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", FIRST], cwd=tmp_path, **pipes) as first:  # type: ignore[call-overload]  # all options are named
        assert first.stdout.readline() == "settled\n"
        options = ["train", "mine.yaml", "optimizer.learning_rate=0.5", "--dir", "run", "--quiet"]
        second = subprocess.run(
            [sys.executable, "-m", "burnish", *options], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        said, _ = first.communicate("\n")
    assert said == "0.25\n"
    assert f"run is being trained by process {first.pid} on" in second.stderr
    assert second.returncode == 5
    assert first.returncode == 0
    assert not (tmp_path / "run" / "lock.json").exists()


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGTERM, "preempted"), (signal.SIGINT, "interrupted")])
def test_a_signal_that_comes_before_the_worker_listens_is_a_request_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    run = RunDirectory(tmp_path / "run")
    (run.checkpoints / "step-00000500").mkdir(parents=True)
    monkeypatch.setattr(module, "run_worker", lambda *_args, **_options: -number)
    result = work(run, watch=lambda _event: None)
    assert (result.reason, result.step) == (reason, 500)
    assert run.status() == reason


def test_a_worker_that_is_killed_is_no_request_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_worker", lambda *_args, **_options: -signal.SIGKILL)
    with pytest.raises(LaunchError, match="died with signal 9"):
        work(RunDirectory(tmp_path), watch=lambda _event: None)


def test_an_ending_that_no_process_of_the_run_could_tell_is_told_by_who_started_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, told = RunDirectory(tmp_path), list[str]()
    monkeypatch.setattr("burnish.run.announce.announce_failure", lambda _run, error, **_: told.append(str(error)))

    def refuse(_argv: list[str], *, on_line: Callable[[str], None], start: object, is_started: bool, kind: str) -> int:
        if is_started:
            on_line(json.dumps(to_dict(Started(0, 1, 10))))
        on_line(json.dumps({"error": kind, "message": "the second process had enough"}))
        return 4

    def end(*, is_started: bool, kind: str) -> None:
        monkeypatch.setattr(module, "run_worker", partial(refuse, is_started=is_started, kind=kind))
        with pytest.raises(BurnishError, match="had enough"):
            work(run, watch=lambda _event: None)

    end(is_started=False, kind="CheckpointError")  # such as one that another process trains
    end(is_started=True, kind="LaunchError")
    assert not run.exit.exists()
    end(is_started=True, kind="DataError")
    assert run.status() == "failed"
    assert len(told) == 2
    end(is_started=True, kind="DataError")  # its first process has said so
    assert len(told) == 2


def test_a_worker_that_was_interrupted_twice_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "run_worker", lambda *_args, **_options: 128 + signal.SIGINT)
    with pytest.raises(LaunchError, match=r"was stopped at once by a second signal, before it could save"):
        work(RunDirectory(tmp_path), watch=lambda _event: None)


def test_a_directory_whose_name_is_not_utf_8_is_refused_before_anything_is_trained(tmp_path: Path) -> None:
    config = tmp_path / os.fsdecode(b"c\xff.yaml")
    config.write_text(CONFIG)
    with pytest.raises(CheckpointError, match="is not UTF-8, and weights cannot be written there"):
        module.train(str(config), directory=tmp_path / os.fsdecode(b"run\xff"))
    assert list(tmp_path.iterdir()) == [config]


def test_a_config_whose_name_is_not_utf_8_is_told_of_in_the_plan(tmp_path: Path) -> None:
    config = tmp_path / os.fsdecode(b"c\xff.yaml")
    config.write_text(CONFIG)
    run = RunDirectory(tmp_path / "run")
    settle_plan(run, check(str(config)))
    assert "c\\udcff.yaml:1" in run.plan.read_text()
    assert read_plan(run) == check(str(config)).experiment


def test_a_data_frame_is_refused_with_what_to_do() -> None:
    with pytest.raises(BurnishError, match=r"got a DataFrame; rows are trained by `burnish\.train\(df"):
        module.train(pd.DataFrame({"text": ["a"]}))  # type: ignore[arg-type]  # as people try
