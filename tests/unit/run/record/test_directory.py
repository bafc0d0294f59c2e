import json
import os
import socket
from pathlib import Path

import pytest

from burnish.errors import CheckpointError
from burnish.run.record.directory import (
    STALE_SECONDS,
    LockOwner,
    RunDirectory,
    default_directory,
    find_run,
    find_runs,
    read_json,
    write_json,
    write_text,
)

NOW = 1_000_000.0


def make_run(path: Path, **files: object) -> RunDirectory:
    path.mkdir(parents=True)
    run = RunDirectory(path)
    run.plan.write_text("name: x\n")
    for name, value in files.items():
        getattr(run, name).write_text(json.dumps(value))
    return run


def lock(*, pid: int | None = None, host: str | None = None, age: float = 0.0) -> dict[str, object]:
    return {
        "pid": os.getpid() if pid is None else pid,
        "host": host or socket.gethostname(),
        "heartbeat": NOW - age,
    }


def dead_pid() -> int:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def test_a_plan_makes_a_run(tmp_path: Path) -> None:
    assert not RunDirectory(tmp_path).exists()
    assert make_run(tmp_path / "a").exists()


def test_a_run_in_which_nothing_happened_is_new(tmp_path: Path) -> None:
    assert RunDirectory(tmp_path / "absent").status() == "new"
    assert make_run(tmp_path / "a").status() == "new"


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("finished", "finished"),
        ("early_stopping", "finished"),
        ("preempted", "preempted"),
        ("interrupted", "interrupted"),
        ("deadline", "preempted"),
        ("stop_file", "preempted"),
        ("orphaned", "preempted"),
        ("failed", "failed"),
        ("anything else", "failed"),
    ],
)
def test_the_ending_decides_the_status(tmp_path: Path, reason: str, status: str) -> None:
    run = make_run(tmp_path / "a", events={}, exit={"reason": reason})
    assert run.status() == status


def test_a_run_that_began_and_never_said_how_it_ended_was_interrupted(tmp_path: Path) -> None:
    assert make_run(tmp_path / "a", events={}).status() == "interrupted"


def test_half_an_exit_file_counts_as_none(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", events={})
    run.exit.write_text('{"reason": "fini')
    assert run.status() == "interrupted"


@pytest.mark.parametrize(
    ("held_by", "status"),
    [
        (lock(), "running"),
        (lock(age=STALE_SECONDS + 1), "interrupted"),
        (lock(host="another-host", pid=1), "running"),
        (lock(host="another-host", age=STALE_SECONDS + 1), "interrupted"),
        (lock(pid=dead_pid()), "interrupted"),
        (lock(pid=0), "interrupted"),
        (lock(pid=2**70), "interrupted"),
        ({"pid": "me"}, "interrupted"),
        ([], "interrupted"),
    ],
)
def test_a_run_goes_while_a_living_process_with_a_fresh_heartbeat_holds_it(
    tmp_path: Path, held_by: object, status: str
) -> None:
    run = make_run(tmp_path / "a", events={}, lock=held_by)
    assert run.status(now=lambda: NOW) == status


def test_a_held_lock_outweighs_the_ending_of_an_earlier_attempt(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", events={}, lock=lock(), exit={"reason": "preempted"})
    assert run.status(now=lambda: NOW) == "running"


def test_the_lock_that_is_written_is_the_lock_that_is_read(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    assert run.read_lock() is None
    assert run.write_lock(now=NOW) == run.read_lock() == LockOwner(os.getpid(), socket.gethostname(), NOW)


def test_writing_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "scores.json"
    write_json(path, {"a": 1, "long": "x" * 1000})
    write_json(path, {"b": 2})
    assert read_json(path) == {"b": 2}
    assert [each.name for each in path.parent.iterdir()] == ["scores.json"]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.yaml"
    write_text(path, "old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(CheckpointError, match=r"plan.yaml could not be written: No space left on device"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["plan.yaml"]


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe\x00", b"[1, 2"])
def test_what_is_not_json_reads_as_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(content)
    assert read_json(path) is None


def test_runs_are_found_at_any_depth_but_not_inside_runs(tmp_path: Path) -> None:
    make_run(tmp_path / "b")
    make_run(tmp_path / "group" / "a")
    make_run(tmp_path / "b" / "checkpoints" / "inner")
    make_run(tmp_path / ".hidden" / "c")
    assert [run.path for run in find_runs(tmp_path)] == [tmp_path / "b", tmp_path / "group" / "a"]
    assert [run.path for run in find_runs(tmp_path / "b")] == [tmp_path / "b"]
    assert find_runs(tmp_path / "absent") == []


def test_runs_behind_links_are_found_once_and_a_link_to_a_folder_above_ends(tmp_path: Path) -> None:
    for place in ("elsewhere/far", "here/near"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "plan.yaml").write_text("")
    here = tmp_path / "here"
    (here / "a-link").symlink_to(tmp_path / "elsewhere")
    (here / "again").symlink_to(here / "near")
    (here / "above").symlink_to(tmp_path)
    (here / "broken").symlink_to(tmp_path / "absent")
    assert [run.path.relative_to(here).as_posix() for run in find_runs(here)] == ["a-link/far", "near"]
    (tmp_path / "whole").symlink_to(here)
    assert [run.name for run in find_runs(tmp_path / "whole")] == ["far", "near"]


def test_a_run_is_found_by_path_or_by_name(tmp_path: Path) -> None:
    make_run(tmp_path / "glue-sst2")
    assert find_run("glue-sst2", root=tmp_path).path == tmp_path / "glue-sst2"
    assert find_run(tmp_path / "glue-sst2").path == tmp_path / "glue-sst2"


def test_a_misspelt_run_gets_a_suggestion(tmp_path: Path) -> None:
    make_run(tmp_path / "glue-sst2")
    with pytest.raises(CheckpointError, match=r"glue-sts2 is not a run.*Did you mean `glue-sst2`\?"):
        find_run("glue-sts2", root=tmp_path)
    with pytest.raises(CheckpointError, match=r"`burnish runs ls` lists"):
        find_run("anything", root=tmp_path / "absent")


@pytest.mark.parametrize(
    ("experiment", "folder"),
    [
        ("glue/sst2", "runs/glue-sst2"),
        ("imdb", "runs/imdb"),
        ("./my/mine.yaml", "runs/mine"),
        ("mine.yml", "runs/mine"),
    ],
)
def test_the_folder_of_a_run_is_named_after_its_experiment(experiment: str, folder: str) -> None:
    assert default_directory(experiment) == Path(folder)


def test_a_name_that_is_not_utf_8_is_written_so_that_it_is_read_back(tmp_path: Path) -> None:
    name = os.fsdecode(b"rows\xff.csv")
    write_json(tmp_path / "data.json", {name: "é"})
    assert read_json(tmp_path / "data.json") == {name: "é"}
