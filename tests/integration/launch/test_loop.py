"""One real loop: a job is submitted, staged, trained, published, followed, deployed and asked, all on this machine."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
pytest.importorskip("gcp_storage_emulator", reason="the storage of the loop")
os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
pytest.importorskip("gcsfs", reason="the extra `gcp` brings it")

from burnish.cli.main import run
from burnish.commands.crash.sameness import find_differences
from burnish.launch.transfer import download, list_remote, read_remote
from burnish.run.record.directory import RunDirectory
from burnish.storage import manifest
from tests.harness.cloud import BUCKET, Cloud, loopback_cloud
from tests.harness.server import TABLE, write_rides

LAUNCH = f"bucket: {BUCKET}\nimage: IMAGE\nenv: {{TOKEN: s3cret-value}}\nmax_restarts: 0\n"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    folder = tmp_path_factory.mktemp("cloud")
    here = os.getcwd()
    os.chdir(folder)
    try:
        with loopback_cloud(folder) as cloud:
            write_rides(Path("rides.csv"), 200)
            Path("rides.yaml").write_text(f"{TABLE}track: [tensorboard]\n")
            Path("launch.yaml").write_text(LAUNCH.replace("IMAGE", f"{cloud.registry}/team/burnish:1"))
            yield cloud
    finally:
        os.chdir(here)


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.commands.elsewhere.launching._POLL_SECONDS", 0.3)
    monkeypatch.setattr("burnish.commands.elsewhere.jobs._POLL_SECONDS", 0.3)


@pytest.fixture
def left(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    """See that a job has left its run, whichever of these tests a worker begins with."""
    if not any(job.state == "JOB_STATE_SUCCEEDED" for job in cloud.jobs.values()):
        assert run(["train", "rides.yaml", "--on", "vertex", "-l", "launch.yaml", "--yes", "--quiet"]) == 0
    if not Path("fetched").exists():
        capfd.readouterr()
        assert run(["jobs", "ls", "--json"]) == 0
        rows = json.loads(capfd.readouterr().out)
        roots = [
            row["record"]["root"] for row in rows if (row["state"], row["record"]["words"][0]) == ("finished", "train")
        ]
        download(f"{roots[-1]}/outputs/run", Path("fetched"))
    capfd.readouterr()


def test_a_container_job_is_trained_and_followed(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["train", "rides.yaml", "--on", "vertex", "-l", "launch.yaml", "--yes", "--quiet"]) == 0
    said = capfd.readouterr()
    assert "finished" in said.out
    assert "artifact/MANIFEST.json" in said.out
    (job,) = cloud.jobs.values()
    assert job.body["jobSpec"]["workerPoolSpecs"][0]["containerSpec"]["env"] == [
        {"name": "TOKEN", "value": "s3cret-value"}
    ]
    assert job.body["jobSpec"]["scheduling"]["strategy"] == "STANDARD"
    records = list(Path(os.environ["BURNISH_STATE"], "jobs").iterdir())
    assert "s3cret-value" not in records[0].read_text() + said.out + said.err


@pytest.mark.usefixtures("left")
def test_a_service_that_is_away_for_a_while_ends_nobodys_following(
    cloud: Cloud, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("burnish.commands.elsewhere.launching._FIRST_WAIT_SECONDS", 0.05)
    asked: list[str] = []

    def refuse(method: str, path: str) -> int | None:
        asked.append(path)
        first = [each for each in asked if each == path]
        return 503 if len(first) <= 2 and ("entries:list" in path or "customJobs/" in path) else None

    monkeypatch.setattr(cloud, "refuse", refuse)
    name = next(job.body["displayName"] for job in cloud.jobs.values() if job.state == "JOB_STATE_SUCCEEDED")
    assert run(["jobs", "logs", "-f", name]) == 0
    said = capfd.readouterr()
    assert said.out.count("burnish predict") == 1
    assert said.err.count("asking again in") == 4
    asked.clear()
    assert run(["jobs", "wait", name]) == 0


@pytest.mark.usefixtures("left")
def test_a_job_publishes_where_the_service_asks_for_it(cloud: Cloud) -> None:
    (job,) = cloud.jobs.values()
    root = job.body["jobSpec"]["baseOutputDirectory"]["outputUriPrefix"]
    download(f"{root}/model", Path("published"))
    assert manifest.fault(Path("published")) is None
    assert any(name.endswith("/MANIFEST.json") for name in list_remote(f"{root}/checkpoints"))
    assert any("tfevents" in name for name in list_remote(f"{root}/logs"))


@pytest.mark.usefixtures("left")
def test_jobs_are_listed_shown_tagged_and_read_again(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["jobs", "ls", "--json"]) == 0
    (row,) = json.loads(capfd.readouterr().out)
    name = row["record"]["name"]
    assert row["state"] == "finished"
    assert run(["jobs", "show", name]) == 0
    assert run(["jobs", "logs", "-f", name]) == 0
    assert run(["jobs", "wait", "train-rides"]) == 0
    assert run(["jobs", "tag", name, "good"]) == 0
    assert run(["jobs", "ls", "--tag", "good"]) == 0
    assert name in capfd.readouterr().out
    assert run(["jobs", "stop", name]) == 1


@pytest.mark.usefixtures("left")
def test_what_a_job_left_is_deployed_asked_and_taken_down(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["-l", "launch.yaml", "--yes"]
    assert run(["deploy", "up", "fetched", "--require", "validation/accuracy >= 1.1", *options]) == 8
    assert not cloud.models
    assert (
        run(["deploy", "up", "fetched", "--require", "validation/accuracy >= 0.01", "--replicas", "1:3", *options]) == 0
    )
    endpoint = capfd.readouterr().out.splitlines()[-1]
    ride = {"fare": 30.0, "miles": 9.0, "company": "Blue", "cash": "no"}
    assert run(["deploy", "predict", endpoint, "--row", json.dumps(ride), "-l", "launch.yaml", "--json"]) == 0
    asked = json.loads(capfd.readouterr().out)["predictions"]
    assert run(["predict", "fetched", "--row", json.dumps(ride), "--json"]) == 0
    here = json.loads(capfd.readouterr().out)
    assert str(here["predictions"][0]["predicted"]) in json.dumps(asked)
    assert run(["deploy", "down", endpoint, *options]) == 0
    assert not cloud.models
    assert not cloud.endpoints
    assert list_remote(f"gs://{BUCKET}/burnish/models") == []


@pytest.mark.usefixtures("left")
def test_a_second_model_behind_an_endpoint_takes_its_share_of_the_requests(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    options, gate = ["-l", "launch.yaml", "--yes"], ["--require", "validation/accuracy >= 0.01"]
    assert run(["deploy", "up", "fetched", *gate, "--traffic", "30", *options]) == 6
    assert "use 100" in capfd.readouterr().err
    assert not cloud.models
    assert run(["deploy", "up", "fetched", *gate, *options]) == 0
    endpoint = capfd.readouterr().out.splitlines()[-1]
    assert run(["deploy", "up", "fetched", *gate, "--endpoint", endpoint, "--traffic", "30", *options]) == 0
    assert cloud.endpoints[endpoint]["trafficSplit"] == {"1": 70, "2": 30}
    assert run(["deploy", "down", endpoint, *options]) == 0
    assert not cloud.models


def test_a_study_runs_as_one_job(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    Path("tune.yaml").write_text("tune: {trials: 2, searcher: random, space: {train.batch: [8, 16, 32]}}\n")
    words = ["tune", "rides.yaml", "-c", "tune.yaml", "--on", "vertex", "-l", "launch.yaml", "--yes"]
    assert run(words) == 0
    said = capfd.readouterr().out
    root = next(line for line in said.splitlines() if line.endswith("outputs/study/study.json")).strip()
    document = json.loads(read_remote(root) or b"")
    assert [trial["state"] for trial in document["trials"]] == ["finished", "finished"]


def test_a_run_at_an_address_of_its_own_is_what_its_job_left(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    address = f"gs://{BUCKET}/mine/run"
    assert run(["train", "rides.yaml", "--dir", address, "--on", "vertex", "-l", "launch.yaml", "--yes"]) == 0
    assert f"{address}/artifact/MANIFEST.json" in capfd.readouterr().out


def test_two_replicas_train_one_run(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    options = ["-l", "launch.yaml", "-l", "replicas=2", "-l", "shared=10.0.0.2:/share", "--yes", "--quiet"]
    assert run(["train", "rides.yaml", "name=pair", "--on", "vertex", *options]) == 0
    said = capfd.readouterr().out
    outputs = next(line for line in said.splitlines() if line.endswith("outputs/run/events.jsonl")).strip()
    events = [json.loads(line) for line in (read_remote(outputs) or b"").splitlines()]
    (started,) = [event for event in events if event["event"] == "started"]
    assert started["facts"]["processes"] == 2
    assert "artifact/MANIFEST.json" in said


def test_a_package_job_runs_from_what_was_uploaded(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["train", "rides.yaml", "--on", "vertex", "-l", "launch.yaml", "-l", "route=package", "--yes", "--quiet"]
    assert run(words) == 0
    body = [*cloud.jobs.values()][-1].body["jobSpec"]["workerPoolSpecs"][0]["pythonPackageSpec"]
    assert body["pythonModule"] == "burnish.launch.worker"
    assert body["packageUris"][0].endswith(".tar.gz")
    assert "artifact/MANIFEST.json" in capfd.readouterr().out


def test_the_service_searches_a_space(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    space = "optimizer.learning_rate: {type: log, min: 1e-4, max: 1e-2}, train.batch: [16, 32]"
    Path("space.yaml").write_text(f"tune:\n  metric: validation/loss\n  trials: 1\n  space: {{{space}}}\n")
    words = ["train", "rides.yaml", "--on", "vertex", "-l", "launch.yaml", "-l", "study=space.yaml", "--yes", "--quiet"]
    assert run(words) == 0
    job = [*cloud.jobs.values()][-1]
    assert job.name.split("/")[-2] == "hyperparameterTuningJobs"
    (trial,) = job.trials
    said = capfd.readouterr().out
    assert "outputs/1/run/artifact/MANIFEST.json" in said
    root = next(line for line in said.splitlines() if line.endswith("plan.yaml")).strip()
    plan = (read_remote(root) or b"").decode()
    assert str(trial["parameters"]["optimizer.learning_rate"])[:6] in plan
    assert trial["measured"]


def test_a_refused_command_is_not_tried_again_and_its_exit_code_comes_back(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("broken.csv").write_text("fare,tip\n1,yes\n")
    words = ["train", "rides.yaml", "data.train=broken.csv", "--on", "vertex", "-l", "launch.yaml"]
    code = run([*words, "-l", "max_restarts=2", "--yes", "--quiet"])
    assert code in (2, 4)
    said = capfd.readouterr().out
    assert f"(exit code {code})" in said
    assert "start 2 of" not in said


def test_a_job_is_stopped_with_what_it_saved_and_removed(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    words = [
        "train",
        "rides.yaml",
        "name=long",
        "train.length=1000000 steps",
        "train.patience=null",
        "--on",
        "vertex",
        "-l",
        "launch.yaml",
    ]
    assert run([*words, "--yes", "--detach"]) == 0
    name = capfd.readouterr().out.split()[-1]
    job = [*cloud.jobs.values()][-1]
    while not list(cloud.folder.glob("job-*/outputs/run/events.jsonl")) or not any(
        "100000" in path.read_text() for path in cloud.folder.glob("job-*/outputs/run/plan.yaml")
    ):
        assert job.state in ("JOB_STATE_QUEUED", "JOB_STATE_RUNNING"), cloud.entries[-5:]
        time.sleep(0.2)
    assert run(["jobs", "rm", name, "--yes"]) == 6
    assert run(["jobs", "stop", name, "--now", "--wait"]) == 0
    assert "stopped" in capfd.readouterr().out
    assert run(["jobs", "wait", name]) == 75
    assert "outputs/run/plan.yaml" in capfd.readouterr().out
    assert run(["jobs", "rm", name, "--yes"]) == 0
    assert run(["jobs", "show", name]) == 6


def test_a_job_that_waits_for_machines_is_stopped(
    cloud: Cloud, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud, "has_machines", False)
    words = ["train", "rides.yaml", "name=waits", "--on", "vertex", "-l", "launch.yaml", "--yes", "--detach"]
    assert run(words) == 0
    name = capfd.readouterr().out.split()[-1]
    assert run(["jobs", "show", name]) == 0
    said = capfd.readouterr().out
    assert f"{name}: queued" in said
    assert "exit code" not in said
    assert run(["jobs", "stop", name, "--wait"]) == 0
    assert "stopped" in capfd.readouterr().out
    assert run(["jobs", "wait", name]) == 75


def test_a_job_is_left_running_by_ctrl_c_and_stopped_after_it_has_saved(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    words = [
        "train",
        "rides.yaml",
        "name=followed",
        "train.length=1000000 steps",
        "train.patience=null",
        "--on",
        "vertex",
        "-l",
        "launch.yaml",
    ]
    command = subprocess.Popen(
        [sys.executable, "-m", "burnish", *words, "--yes"], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert command.stdout is not None
    line = next(iter(command.stdout), "")  # the job prints: it is followed
    assert line
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=200)
    assert command.returncode == 130
    name = said.split(": submitted", 1)[0].split()[-1]
    assert f"`burnish jobs logs -f {name}` follows it" in said
    job = [*cloud.jobs.values()][-1]
    assert job.state == "JOB_STATE_RUNNING"
    assert run(["jobs", "stop", name, "--wait"]) == 0
    assert f"{name}: stopped" in capfd.readouterr().out, "though to the service it failed"
    assert run(["jobs", "wait", name]) == 75
    assert "/checkpoints/" in capfd.readouterr().out
    assert run(["jobs", "ls"]) == 0
    assert "stopped" in next(line for line in capfd.readouterr().out.splitlines() if name in line)


@pytest.mark.timeout(900)
@pytest.mark.skipif(os.environ.get("BURNISH_CLOUD") != "full", reason="make cloud sets BURNISH_CLOUD=full")
def test_a_job_whose_machine_was_taken_away_goes_on_to_the_same_bits(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    longer = ["name=taken", "train.length=8000 steps", "train.checkpoint_every=400 steps", "train.patience=null"]
    assert run(["train", "rides.yaml", *longer, "--dir", "local", "--quiet"]) == 0
    assert run(["train", "rides.yaml", *longer, "--on", "vertex", "-l", "launch.yaml", "--yes", "--detach"]) == 0
    name = capfd.readouterr().out.split()[-1]
    job = [*cloud.jobs.values()][-1]
    outputs = f"gs://{BUCKET}/burnish/{name}/outputs"
    while not any(each.endswith("MANIFEST.json") for each in list_remote(outputs)):
        assert job.state in ("JOB_STATE_QUEUED", "JOB_STATE_RUNNING"), cloud.entries[-5:]
        time.sleep(0.2)
    assert job.process is not None
    for each in _descendants(job.process.pid):
        os.kill(each, signal.SIGKILL)
    assert run(["jobs", "wait", name]) == 6
    assert not any(each.endswith("artifact/MANIFEST.json") for each in list_remote(outputs))
    assert run(["jobs", "resume", name, "--yes", "-l", "env.TOKEN=other"]) == 0
    download(f"{outputs}/run", Path("taken"))
    assert find_differences(RunDirectory(Path("local")), RunDirectory(Path("taken"))) == []
    held = {Path(each).parts[2] for each in list_remote(outputs) if each.startswith("run/checkpoints/")}
    assert held == {each.name for each in Path("local/checkpoints").iterdir() if not each.name.startswith(".")}


def _descendants(pid: int) -> list[int]:
    """List a process and all that it started, as a machine that goes takes them all."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in _descendants(int(child)))]


def test_the_doctor_looks_at_everything_at_once(cloud: Cloud, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--on", "vertex", "-l", "launch.yaml"]) == 0
    capfd.readouterr()
    wrong = ["-l", "bucket=no-such-bucket", "-l", f"image={cloud.registry}/team/other:1", "-l", "replicas=2"]
    assert run(["doctor", "--on", "vertex", "-l", "launch.yaml", *wrong]) == 6
    said = capfd.readouterr().out
    assert [f"✗ {each}" in said for each in ("bucket", "image", "replicas")] == [True] * 3
    assert "✓ service" in said


@pytest.mark.usefixtures("left")
def test_a_job_that_ended_is_resumed_with_its_variables_given_again(
    cloud: Cloud, capfd: pytest.CaptureFixture[str]
) -> None:
    name = next(job.body["displayName"] for job in cloud.jobs.values() if job.state == "JOB_STATE_SUCCEEDED")
    assert run(["jobs", "resume", name, "--yes"]) == 6
    assert "launch.env: TOKEN is not set here" in capfd.readouterr().err
    assert run(["jobs", "resume", name, "--yes", "-l", "env.TOKEN=other"]) == 0
    assert "finished" in capfd.readouterr().out
