"""Jobs of a real Slurm: they make room and come back, are stopped and resumed, and lose a node."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.harness.places import (
    Job,
    assert_same_training,
    await_that,
    descendants,
    kill_tree,
    last_step,
    run,
    sizes_of,
    train_alone,
)
from tests.harness.server import TABLE, write_rides
from tests.harness.slurm import slurm_place
from tests.studies import make_study, outcome

ENDLESS = (
    "train.length=1000000 steps",
    "train.evaluate_every=5000 steps",
    "train.checkpoint_every=500 steps",
    "train.patience=null",
)
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


@pytest.mark.parametrize("option", ["cpus=2", "sbatch=[--cpus-per-task=2]", "sbatch=[--exclusive]"])
def test_a_worker_may_use_all_cores_that_its_job_has(slurm: Job, job: Job, option: str) -> None:
    job.options = (option,)
    there = job.start(["rides.yaml", *ENDLESS, f"name=cores-{len(option)}"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 0, what="a step")
    pid = int(json.loads((there / "lock.json").read_text())["pid"])
    assert os.sched_getaffinity(pid) == {0, 1}


def test_a_job_that_asks_for_one_core_keeps_to_it(slurm: Job, job: Job) -> None:
    there = job.start(["rides.yaml", *ENDLESS, "name=one-core"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 0, what="a step")
    pid = int(json.loads((there / "lock.json").read_text())["pid"])
    assert len(os.sched_getaffinity(pid)) == 1


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


def test_a_stop_beats_the_end_of_the_time(slurm: Job, job: Job) -> None:
    there = job.start(["rides.yaml", *ENDLESS, "name=both"], folder=slurm.folder)
    await_that(lambda: last_step(there) > 100, what="step 100")
    job.ask("jobs", "stop", job.name)
    ask("scancel", "--batch", "--signal=USR1", str(job.show()["record"]["id"]).split()[0])
    assert job.wait() == 75
    assert Path(str(job.show()["record"]["root"]), "PAUSE").exists(), "it was asked to make room, too"
    assert job.show()["status"]["state"] == "stopped"
    assert "back into the queue" not in job.ask("jobs", "logs", job.name)


def test_a_job_that_waits_in_the_queue_is_taken_out_of_it_and_can_be_resumed(slurm: Job, job: Job) -> None:
    job.options = ("sbatch=[--begin=now+1hour]",)
    there = job.start(["rides.yaml", "train.length=20 steps", "name=waiting"], folder=slurm.folder)
    found = job.show()
    assert (found["status"]["state"], found["exit_code"]) == ("queued", None)
    assert "exit code" not in job.ask("jobs", "show", job.name)
    assert "stopped" in job.ask("jobs", "stop", job.name, "--wait")
    assert job.show()["status"]["state"] == "stopped"
    assert job.wait() == 75
    job.ask("jobs", "resume", job.name, "-l", "sbatch=[]", "--yes", "--detach")
    assert job.wait() == 0
    assert last_step(there) == 20


def test_two_nodes_become_one_when_a_node_is_lost(slurm: Job, job: Job) -> None:
    job.options = ("nodes=1:2", slurm.options[-1], "sbatch=[--nodes=2]")
    words = ["rides.yaml", *ENDLESS, "train.evaluate_every=100 steps", "train.patience=null", "name=elastic"]
    there = job.start(words, folder=slurm.folder)
    await_that(lambda: last_step(there) > 100, what="step 100")
    assert sizes_of(there) == [2]
    first = worker_of(there)
    others = [pid for pid in workers_of(job) if pid not in (first, *descendants(first))]
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    await_that(lambda: sizes_of(there)[-1] == 1, what="a start on one node")
    before = last_step(there)
    await_that(lambda: last_step(there) > before + 200, what="steps on one node")
    job.ask("jobs", "stop", job.name, "--wait")
    assert_same_training(there, train_alone(words, slurm.folder, until=last_step(there)))


def test_a_refused_command_is_not_tried_again(slurm: Job, job: Job) -> None:
    (slurm.folder / "broken.csv").write_text("fare,tip\n1,yes\n")
    job.start(["rides.yaml", "data.train=broken.csv", "name=refused"], folder=slurm.folder)
    assert job.wait() in (2, 4)
    assert "start 2 of" not in job.ask("jobs", "logs", job.name)


STUDY = ("tune", "experiment.yaml", "-c", "space.yaml", "--quiet")


@pytest.fixture(scope="module")
def undisturbed(slurm: Job) -> object:
    """Train the study on this machine, one trial after another."""
    make_study(slurm.folder, trials=12)
    experiment = slurm.folder / "experiment.yaml"
    experiment.write_text(experiment.read_text().replace(f"{slurm.folder}/", "").replace("4 epochs", "60 epochs"))
    assert run([*STUDY, "--dir", "undisturbed"], folder=slurm.folder).returncode == 0
    return outcome(slurm.folder / "undisturbed")


@pytest.mark.parametrize("words", [(), ("--parallel", "2", "-l", "array=false")], ids=["in turn", "side by side"])
def test_a_study_on_one_node_has_the_table_of_this_machine(
    slurm: Job, job: Job, words: Sequence[str], undisturbed: object
) -> None:
    study = start_study(slurm, job, *words)
    assert job.wait() == 0
    assert outcome(study) == undisturbed


def test_a_study_is_an_array_whose_trials_and_elements_may_be_killed(slurm: Job, job: Job, undisturbed: object) -> None:
    study = start_study(slurm, job, "--parallel", "3")
    number = str(job.show()["record"]["id"]).partition("_")[0]
    await_that(lambda: len(list(study.glob("trial-*/exit.json"))) >= 2, what="trials")
    await_that(lambda: trials_of(job, 1) != [], what="a trial of the second element")
    for pid in trials_of(job, 1):
        os.kill(pid, signal.SIGKILL)
    await_that(lambda: trials_of(job, 2) != [], what="a trial of the third element")
    node = element_of(f"{number}_2")["NodeList"]
    assert node != element_of(f"{number}_0")["NodeList"]
    set_node(node, "State=DOWN", "Reason=test")
    await_that(lambda: element_of(f"{number}_2").get("Restarts") == "1", what="the loss of a node")
    set_node(node, "State=RESUME")
    assert job.wait() == 0
    assert outcome(study) == undisturbed
    lines = [json.loads(line) for line in (study / "study.jsonl").read_text().splitlines()]
    assert sorted(each["end"] for each in lines if "end" in each) == list(range(12)), "each trial ends once"
    await_that(lambda: "RUNNING" not in ask("squeue", "-h", "-j", number, "-o", "%T"), what="the end of all elements")


def test_a_study_whose_first_element_is_requeued_goes_on(slurm: Job, job: Job, undisturbed: object) -> None:
    study = start_study(slurm, job, "--parallel", "2", "-l", "cpus=2")
    number = str(job.show()["record"]["id"]).partition("_")[0]
    await_that(lambda: len(list(study.glob("trial-*/exit.json"))) >= 2, what="trials")
    ask("scontrol", "requeue", f"{number}_0")
    assert job.wait() == 0
    assert element_of(f"{number}_0")["Restarts"] == "1"
    assert outcome(study) == undisturbed


def test_all_elements_of_a_study_are_stopped_and_come_back(slurm: Job, job: Job, undisturbed: object) -> None:
    study = start_study(slurm, job, "--parallel", "2")
    number = str(job.show()["record"]["id"]).partition("_")[0]
    await_that(lambda: len(list(study.glob("trial-*/exit.json"))) >= 2, what="trials")
    job.ask("jobs", "stop", job.name, "--wait")
    assert job.wait() == 75
    await_that(lambda: "RUNNING" not in ask("squeue", "-h", "-j", number, "-o", "%T"), what="the end of all elements")
    job.ask("jobs", "resume", job.name, "--yes", "--detach")
    assert job.wait() == 0
    assert outcome(study) == undisturbed


@pytest.mark.usefixtures("undisturbed")
def test_a_study_that_waits_in_the_queue_is_taken_out_of_it(slurm: Job, job: Job) -> None:
    start_study(slurm, job, "--parallel", "2", "-l", "sbatch=[--begin=now+1hour]")
    number = str(job.show()["record"]["id"]).partition("_")[0]
    assert "stopped" in job.ask("jobs", "stop", job.name, "--wait")
    assert ask("squeue", "-h", "-j", number, "-o", "%T") == ""


def start_study(slurm: Job, job: Job, *words: str) -> Path:
    """Submit the study; give its folder."""
    job.folder = slurm.folder
    job.name = job.ask(*STUDY, "--on", "slurm", "--detach", *words).split()[-1]
    return Path(str(job.show()["record"]["root"]), "outputs", "study")


def trials_of(job: Job, element: int) -> list[int]:
    """List the processes that train in an element of an array, other than the first."""
    files, mine = Path(str(job.show()["record"]["root"]), "files"), f"SLURM_ARRAY_TASK_ID={element}".encode()
    found = [each for each in Path("/proc").iterdir() if _words(each)[2] == b"burnish.run.worker"]
    return [int(each.name) for each in found if mine in _environment(each) and (each / "cwd").resolve() == files]


def element_of(number: str) -> dict[str, str]:
    """Ask Slurm about an element."""
    return dict(re.findall(r"(\w+)=(\S*)", ask("scontrol", "show", "job", number, "--oneliner")))


def set_node(node: str, *words: str) -> None:
    """Change a node, as an administrator does."""
    ask("scontrol", "update", f"NodeName={node}", *words)


def ask(*words: str) -> str:
    """Run a command of Slurm; one that has forgotten a job says nothing of it."""
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout


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


def _environment(process: Path) -> list[bytes]:
    try:
        return (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _words(process: Path) -> list[bytes]:
    try:
        return (process / "cmdline").read_bytes().split(b"\0") + [b""] * 4
    except OSError:
        return [b""] * 4
