"""Jobs of Slurm as batch scripts: golden files, wrong options, and what the scheduler's words mean."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from burnish.errors import ConfigError, LaunchError
from burnish.launch import slurm
from burnish.launch.options import read_launcher
from burnish.launch.slurm import Slurm
from burnish.spec.launcher import JobSpec

GOLDEN = Path(__file__).parents[2] / "golden" / "launch" / "slurm"
TRAIN = JobSpec("train-reviews-20261118-120000", ("train", "experiment.yaml", "--dir", "outputs/run"))
TUNE = JobSpec("tune-reviews-20261118-120000", ("tune", "experiment.yaml", "--dir", "outputs/study"), parallel=4)
SET = ("folder=/shared/jobs", "python=/opt/burnish/bin/python")
SCRIPTS: dict[str, tuple[tuple[str, ...], JobSpec]] = {
    "plain": ((), TRAIN),
    "everything": (
        (
            *("partition=gpu", "account=nlp", "qos=high", "time=1-12:00:00", "cpus=8", "mem=64G", "gpus=4"),
            *("signal_seconds=300", "sbatch=[--exclusive, --mail-user=a@b.c]", "setup=[module load cuda]"),
            "env.HF_TOKEN=s3cret",
        ),
        TRAIN,
    ),
    "nodes": (("nodes=4", "gres=gpu:a100:8"), TRAIN),
    "elastic": (("nodes=1:4", "rendezvous=login:29500", "requeue=false"), TRAIN),
    "pyxis": (("container=registry/team/burnish:1", "mounts=[/data, /a:/b:ro]"), TRAIN),
    "apptainer": (("container=burnish.sif", "container_engine=apptainer", "gpus=1", "mounts=[/data]"), TRAIN),
    "study": (("cpus=4", "time=60"), TUNE),
    "study_in_turn": ((), replace(TUNE, parallel=1)),
    "study_on_one_node": (("cpus=4", "time=60", "array=false"), TUNE),
    "study_in_a_container": (("container=registry/team/burnish:1", "requeue=false"), TUNE),
}


def script(name: str) -> str:
    options, job = SCRIPTS[name]
    return "\n".join(read_launcher("slurm", [*SET, *options]).render(job)["script"]) + "\n"


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_as_its_golden_and_bash_can_read_it(name: str) -> None:
    text = script(name)
    path = GOLDEN / f"{name}.sh"
    if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    assert "s3cret" not in text
    assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr == ""


def test_the_signal_before_the_time_limit_asks_for_a_pause_in_any_folder(tmp_path: Path) -> None:
    root = tmp_path / "a;b&(c)$d" / TRAIN.name
    root.mkdir(parents=True)
    lines = read_launcher("slurm", [f"folder={root.parent}"]).render(TRAIN)["script"]
    (trap,) = (line for line in lines if line.startswith("trap "))
    ran = subprocess.run(["bash", "-c", f"{trap}\nkill -USR1 $$\n"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stderr == ""
    assert (root / "PAUSE").exists()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("partitoin=gpu", "Did you mean"),
        ("project=p", "launch.project"),
        ("nodes=0", "like 1:2"),
        ("nodes=3:2", "like 1:2"),
        ("time=tomorrow", "launch.time"),
        ("mem=lots", "launch.mem"),
        ("gpus=-1", "launch.gpus"),
        ("sbatch=[exclusive]", "launch.sbatch"),
        ("folder=gs://bucket/x", "no address"),
        ("folder=/my jobs", "needs a `folder` without"),
        ("folder=/it's", "not /it's"),
        ("folder=/100%", "# for sbatch"),
        ("rendezvous=n1", "HOST:PORT"),
        ("container_engine=docker", "srun, apptainer"),
        ("mounts=[/a]", "no `container`"),
        ("partition=a b", "launch.partition"),
        ("partition=$(rm)", "launch.partition"),
        ("requeue=perhaps", "true or false"),
        ("time=2", "`time` to at least 3 minutes, or lower `signal_seconds`"),
        ("time=0-0:2:59", "is 179 s"),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(option: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("slurm", [option])
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("90", 5400),
        ("90:30", 5430),
        ("1:30:15", 5415),
        ("2-0", 172_800),
        ("2-12", 216_000),
        ("1-2:03", 93_780),
        ("1-2:03:04", 93_784),
        ("0", 0),
    ],
)
def test_a_time_limit_is_read_as_slurm_reads_it(time: str, seconds: int) -> None:
    assert slurm.read_seconds(time) == seconds


@pytest.mark.parametrize("options", [("time=3",), ("time=1", "signal_seconds=0"), ("time=0",), ("signal_seconds=300",)])
def test_a_time_that_leaves_room_to_train_is_taken(options: tuple[str, ...]) -> None:
    read_launcher("slurm", options)


def test_gpus_are_asked_for_in_one_way() -> None:
    with pytest.raises(ConfigError, match="write the 2 GPUs in `gres`"):
        read_launcher("slurm", ["gpus=2", "gres=gpu:a100:2"])


def test_a_place_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="slurm, torchrun, vertex"):
        read_launcher("cluster", [])


def test_a_study_runs_on_one_node_and_what_is_missing_comes_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    found = list(read_launcher("slurm", ["nodes=2", f"folder={tmp_path}"]).check(TUNE))
    assert [each.what for each in found if not each.is_met] == ["nodes", "slurm"]
    assert "`tune` runs on one node" in found[0].sentence


@pytest.mark.parametrize(
    ("told", "state", "message"),
    [
        ("JobState=PENDING Reason=Resources Restarts=0", "queued", "pending (Resources)"),
        ("JobState=PENDING Reason=BeginTime Restarts=2", "queued", "pending (BeginTime), requeued 2 times"),
        ("JobState=RUNNING Reason=None Restarts=1", "running", "running, requeued 1 times"),
        ("JobState=COMPLETED Reason=None ExitCode=0:0", "finished", "completed"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=75:0", "stopped", "failed (NonZeroExitCode)"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=4:0", "failed", "failed (NonZeroExitCode)"),
        ("JobState=CANCELLED Reason=None", "stopped", "cancelled"),
        ("JobState=NODE_FAIL Reason=NodeDown", "failed", "node_fail (NodeDown)"),
    ],
)
def test_what_slurm_says_becomes_a_state(told: str, state: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "_ask", lambda *command: f"JobId=7 {told}\n")
    status = Slurm().status("7 in /shared/jobs/a")
    assert (status.state, status.message) == (state, message)


def test_a_job_that_was_stopped_in_the_queue_is_stopped_after_slurm_has_forgotten_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_describe", lambda number: None)
    (tmp_path / "STOP").touch()
    assert Slurm().status(f"7 in {tmp_path}").state == "stopped"


@pytest.mark.parametrize(("code", "state"), [(0, "finished"), (75, "stopped"), (4, "failed"), (None, "failed")])
def test_a_job_that_slurm_has_forgotten_is_known_by_what_it_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int | None, state: str
) -> None:
    def forget(*command: str) -> str:
        raise slurm._Unknown("Invalid job id specified")

    monkeypatch.setattr(slurm, "_ask", forget)
    if code is not None:
        (tmp_path / "result.json").write_text(f'{{"exit_code": {code}}}')
    assert Slurm().status(f"7 in {tmp_path}").state == state


def run_script(
    folder: Path, *options: str, recorded: int | None, step: int, is_paused: bool = False, is_stopped: bool = False
) -> tuple[int, str]:
    """Run the script of a job with a Slurm that ends its step with a code, after the worker has left its own."""
    job = JobSpec("a", ("train", "x"))
    text = "\n".join(read_launcher("slurm", [f"folder={folder}", *options]).render(job)["script"])
    (folder / "a").mkdir()
    (folder / "a" / "result.json").write_text('{"exit_code": 75, "starts": 1}\n')  # of an earlier start
    leave = "" if recorded is None else f'echo \'{{"exit_code": {recorded}, "starts": 1}}\' > {folder}/a/result.json;'
    asked = {"PAUSE": is_paused, "STOP": is_stopped}
    touch = "".join(f"touch {folder}/a/{name};" for name, is_asked in asked.items() if is_asked)
    for name, body in {"srun": f"{touch} {leave} exit {step}", "scontrol": 'echo "$@"', "sleep": "exit 0"}.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    env = {"PATH": f"{folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n1"}
    found = subprocess.run(["bash"], input=text, text=True, capture_output=True, env=env)
    return found.returncode, found.stdout


@pytest.mark.parametrize(
    ("nodes", "recorded", "step", "code"),
    [("1:2", 0, 137, 0), ("1:2", 4, 137, 4), ("1:2", None, 137, 137), ("2", 75, 137, 137), ("2", 0, 0, 0)],
)
def test_a_run_of_fewer_nodes_than_it_began_with_ends_as_it_says_itself(
    nodes: str, recorded: int | None, step: int, code: int, tmp_path: Path
) -> None:
    assert run_script(tmp_path, f"nodes={nodes}", recorded=recorded, step=step)[0] == code


@pytest.mark.parametrize(
    ("nodes", "recorded", "step", "is_requeued"), [("1:2", 75, 137, True), ("1:2", 0, 137, False), ("1", 75, 75, True)]
)
def test_a_run_that_has_saved_goes_back_into_the_queue_also_without_a_node(
    nodes: str, recorded: int, step: int, is_requeued: bool, tmp_path: Path
) -> None:
    _, said = run_script(tmp_path, f"nodes={nodes}", recorded=recorded, step=step, is_paused=True)
    assert ("requeue 7" in said) == is_requeued


def test_a_run_that_was_asked_to_stop_does_not_go_back_into_the_queue(tmp_path: Path) -> None:
    code, said = run_script(tmp_path, recorded=75, step=75, is_paused=True, is_stopped=True)
    assert (code, said) == (75, "")


@pytest.mark.parametrize("state", ["NODE_FAIL", "FAILED"])
def test_a_run_that_finished_without_a_node_is_finished(
    state: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slurm, "_ask", lambda *command: f"JobId=7 JobState={state} Reason=NodeDown ExitCode=137:0\n")
    (tmp_path / "result.json").write_text('{"exit_code": 0}')
    assert Slurm().status(f"7 in {tmp_path}").state == "finished"


def test_a_command_that_is_not_there_is_told_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LaunchError, match="scancel could not be asked"):
        Slurm().cancel("7 in /x")
