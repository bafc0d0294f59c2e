"""Jobs and studies on a real Ray cluster of several raylets on this machine, of which nodes are killed."""

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("ray") is None:
    pytest.skip("the extra `ray` brings it; `make clusters` installs it", allow_module_level=True)

from burnish.run.record.directory import RunDirectory
from tests.harness.digests import digests
from tests.harness.places import Job, assert_same_training, await_that, events_of, last_step, run, sizes_of, train_alone
from tests.harness.ray_cluster import LoopbackRay, loopback_ray
from tests.harness.server import TABLE, write_rides
from tests.studies import make_study, outcome

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
LONG = "train.length=1000000 steps"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder, before = tmp_path_factory.mktemp("ray"), os.environ.get("BURNISH_STATE")
    os.environ["BURNISH_STATE"] = str(folder / "state")
    write_rides(folder / "rides.csv", 200)
    (folder / "rides.yaml").write_text(TABLE)
    yield folder
    os.environ.pop("BURNISH_STATE") if before is None else os.environ.update({"BURNISH_STATE": before})


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[LoopbackRay]:
    with loopback_ray(folder, nodes=2) as cluster:
        (folder / "launch.yaml").write_text(f"address: {cluster.url}\nfolder: {folder}/shared\n")
        (folder / "bucket.yaml").write_text(f"address: {cluster.url}\nfolder: file://{folder}/bucket\n")
        yield cluster


def test_a_job_is_trained_followed_read_again_and_resumed(cluster: LoopbackRay, folder: Path) -> None:
    words = ["train", "rides.yaml", "--on", "ray", "-l", "bucket.yaml", "-l", "env.TOKEN=s3cret-value", "--yes"]
    said = run(words, folder=folder)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "artifact/MANIFEST.json" in said.stdout
    (record,) = (folder / "state" / "jobs").iterdir()
    assert "s3cret-value" not in record.read_text() + said.stdout + said.stderr
    job = Job("ray", name=record.stem, folder=folder)
    assert job.show()["status"]["state"] == "finished"
    assert "burnish predict" in job.ask("jobs", "logs", job.name), "what the worker printed"
    job.ask("jobs", "resume", job.name, "--yes", "-l", "env.TOKEN=other")
    assert json.loads(record.read_text())["id"] == f"{job.name}-2"


def test_a_refused_command_is_not_tried_again(cluster: LoopbackRay, folder: Path) -> None:
    (folder / "broken.csv").write_text("fare,tip\n1,yes\n")
    words = ["train", "rides.yaml", "data.train=broken.csv", "--on", "ray", "-l", "launch.yaml", "--yes"]
    said = run(words, folder=folder)
    assert said.returncode in (2, 4)
    assert f"(exit code {said.returncode})" in said.stdout
    assert "start 2 of" not in said.stdout


def test_a_job_that_is_stopped_at_once_has_saved(cluster: LoopbackRay, folder: Path) -> None:
    job = Job("ray", ("launch.yaml",))
    there = job.start(["rides.yaml", "name=stopped", LONG], folder=folder)
    await_that(lambda: last_step(there) > 50, what="steps")
    assert "stopped" in job.ask("jobs", "stop", job.name, "--now", "--wait")
    assert job.wait() == 75
    assert events_of(there)[-1]["reason"] == "preempted"
    assert list(there.glob("checkpoints/step-*/MANIFEST.json"))


def test_a_node_that_is_killed_is_replaced_by_the_spare_which_comes_to_the_same_bits(
    cluster: LoopbackRay, folder: Path
) -> None:
    words = ["rides.yaml", "name=killed", "train.length=3000 steps", "train.checkpoint_every=20 steps"]
    words += ["train.patience=null"]
    job = Job("ray", ("launch.yaml",))
    there = job.start(words, folder=folder)
    await_that(lambda: last_step(there) > 50, what="steps")
    (node,) = cluster.busy_nodes("NodeWorker")
    cluster.kill(node)
    await_that(lambda: len(sizes_of(there)) == 2, what="a second attempt")
    assert cluster.busy_nodes("NodeWorker") != [node]
    assert job.wait() == 0
    resumed = [event["step"] for event in events_of(there) if event["event"] == "started"][-1]
    assert 0 < resumed < 3000
    said = job.ask("jobs", "logs", job.name)
    assert "a node or its worker was lost" in said
    assert "start 2 of 4" in said
    assert run(["train", *words, "--dir", "unbroken"], folder=folder).returncode == 0
    assert digests(RunDirectory(there)) == digests(RunDirectory(folder / "unbroken"))
    cluster.add_node()


def test_two_nodes_go_on_as_one_when_no_spare_is_left(cluster: LoopbackRay, folder: Path) -> None:
    job = Job("ray", ("launch.yaml", "nodes=1:2"))
    words = ["rides.yaml", "name=elastic", LONG, "train.checkpoint_every=20 steps", "train.patience=null"]
    there = job.start(words, folder=folder)
    await_that(lambda: last_step(there) > 50, what="steps")
    assert sizes_of(there) == [2]
    node, *_ = cluster.busy_nodes("NodeWorker")
    cluster.kill(node)
    await_that(lambda: sizes_of(there)[-1] == 1, what="an attempt of one")
    before = last_step(there)
    await_that(lambda: last_step(there) > before + 50, what="steps on one node")
    job.ask("jobs", "stop", job.name)
    assert job.wait() == 75
    assert_same_training(there, train_alone(words, folder, until=last_step(there)))
    cluster.add_node()


def test_a_study_whose_node_is_killed_has_the_table_of_one_that_nobody_disturbed(
    cluster: LoopbackRay, folder: Path
) -> None:
    make_study(folder, trials=20)
    experiment = folder / "experiment.yaml"
    experiment.write_text(experiment.read_text().replace(f"{folder}/", ""))
    words = ["tune", "experiment.yaml", "-c", "space.yaml", "--parallel", "2"]
    assert run([*words, "--dir", "undisturbed", "--quiet"], folder=folder).returncode == 0
    cluster.add_node()
    job = Job("ray", folder=folder)
    job.name = job.ask(*words, "--on", "ray", "-l", "launch.yaml", "--yes", "--quiet", "--detach").split()[-1]
    study = folder / "shared" / job.name / "outputs" / "study"
    await_that(lambda: len(list(study.glob("trial-*/exit.json"))) >= 3, what="trials")
    leader = cluster.busy_nodes("NodeWorker")
    node = next(each for each in cluster.busy_nodes("TrialWorker") if each not in leader)
    cluster.kill(node)
    cluster.add_node()
    ended = run(
        ["jobs", "wait", job.name, "--timeout", "900"], folder=folder
    )  # each trial is a start of Python, and more
    assert ended.returncode == 0, job.ask("jobs", "logs", job.name)
    assert outcome(study) == outcome(folder / "undisturbed")
    ends = [json.loads(line) for line in (study / "study.jsonl").read_text().splitlines()]
    assert sorted(each["end"] for each in ends if "end" in each) == list(range(20)), "each trial ends once"
