"""Jobs of a real Slurm: they make room and come back, are stopped and resumed, and lose a node."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.places import (
    Job,
    await_that,
    descendants,
    kill_tree,
    last_step,
    run,
    sizes_of,
)
from tests.harness.server import TABLE, write_rides
from tests.harness.slurm import slurm_place

ENDLESS = ("train.length=1000000 steps", "train.evaluate_every=5000 steps", "train.checkpoint_every=500 steps")
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Job]:
    folder = tmp_path_factory.mktemp("slurm")
    write_rides(folder / "rides.csv", 200)
    (folder / "rides.yaml").write_text(f"name: rides\n{TABLE}")
    with slurm_place(folder) as place:
        place.folder = folder
        yield place


@pytest.fixture
def job(slurm: Job) -> Iterator[Job]:
    job = Job("slurm")
    yield job
    if job.name:
        run(["jobs", "stop", job.name, "--now"], folder=slurm.folder)
        run(["jobs", "wait", job.name, "--timeout", "120"], folder=slurm.folder)


def test_a_job_whose_time_is_over_saves_and_comes_back_by_itself(slurm: Job, job: Job) -> None:
    job.options = ("time=3", "signal_seconds=120")
    there = job.start(["rides.yaml", *ENDLESS], folder=slurm.folder)
    await_that(lambda: len(sizes_of(there)) == 2, what="a second start")
    assert "requeued 1 times" in job.show()["status"]["message"]
    log = job.ask("jobs", "logs", job.name)
    assert "saved to make room, and back into the queue" in log
    assert "work were lost" not in log  # it saved before it went
    assert "start 2 of" not in log


def test_a_preempted_job_tells_what_was_lost_and_comes_back_by_itself(slurm: Job, job: Job) -> None:
    there = job.start(["rides.yaml", *ENDLESS, "name=low"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 700, what="step 700")
    words = ["sbatch", "--parsable", "-p", "high", "-N", "2", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 5"]
    subprocess.run(words, check=True, capture_output=True, cwd=slurm.folder)
    await_that(lambda: len(sizes_of(there)) == 2, what="a second start")
    assert "requeued" in job.show()["status"]["message"]


def test_a_requeued_job_tells_what_was_lost(slurm: Job, job: Job) -> None:
    there = job.start(["rides.yaml", *ENDLESS, "name=requeued"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 700, what="step 700")
    kill_tree(worker_of(there))
    subprocess.run(["scontrol", "requeue", str(job.show()["record"]["id"]).split()[0]], check=True)
    await_that(lambda: len(sizes_of(there)) == 2, what="a second start")
    assert "s of work were lost" in job.ask("jobs", "logs", job.name)


def test_a_job_is_stopped_resumed_and_ended_by_its_exit_code(slurm: Job, job: Job) -> None:
    there = job.start(["rides.yaml", *ENDLESS, "name=stopped"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 100, what="step 100")
    job.ask("jobs", "stop", job.name, "--wait")
    assert job.show()["status"]["state"] == "stopped"
    assert job.wait() == 75
    stopped = last_step(there)
    job.ask("jobs", "resume", job.name, "--yes", "--detach")
    await_that(lambda: last_step(there) > stopped, what="a step after the stop")
    job.ask("jobs", "stop", job.name, "--now", "--wait")
    assert job.wait() == 75


def test_two_nodes_become_one_when_a_node_is_lost(slurm: Job, job: Job) -> None:
    job.options = ("nodes=1:2", slurm.options[-1], "sbatch=[--nodes=2]")
    there = job.start(["rides.yaml", *ENDLESS, "name=elastic"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 100, what="step 100")
    assert sizes_of(there) == [2]
    first = worker_of(there)
    others = [pid for pid in workers_of(job) if pid not in (first, *descendants(first))]
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    await_that(lambda: sizes_of(there)[-1] == 1, what="a start on one node")
    before = last_step(there)
    await_that(lambda: last_step(there) > before, what="a step on one node")


def test_a_refused_command_is_not_tried_again(slurm: Job, job: Job) -> None:
    (slurm.folder / "broken.csv").write_text("fare,tip\n1,yes\n")
    job.start(["rides.yaml", "data.train=broken.csv", "name=refused"], folder=slurm.folder)
    assert job.wait() in (2, 4)
    assert "start 2 of" not in job.ask("jobs", "logs", job.name)


def test_a_study_is_one_job_with_trials_in_parallel(slurm: Job, job: Job) -> None:
    job.folder = slurm.folder
    words = ["tune", "rides.yaml", "--trials", "3", "--parallel", "2", "--on", "slurm", "--detach"]
    job.name = job.ask(*words).split()[-1]
    assert job.wait() == 0
    assert (Path(str(job.show()["record"]["root"])) / "outputs" / "study" / "study.json").exists()


def test_a_partition_that_is_not_there_is_refused_with_those_that_are(slurm: Job) -> None:
    found = run(["train", "rides.yaml", "--on", "slurm", "-l", "partition=hihg", "--detach"], folder=slurm.folder)
    assert found.returncode == 6
    assert "there is no hihg here; there are low, high" in found.stderr


def worker_of(there: Path) -> int:
    """Find the worker of a job on the node of the first process: what becomes of it becomes of the node."""
    pid = int(json.loads((there / "lock.json").read_text())["pid"])
    while b"burnish.launch.worker" not in Path(f"/proc/{pid}/cmdline").read_bytes():
        pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid


def workers_of(job: Job) -> list[int]:
    """List the workers of a job on all nodes, with what they started."""
    root = str(job.show()["record"]["root"]).encode()
    found = [
        int(each.name)
        for each in Path("/proc").iterdir()
        if each.name.isdigit() and _words(each)[1:3] == [b"-m", b"burnish.launch.worker"] and root in _words(each)[3]
    ]
    return [pid for each in found for pid in (each, *descendants(each))]


def _words(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0") + [b""] * 4
    except OSError:
        return [b""] * 4
