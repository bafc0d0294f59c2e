"""Rendered objects: golden files, judged by the official schemas; wrong options are refused with what exists."""

import json
import os
from pathlib import Path

import pytest
import yaml

from burnish.commands.elsewhere.launching import fill_environment, preview
from burnish.errors import ConfigError
from burnish.launch.kubernetes.manifest import object_name, write_objects
from burnish.launch.options import read_launcher
from burnish.spec.launcher import JobSpec, find_unset, reveal

GOLDEN = Path(__file__).parents[2] / "golden" / "launch" / "kubernetes"
JOB = JobSpec("train-reviews-20261118-120000", ("train", "experiment.yaml", "--dir", "outputs/run"))
SET = ("image=registry/team/burnish:1", "folder=gs://bucket/team/")
TEMPLATE = """\
metadata: {annotations: {team: search}}
spec:
  priorityClassName: high
  securityContext: {fsGroup: 1000}
  tolerations: [{key: more, operator: Exists}]
  volumes: [{name: scratch, emptyDir: {}}]
  containers:
    - name: burnish
      env: [{name: BURNISH_NODES, value: "2"}, {name: MORE, value: "1"}]
      volumeMounts: [{name: scratch, mountPath: /data}, {name: scratch, mountPath: /scratch}]
    - {name: beside, image: "logs:1"}
"""
MANIFESTS = {
    "unset": (),
    "one": SET,
    "several": (SET[0], "folder=/mnt/team", "nodes=3", "gpus=8", "cpu=32", "memory=200Gi", "shared_memory=16Gi"),
    "elastic": (SET[0], "folder=/mnt/team", "nodes=1:2", "max_restarts=5", "timeout=12 hours"),
    "secrets": (*SET, "env.TOKEN=s3cret", "env.OTHER=null", "secrets.HF_TOKEN=hub/token"),
    "volumes": (SET[0], "folder=/mnt/team", "volumes={/mnt/team: pvc:team, /raw: host:/srv, /a: empty, /b: empty:5Gi}"),
    "spot": (
        *(*SET, "node_selector={cloud.google.com/gke-spot: true}", "service_account=trainer", "labels.team=search"),
        *("tolerations=[cloud.google.com/gke-spot=true:NoSchedule, plain, any:NoExecute]", "image_pull_secrets=[a, b]"),
        "priority_class=urgent",
    ),
    "template": (*SET, "nodes=1:2", "volumes={/data: pvc:x}", "tolerations=[plain]", "pod_template=pods.yaml"),
}


@pytest.fixture(autouse=True)
def _template(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pods.yaml").write_text(TEMPLATE)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_as_its_golden(name: str) -> None:
    text = json.dumps(read_launcher("kubernetes", MANIFESTS[name]).render(JOB), indent=2, default=str) + "\n"
    path = GOLDEN / f"{name}.json"
    if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    assert "s3cret" not in text
    assert yaml.safe_load(text) == json.loads(text)


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_is_what_the_official_schemas_know(name: str) -> None:
    pytest.importorskip("kubernetes_validate", reason="the official schemas, 108 MB; `make clusters` installs them")
    from tests.harness.kubernetes import judge

    objects = read_launcher("kubernetes", MANIFESTS[name]).render(JOB)["items"]
    for each in objects:
        judge(json.loads(json.dumps(reveal(each))))
    assert objects[0]["kind"] == "Job"


def test_the_judge_refuses_a_field_that_is_not_there() -> None:
    validate = pytest.importorskip("kubernetes_validate", reason="`make clusters` installs it")
    from tests.harness.kubernetes import judge

    Path("pods.yaml").write_text("spec: {hostNetwrk: true}\n")
    (job,) = read_launcher("kubernetes", [*SET, "pod_template=pods.yaml"]).render(JOB)["items"]
    with pytest.raises(validate.ValidationError, match="hostNetwrk"):
        judge(job)


def test_a_rendered_manifest_names_its_secret_and_holds_no_masks() -> None:
    launcher = read_launcher("kubernetes", MANIFESTS["secrets"])
    found = preview(launcher, JOB)
    assert "*****" not in json.dumps(found)
    assert [each["kind"] for each in found["request"]["items"]] == ["Job"]
    container = found["request"]["items"][0]["spec"]["template"]["spec"]["containers"][0]
    assert container["envFrom"] == [{"secretRef": {"name": JOB.name}}]
    (sentence,) = found["left_out"]
    assert f"create secret generic {JOB.name} --from-literal=TOKEN=… --from-literal=OTHER=…" in sentence
    assert "left_out" not in preview(read_launcher("kubernetes", SET), JOB)


def test_a_secret_of_a_submitted_job_has_its_values() -> None:
    launcher = fill_environment(read_launcher("kubernetes", MANIFESTS["secrets"]), {"OTHER": "mine"})
    (_, secret) = reveal(write_objects(launcher, JOB, attempt=1))
    assert secret["stringData"] == {"TOKEN": "s3cret", "OTHER": "mine"}


def test_what_is_not_set_is_named() -> None:
    launcher = read_launcher("kubernetes", [])
    assert find_unset([launcher.render(JOB), launcher.root(JOB)]) == ["image", "folder"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("replicas=2", "launch.replicas"),
        ("node=2", "launch.nodes"),
        ("nodes=2:1", "at least and at most"),
        ("nodes=0", "at least and at most"),
        ("cpu=4 cores", "launch.cpu"),
        ("memory=8GB", "launch.memory"),
        ("gpus=-1", "launch.gpus"),
        ("namespace=My_Team", "launch.namespace"),
        ("secrets.HF_TOKEN=token", "hub/token"),
        ("volumes={data: pvc:x}", "mounted in the pods"),
        ("volumes={/data: nfs:x}", "pvc:NAME, host:/PATH, empty or empty:SIZE"),
        ("tolerations=[spot=true:NoStart]", "NoSchedule, PreferNoSchedule or NoExecute"),
        ("timeout=5", "12 hours"),
    ],
)
def test_a_wrong_option_is_refused_with_what_exists(option: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("kubernetes", [option])
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("content", "said"), [("kind: Pod\nspec: {}\n", "kind"), ("- a\n", "no mapping"), ("{", "could not be read")]
)
def test_a_template_that_is_none_is_refused(content: str, said: str) -> None:
    Path("pods.yaml").write_text(content)
    with pytest.raises(ConfigError, match=r"launch\.pod_template") as refused:
        read_launcher("kubernetes", [*SET, "pod_template=pods.yaml"]).render(JOB)
    assert said in str(refused.value)


def test_pods_are_what_the_strictest_pod_security_takes() -> None:
    (job,) = read_launcher("kubernetes", SET).render(JOB)["items"]
    pod = job["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["fsGroup"] == 1000
    (container,) = pod["containers"]
    assert container["securityContext"] == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def test_a_template_has_the_last_word_on_security() -> None:
    Path("pods.yaml").write_text("spec: {securityContext: {runAsNonRoot: false, fsGroup: 7}}\n")
    (job,) = read_launcher("kubernetes", [*SET, "pod_template=pods.yaml"]).render(JOB)["items"]
    found = job["spec"]["template"]["spec"]["securityContext"]
    assert (found["runAsNonRoot"], found["fsGroup"]) == (False, 7)


@pytest.mark.parametrize(
    ("options", "seconds"), [((), 604_800), (("kept_for=1 hour",), 3600), (("kept_for=null",), None)]
)
def test_jobs_leave_the_cluster_some_time_after_their_end(options: tuple[str, ...], seconds: int | None) -> None:
    (job,) = read_launcher("kubernetes", [*SET, *options]).render(JOB)["items"]
    assert job["spec"].get("ttlSecondsAfterFinished") == seconds


def test_names_fit_the_host_names_of_pods_and_attempts_differ() -> None:
    name = f"prepare-{'x' * 40}-20261118-120000"
    found = [object_name(name, attempt=attempt) for attempt in (1, 2)]
    assert found[0].endswith("x-20261118-120000")
    assert found[1] == f"{found[0]}-2"
    assert all(len(f"{each}-99999") <= 63 for each in found)
    assert object_name(JOB.name, attempt=1) == JOB.name


def test_gpus_of_several_nodes_are_told_of_shared_memory() -> None:
    assert "shared_memory" in read_launcher("kubernetes", [*SET, "nodes=2", "gpus=1"]).notes[0]
    assert not read_launcher("kubernetes", [*SET, "nodes=2", "gpus=1", "shared_memory=1Gi"]).notes
