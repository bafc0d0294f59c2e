"""This machine as a node: what is started, how others join, and what its process says of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burnish.errors import ConfigError, LaunchError
from burnish.launch.cluster import LOG, read_log
from burnish.launch.options import read_launcher
from burnish.launch.torchrun import Torchrun
from burnish.launch.transfer import list_remote, read_remote, remove_remote, upload, write_remote
from burnish.spec.launcher import JobSpec

JOB = JobSpec("train-a", ("train", "experiment.yaml", "--dir", "outputs/run"))
SET = ("folder=/shared/jobs", "python=python")


def test_a_job_is_the_worker_as_node_0() -> None:
    options = (*SET, "nodes=1:2", "rendezvous=n1:29400", "env.TOKEN=s3cret")
    request = read_launcher("torchrun", options).render(JOB)
    assert request["command"] == ["python", "-m", "burnish.launch.worker", "/shared/jobs/train-a/job.json"]
    told = {name: str(value) for name, value in request["env"].items()}
    assert told == {
        "BURNISH_NODES": "1:2",
        "BURNISH_RENDEZVOUS": "n1:29400",
        "BURNISH_NODE_RANK": "0",
        "TOKEN": "**********",
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["nodes=2"], "needs a `rendezvous`"),
        (["nodes=2", "rendezvous=n1"], "HOST:PORT"),
        (["partition=gpu"], "launch.partition"),
        (["folder=s3://bucket"], "no address"),
    ],
)
def test_a_wrong_option_is_refused(options: list[str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("torchrun", options)
    assert said in str(refused.value)


def test_a_folder_that_cannot_be_written_is_found_before(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (found,) = read_launcher("torchrun", [f"folder={tmp_path}/file"]).check(JOB)
    assert not found.is_met


@pytest.mark.parametrize(("python", "is_there"), [("/typo/python", False), ("no-such-python", False), ("sh", True)])
def test_an_interpreter_that_is_not_there_is_found_before_the_folder_is_filled(
    tmp_path: Path, python: str, *, is_there: bool
) -> None:
    launcher = read_launcher("torchrun", [f"folder={tmp_path}", f"python={python}"])
    found = {each.what: each for each in launcher.check(JOB)}
    assert found["python"].is_met is is_there
    assert is_there or f"launch.python: there is no {python} here" in found["python"].sentence


def test_an_interpreter_that_cannot_be_started_is_told_in_a_sentence(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("no program")
    python.chmod(0o755)
    (tmp_path / JOB.name).mkdir()
    with pytest.raises(LaunchError, match=f"{python} could not be started"):
        read_launcher("torchrun", [f"folder={tmp_path}", f"python={python}"]).submit(JOB)


def test_the_state_is_that_of_its_process_or_what_it_left(tmp_path: Path) -> None:
    root, launcher = str(tmp_path), Torchrun()
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", root], stdin=subprocess.PIPE)
    (tmp_path / "process").write_text(str(process.pid))
    assert launcher.status(root).state == "running"
    launcher.cancel(root)
    process.wait()
    assert launcher.status(root).state == "failed"
    with pytest.raises(LaunchError, match="is gone"):
        launcher.cancel(root)
    for code, state in ((0, "finished"), (75, "stopped"), (4, "failed")):
        (tmp_path / "result.json").write_text(f'{{"exit_code": {code}}}')
        assert launcher.status(root).state == state


def test_a_number_that_is_another_process_by_now_is_not_taken_for_the_job(tmp_path: Path) -> None:
    (tmp_path / "process").write_text(str(os.getpid()))
    assert Torchrun().status(str(tmp_path)).state == "failed"


def test_a_log_is_read_on_from_the_line_that_was_read_last(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b"one\ntw\xff\nhalf")
    first, second = read_log(str(tmp_path), after="")
    assert (first.text, second.text) == ("one", "tw\ufffd")
    assert [line.text for line in read_log(str(tmp_path), after=first.key)] == ["tw\ufffd"]
    assert list(read_log(str(tmp_path), after=second.key)) == []
    assert first.key < second.key


def test_a_folder_that_is_not_there_yet_is_made_filled_and_removed(tmp_path: Path) -> None:
    launcher = read_launcher("torchrun", [f"folder={tmp_path}/shared/jobs"])
    assert all(each.is_met for each in launcher.check(JOB))
    root = launcher.root(JOB)
    (tmp_path / "made").write_text("x")
    write_remote(f"{root}/job.json", b"{}")
    upload(tmp_path / "made", f"{root}/files/a/made")
    assert list_remote(root) == ["files/a/made", "job.json"]
    assert (read_remote(f"{root}/job.json"), read_remote(f"{root}/STOP")) == (b"{}", None)
    remove_remote(f"{root}/job.json")
    remove_remote(f"{root}/STOP")
    assert list_remote(root) == ["files/a/made"]
    remove_remote(root)
    assert not Path(root).exists()
