"""The official client against an API on this machine: a job is judged, run, read, killed, stopped and resumed."""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("kubernetes", reason="the extra `kubernetes` brings it; `make clusters` installs it")
pytest.importorskip("kubernetes_validate", reason="the official schemas; `make clusters` installs them")

from burnish.cli.main import run
from burnish.launch.options import read_launcher
from burnish.spec.launcher import JobSpec
from tests.harness.kubernetes import LoopbackCluster, loopback_kubernetes
from tests.harness.places import await_that, last_step, sizes_of
from tests.harness.server import TABLE, write_rides

OPTIONS = ["--on", "kubernetes", "-l", "launch.yaml"]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoopbackCluster]:
    folder = tmp_path_factory.mktemp("cluster")
    here, before = os.getcwd(), {name: os.environ.get(name) for name in ("BURNISH_STATE",)}
    os.chdir(folder)
    os.environ["BURNISH_STATE"] = str(folder / "state")
    try:
        with loopback_kubernetes(folder, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as cluster:
            write_rides(Path("rides.csv"), 200)
            Path("rides.yaml").write_text(TABLE)
            Path("launch.yaml").write_text(f"image: team/burnish:1\nfolder: file://{folder}/shared\n")
            yield cluster
    finally:
        os.chdir(here)
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("burnish.commands.elsewhere.launching._POLL_SECONDS", 0.3)
    monkeypatch.setattr("burnish.commands.elsewhere.jobs._POLL_SECONDS", 0.3)


def test_a_job_is_trained_and_followed_and_its_secrets_stay_in_one(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "rides.yaml", *OPTIONS, "-l", "env.TOKEN=s3cret-value", "--yes", "--quiet"]) == 0
    said = capfd.readouterr()
    assert "artifact/MANIFEST.json" in said.out
    (job,) = cluster.jobs.values()
    secret = cluster.others[f"secrets/{job['metadata']['name']}"]
    assert secret["stringData"] == {"TOKEN": "s3cret-value"}
    assert secret["metadata"]["ownerReferences"][0]["uid"] == job["metadata"]["uid"]
    records = list(Path(os.environ["BURNISH_STATE"], "jobs").iterdir())
    assert "s3cret-value" not in json.dumps(job) + records[0].read_text() + said.out + said.err


def test_a_job_that_has_ended_is_read_and_started_again_under_another_name(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    name = next(iter(cluster.jobs))
    assert run(["jobs", "show", name]) == 0
    assert run(["jobs", "logs", name]) == 0
    said = capfd.readouterr().out
    assert "finished" in said
    assert "burnish predict" in said, "what the pod printed"
    assert run(["jobs", "resume", name, "--yes", "-l", "env.TOKEN=other"]) == 0
    assert f"{name}-2" in cluster.jobs
    assert run(["jobs", "wait", name]) == 0


def test_a_pod_that_cannot_start_says_why(cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]) -> None:
    cluster.hindrance = "ImagePullBackOff"
    assert run(["train", "rides.yaml", "name=waits", *OPTIONS, "--yes", "--detach"]) == 0
    name = capfd.readouterr().out.split()[-1]
    run(["jobs", "show", name])
    assert run(["jobs", "logs", name]) == 0
    said = capfd.readouterr().out
    assert f"queued: {name}-0-wait: ImagePullBackOff Back-off" in said
    cluster.hindrance = ""
    assert run(["jobs", "wait", name]) == 0


def test_a_job_whose_pods_wait_is_stopped(cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]) -> None:
    cluster.hindrance = "Unschedulable"
    assert run(["train", "rides.yaml", "name=never", *OPTIONS, "--yes", "--detach"]) == 0
    name = capfd.readouterr().out.split()[-1]
    before = len(cluster.pods)
    try:
        assert run(["jobs", "show", name]) == 0
        assert "exit code" not in capfd.readouterr().out
        assert run(["jobs", "stop", name, "--wait"]) == 0
        assert "stopped" in capfd.readouterr().out
    finally:
        cluster.hindrance = ""
    assert run(["jobs", "wait", name]) == 75
    assert len(cluster.pods) == before, "nothing has started"


def submit(name: str, capfd: pytest.CaptureFixture[str], *options: str) -> str:
    assert run(["train", "rides.yaml", f"name={name}", *OPTIONS, *options, "--yes", "--detach"]) == 0
    return capfd.readouterr().out.split()[-1]


def test_a_refusal_by_pod_security_is_told_with_its_reason(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.hindrance = "held"
    name = submit("forbidden", capfd)
    cluster.refused.add(name)
    cluster.hindrance = ""
    reason = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": hostPath volumes'
    metadata = {"name": "e", "namespace": "default"}
    involved = {"kind": "Job", "name": name}
    cluster.events.append(
        {
            "metadata": metadata,
            "involvedObject": involved,
            "type": "Warning",
            "reason": "FailedCreate",
            "message": reason,
        }
    )
    run(["jobs", "show", name])
    assert f"queued: FailedCreate: {reason}" in " ".join(capfd.readouterr().out.split())
    cluster.refused.clear()
    assert run(["jobs", "wait", name]) == 0


def test_the_quota_of_the_namespace_is_said_before_it_is_used(cluster: LoopbackCluster) -> None:
    launcher = read_launcher("kubernetes", ["launch.yaml", "gpus=2", "memory=8Gi", "nodes=2"])
    status = {"hard": {"requests.nvidia.com/gpu": "8"}, "used": {"requests.nvidia.com/gpu": "6"}}
    cluster.quotas.append({"metadata": {"name": "team", "namespace": "default"}, "status": status})
    taken, quota = launcher.cost(JobSpec("train", ("train",)))
    assert "2 pods with 8Gi of memory, 2 nvidia.com/gpu" in taken
    assert "quota team of namespace default: 6 of 8 requests.nvidia.com/gpu in use" in quota


def test_a_job_that_a_queue_suspends_waits_and_is_not_stopped(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster.hindrance = "held"
    name = submit("queued", capfd, "-l", "labels={kueue.x-k8s.io/queue-name: team}")
    cluster.jobs[name]["spec"]["suspend"] = True
    cluster.jobs[name]["status"]["conditions"] = [{"type": "Suspended", "status": "True", "message": ""}]
    cluster.refused.add(name)
    cluster.hindrance = ""
    run(["jobs", "show", name])
    assert f"{name}: queued: its queue has not admitted it" in " ".join(capfd.readouterr().out.split())
    assert run(["jobs", "stop", name, "--now"]) == 0
    run(["jobs", "show", name])
    assert f"{name}: stopped" in capfd.readouterr().out
    cluster.refused.clear()


def test_a_job_that_the_cluster_has_deleted_is_told_by_its_folder(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    name = submit("deleted", capfd)
    assert run(["jobs", "wait", name]) == 0
    del cluster.jobs[name]
    capfd.readouterr()
    assert run(["jobs", "show", name]) == 0
    assert f"{name}: finished" in capfd.readouterr().out
    run(["jobs", "ls"])
    (row,) = (line for line in capfd.readouterr().out.splitlines() if name[:20] in line)
    assert "finished" in row
    assert run(["jobs", "rm", name, "--yes"]) == 0


def test_a_refused_command_fails_the_job_at_once(cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]) -> None:
    Path("broken.csv").write_text("fare,tip\n1,yes\n")
    before = len(cluster.pods)
    code = run(["train", "rides.yaml", "data.train=broken.csv", *OPTIONS, "--yes", "--quiet"])
    assert code in (2, 4)
    assert f"(exit code {code})" in capfd.readouterr().out
    assert len(cluster.pods) == before + 1


def begin_long_job(cluster: LoopbackCluster, name: str) -> str:
    words = ["train", "rides.yaml", f"name={name}", "train.length=100000 steps", *OPTIONS]
    assert run([*words, "--yes", "--detach"]) == 0
    (found,) = (each for each in cluster.jobs if f"-{name}-" in each)
    wait_for_steps(cluster, found)
    return found


def wait_for_steps(cluster: LoopbackCluster, name: str) -> None:
    def has_steps() -> bool:
        numbers = [number for number, pod in enumerate(cluster.pods) if pod.job == name]
        return bool(numbers) and last_step(cluster.folder / f"pod-{numbers[-1]}" / "outputs" / "run") > 0

    while not has_steps():
        assert "conditions" not in cluster.jobs[name]["status"], cluster.pods[-1].lines
        time.sleep(0.2)


@pytest.mark.parametrize("flags", [["--now"], []])
def test_a_job_that_is_stopped_has_saved(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str], flags: list[str]
) -> None:
    name = begin_long_job(cluster, "at-once" if flags else "asked")
    assert run(["jobs", "stop", name, *flags, "--wait"]) == 0
    assert "stopped" in capfd.readouterr().out
    assert run(["jobs", "wait", name]) == 75
    assert "outputs/run/checkpoints/step-" in capfd.readouterr().out


def test_a_pod_that_is_killed_comes_back_and_one_that_is_evicted_is_not_counted(cluster: LoopbackCluster) -> None:
    name = begin_long_job(cluster, "killed")
    for is_disrupted in (False, True, True, True, True):
        before = len(cluster.pods)
        cluster.kill(cluster.pods[-1], is_disrupted=is_disrupted)
        while len(cluster.pods) == before:
            assert "conditions" not in cluster.jobs[name]["status"], "its limit is three restarts"
            time.sleep(0.1)
    wait_for_steps(cluster, name)
    assert run(["jobs", "stop", name, "--now", "--wait"]) == 0


@pytest.mark.parametrize(("index", "is_disrupted"), [(0, True), (1, False)])
def test_a_group_of_pods_goes_on_when_one_is_drained(cluster: LoopbackCluster, index: int, is_disrupted: bool) -> None:
    folder = Path.cwd() / "several"
    options = [*OPTIONS, "-l", f"folder={folder}", "-l", "nodes=2"]
    words = ["train", "rides.yaml", f"name=drained-{index}-{is_disrupted}", "train.length=1000000 steps"]
    assert run([*words, "train.patience=null", *options, "--yes", "--detach"]) == 0
    name = [*cluster.jobs][-1]
    there = folder / name / "outputs" / "run"
    await_that(lambda: last_step(there) > 20, what="steps of two pods")
    assert sizes_of(there) == [2]
    pod = next(each for each in cluster.running(name) if each.index == index)
    cluster.evict(pod, is_disrupted=is_disrupted)
    await_that(lambda: len(sizes_of(there)) == 2 or "conditions" in cluster.jobs[name]["status"], what="a second start")
    assert "conditions" not in cluster.jobs[name]["status"]
    assert sizes_of(there) == [2, 2]
    assert {each.index for each in cluster.running(name)} == {0, 1}
    assert run(["jobs", "stop", name, "--wait"]) == 0
    assert run(["jobs", "wait", name]) == 75


def test_the_doctor_asks_the_cluster_to_judge_a_job(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["doctor", *OPTIONS]) == 0
    capfd.readouterr()
    before = len(cluster.jobs)
    Path("odd.yaml").write_text("spec: {hostNetwrk: true}\n")
    assert run(["doctor", *OPTIONS, "-l", "pod_template=odd.yaml", "-l", "folder=file:///proc/none"]) == 6
    said = capfd.readouterr().out
    assert "hostNetwrk" in said
    assert "✗ folder" in said
    assert run(["doctor", *OPTIONS, "-l", "namespace=forbidden"]) == 6
    assert "cannot create resource" in capfd.readouterr().out
    assert len(cluster.jobs) == before


def test_a_cluster_that_is_not_there_is_refused_in_a_sentence(
    cluster: LoopbackCluster, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path("kubeconfig").read_text().replace(cluster.url, "http://127.0.0.1:9")
    Path("elsewhere").write_text(text)
    for file, said in (("elsewhere", "could not"), ("missing", "no cluster is configured")):
        monkeypatch.setenv("KUBECONFIG", file)
        assert run(["doctor", *OPTIONS]) == 6
        printed = capfd.readouterr().out
        assert "Traceback" not in printed
        assert said in printed or "refused" in printed
