"""Rendered requests: golden files, judged by the official protos; wrong options are refused with what exists."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from burnish.errors import BurnishError, ConfigError
from burnish.launch.options import read_launcher
from burnish.launch.variables import mask_words
from burnish.launch.vertex.deploy import render_model
from burnish.launch.vertex.machines import OLDER, explain_image
from burnish.launch.vertex.study import study_request
from burnish.spec.launcher import JobSpec, find_unset, reveal

GOLDEN = Path(__file__).parents[2] / "golden" / "launch"
JOB = JobSpec("train-reviews-20261118-120000", ("train", "experiment.yaml", "--dir", "outputs/run"))
SET = ("project=p", "bucket=gs://b/team", "image=registry/team/burnish:1")
SPACE = {"optimizer.learning_rate": {"type": "log", "min": "1e-5", "max": "1e-3"}, "train.batch": ["16", "32"]}
TUNE = {
    "metric": "validation/accuracy",
    "trials": "5",
    "parallel": "2",
    "searcher": {"stopper": "median"},
    "space": SPACE,
}
REQUESTS: dict[str, tuple[tuple[str, ...], JobSpec]] = {
    "unset": ((), JOB),
    "container": (SET, JOB),
    "package": ((*SET, "route=package"), replace(JOB, packages=("burnish-0.1.0.tar.gz",))),
    "gpus-spot": ((*SET, "accelerator=t4", "accelerators=2", "spot=true", "timeout=90 minutes"), JOB),
    "pools": ((*SET, "replicas=3", "machine=g2-standard-12", "accelerator=L4"), JOB),
    "pools-spot": ((*SET, "replicas=2", "shared=10.0.0.2:/share/team", "network=n", "spot=true"), JOB),
    "account": (
        (*SET, "service_account=a@b.c", "tensorboard=tb", "network=n", "labels.team=x", "env.TOKEN=s3cret"),
        JOB,
    ),
    "tier": ((*SET, "machine=complex_model_m_gpu"), JOB),
    "search": (SET, replace(JOB, study=TUNE)),
    "search-grid": (SET, replace(JOB, study={"searcher": "grid", "space": {"a": {"type": "int", "min": 1, "max": 3}}})),
}


@pytest.fixture(autouse=True)
def _no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)


@pytest.mark.parametrize("name", REQUESTS)
def test_a_request_is_as_its_golden_and_as_the_service_reads_it(name: str) -> None:
    options, job = REQUESTS[name]
    request = read_launcher("vertex", options).render(job)
    text = json.dumps(request, indent=2, default=str) + "\n"
    path = GOLDEN / f"{name}.json"
    if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
        path.write_text(text)
    assert text == path.read_text()
    assert "s3cret" not in text
    _judge(request)


def _judge(request: dict[str, Any]) -> None:
    api = pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
    from google.protobuf import json_format

    kind = api.CustomJob if request["url"].endswith("customJobs") else api.HyperparameterTuningJob
    json_format.ParseDict(reveal(request["body"]), kind.pb(kind()))


def test_an_endpoint_runs_code_of_others_only_if_it_was_said() -> None:
    commands = [
        render_model(read_launcher("vertex", SET), "m", runs_code=each)["containerSpec"]["command"]
        for each in (False, True)
    ]
    assert ["--trust-code" in each for each in commands] == [False, True]


def test_what_is_not_set_is_named() -> None:
    launcher = read_launcher("vertex", [])
    assert find_unset([launcher.render(JOB), launcher.root(JOB)]) == ["project", "image", "bucket"]


def test_the_project_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "from-here")
    assert "projects/from-here/" in read_launcher("vertex", []).render(JOB)["url"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("machin=x", "launch.machine"),
        ("machine_type=n1-standard-8", "launch.machine"),
        ("machine=n1", "n1-standard-8"),
        ("machine=complex_model_x_gpu", "complex_model"),
        ("machine=cloud_tpu", "TPUs are not supported"),
        ("machine=CUSTOM", "masterType"),
        ("accelerator=T5", "NVIDIA_L4"),
        ("accelerator=TPU_V3", "TPUs are not supported"),
        ("accelerators=2", "`accelerator`"),
        ("route=docker", "container, package"),
        ("timeout=5", "12 hours"),
        ("replicas=0", "more than 0"),
        ("spot=maybe", "true or false"),
        ("shared=/mnt/x", "launch.shared"),
        ("region=Moon", "launch.region"),
        ("labels.A=x", "launch.labels"),
        ("tensorboard=t", "service_account"),
        ("image=host/vertex-ai/training/pytorch-gpu.2-4.py310:latest", "Python 3.10"),
        ("image=pytorch/pytorch:2.4.1-cuda12", "torch 2.4"),
        ("image=python:3.9-slim", "Python 3.9"),
    ],
)
def test_a_wrong_option_is_refused_with_what_exists_and_its_origin(option: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", [option])
    assert said in str(refused.value)
    assert f"launch.{option.partition('=')[0]}" in str(refused.value)


@pytest.mark.parametrize(
    ("options", "machine"),
    [
        ((), ("n1-standard-4", None, 0)),
        (("accelerator=t4",), ("n1-standard-4", "NVIDIA_TESLA_T4", 1)),
        (("accelerator=l4",), ("g2-standard-8", "NVIDIA_L4", 1)),
        (("accelerator=l4", "accelerators=4"), ("g2-standard-48", "NVIDIA_L4", 4)),
        (("accelerator=a100", "accelerators=16"), ("a2-megagpu-16g", "NVIDIA_TESLA_A100", 16)),
        (("accelerator=a100_80gb",), ("a2-ultragpu-1g", "NVIDIA_A100_80GB", 1)),
        (("accelerator=h100_80gb", "accelerators=8"), ("a3-highgpu-8g", "NVIDIA_H100_80GB", 8)),
        (("accelerator=b200",), ("a4-highgpu-8g", "NVIDIA_B200", 8)),
        (("machine=g2-standard-8",), ("g2-standard-8", "NVIDIA_L4", 1)),
        (("machine=g2-standard-96",), ("g2-standard-96", "NVIDIA_L4", 8)),
        (("machine=a3-megagpu-8g",), ("a3-megagpu-8g", "NVIDIA_H100_MEGA_80GB", 8)),
        (("machine=complex_model_m_gpu", "accelerators=2"), ("n1-standard-16", "NVIDIA_TESLA_T4", 2)),
        (("machine=c3-standard-8",), ("c3-standard-8", None, 0)),
    ],
)
def test_machine_and_accelerator_are_chosen_by_one_another(options: tuple[str, ...], machine: tuple[object]) -> None:
    found = read_launcher("vertex", options).hardware
    assert (found.type, found.accelerator, found.accelerators) == machine


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("machine=n1-standard-8", "accelerator=l4"), "comes with g2-standard-8 (1)"),
        (("machine=g2-standard-8", "accelerator=t4"), "comes with machines like n1-standard-8"),
        (("machine=g2-standard-8", "accelerators=2"), "g2-standard-24 (2)"),
        (("machine=n2-standard-8", "accelerator=t4"), "`machine` is n2-standard-8"),
        (("machine=n1-standard-8", "accelerator=t4", "accelerators=3"), "1, 2, 4 NVIDIA_TESLA_T4"),
        (("accelerator=a100", "accelerators=3"), "1, 2, 4, 8, 16 NVIDIA_TESLA_A100"),
        (("accelerator=h200_141gb", "accelerators=2"), "has 8 NVIDIA_H200_141GB"),
    ],
)
def test_a_machine_that_does_not_go_with_its_accelerator_is_refused(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", options)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("machine", "disk"),
    [
        ("n1-standard-8", "pd-ssd"),
        ("g2-standard-8", "pd-ssd"),
        ("a2-highgpu-1g", "pd-ssd"),
        ("a3-highgpu-8g", "pd-ssd"),
        ("a3-ultragpu-8g", "hyperdisk-balanced"),
        ("a4-highgpu-8g", "hyperdisk-balanced"),
        ("c3-standard-8", "hyperdisk-balanced"),
        ("h3-standard-88", "hyperdisk-balanced"),
        ("n4-standard-8", "hyperdisk-balanced"),
    ],
)
def test_a_machine_starts_from_a_disk_that_it_has(machine: str, disk: str) -> None:
    request = read_launcher("vertex", (*SET, f"machine={machine}")).render(JOB)
    assert request["body"]["jobSpec"]["workerPoolSpecs"][0]["diskSpec"]["bootDiskType"] == disk


OVERLAY = """\
overlay:
  encryptionSpec: {kmsKeyName: projects/p/locations/us-central1/keyRings/r/cryptoKeys/k}
  labels: {team: search}
  jobSpec:
    enableWebAccess: true
    scheduling: {strategy: FLEX_START, maxWaitDuration: 1800s}
    workerPoolSpecs:
      machineSpec:
        reservationAffinity: {reservationAffinityType: ANY_RESERVATION}
"""


def test_an_overlay_is_laid_over_the_request_as_it_is_sent(tmp_path: Path) -> None:
    api = pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
    (tmp_path / "launch.yaml").write_text(OVERLAY)
    options = (*SET, "replicas=2", "shared=10.0.0.2:/share", "network=n", str(tmp_path / "launch.yaml"))
    body = read_launcher("vertex", options).render(JOB)["body"]
    job = api.CustomJob.from_json(json.dumps(body))
    assert job.job_spec.scheduling.strategy.name == "FLEX_START"
    assert job.job_spec.scheduling.max_wait_duration.total_seconds() == 1800
    assert job.job_spec.scheduling.timeout.total_seconds() == 86_400, "what is not named stays"
    assert job.job_spec.enable_web_access is True
    assert job.encryption_spec.kms_key_name.endswith("/cryptoKeys/k")
    assert dict(job.labels) == {"burnish": "job", "team": "search"}
    kinds = [
        pool.machine_spec.reservation_affinity.reservation_affinity_type.name for pool in job.job_spec.worker_pool_specs
    ]
    assert kinds == ["ANY_RESERVATION", "ANY_RESERVATION"]
    assert job.job_spec.worker_pool_specs[0].machine_spec.machine_type == "n1-standard-4"


def test_an_overlay_of_a_job_is_that_of_the_trials_of_a_search() -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
    launcher = read_launcher("vertex", (*SET, "overlay.jobSpec.scheduling.strategy=FLEX_START"))
    body = launcher.render(replace(JOB, study=TUNE))["body"]
    assert body["trialJobSpec"]["scheduling"]["strategy"] == "FLEX_START"
    assert "jobSpec" not in body


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("overlay.jobSpec.schedulin.strategy=SPOT", "did you mean `scheduling`?"),
        ("overlay.jobSpec.scheduling.strategi=SPOT", "launch.overlay.jobSpec.scheduling.strategi"),
        ("overlay.jobSpec.scheduling.strategy=FLEX_STRAT", "did you mean FLEX_START?"),
        ("overlay.encryptionSpec.kmsKey=x", "did you mean `kmsKeyName`?"),
        ("overlay.jobSpec.scheduling.maxWaitDuration=soon", "does not fit into the request"),
        ("overlay.jobSpec.workerPoolSpecs=[{diskSpec: {bootDiskSizeGB: 5}}]", "did you mean `bootDiskSizeGb`?"),
    ],
)
def test_an_overlay_that_the_service_would_not_know_is_refused(option: str, said: str) -> None:
    pytest.importorskip("google.cloud.aiplatform_v1", reason="the extra `vertex` brings it")
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", (*SET, option)).render(JOB)
    assert said in str(refused.value)


def test_all_problems_of_a_file_come_at_once_with_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "launch.yaml"
    file.write_text("regiom: x\nspot: 7\nmachine: n1\n")
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", [str(file)])
    assert [f"{file}:{line}" in str(refused.value) for line in (1, 2, 3)] == [True] * 3


def test_an_unknown_place_is_refused() -> None:
    with pytest.raises(ConfigError, match="vertex"):
        read_launcher("vertx", [])


@pytest.mark.parametrize("tier", OLDER)
def test_every_older_name_stands_for_a_machine_and_is_noted(tier: str) -> None:
    launcher = read_launcher("vertex", [f"machine={tier.upper()}"])
    machine = launcher.render(JOB)["body"]["jobSpec"]["workerPoolSpecs"][0]["machineSpec"]["machineType"]
    assert machine.startswith("n1-")
    assert machine in launcher.notes[0]


@pytest.mark.parametrize(
    "image", ["python:3.11-slim", "host/team/burnish:1", "pytorch/pytorch:2.6.0-cuda12", "a/torch-2-13.py312"]
)
def test_an_image_that_may_fit_is_taken(image: str) -> None:
    assert explain_image(image) is None


@pytest.mark.parametrize("option", ["env.TOKEN={a: s3cret}", "env=s3cret", "env.TOKEN=[s3cret]"])
def test_a_refusal_quotes_no_value_of_a_variable(option: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("vertex", [option, "spot=maybe"])
    assert "s3cret" not in str(refused.value)


def test_the_command_is_recorded_without_values_of_variables() -> None:
    assert mask_words(["train", "x", "launch.env.A=b c", "-l", "env.B=d", "data.train=env.csv"]) == [
        *("train", "x", "launch.env.A=***", "-l", "env.B=***", "data.train=env.csv"),
    ]


@pytest.mark.parametrize(
    ("tune", "said"),
    [
        ({}, "tune.space"),
        ({"space": {"a": []}}, "nothing to choose"),
        ({"space": {"a": {"type": "log", "min": 0, "max": 1}}}, "more than 0"),
        ({"space": {"a": {"min": 2, "max": 1}}}, "min below max"),
        ({"space": {"a": {"type": "normal", "min": 0, "max": 1}}}, "reverse_log"),
        ({"space": {"a": [1, 2]}, "searcher": "asha"}, "random"),
        ({"space": {"a": [1, 2]}, "searcher": {"type": "tpe", "stopper": "hyperband"}}, "searcher.stopper must"),
        ({"space": {"a": [1, 2]}, "trials": 0}, "tune.trials"),
        ({"space": {"a": [1, 2]}, "sampler": "x"}, "tune.sampler"),
    ],
)
def test_a_search_that_the_service_cannot_do_is_refused(tune: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        study_request(tune)


_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
_names = st.sampled_from(
    ["project", "region", "env", "labels", "files", "machine", "launch", "type", "study", "x", "image"]
)


@given(st.dictionaries(_names, _values, max_size=5))
def test_any_file_is_read_or_refused_in_a_sentence(
    tmp_path_factory: pytest.TempPathFactory, options: dict[str, Any]
) -> None:
    file = tmp_path_factory.mktemp("fuzz") / "launch.yaml"
    file.write_text(yaml.safe_dump(options, allow_unicode=True))
    try:
        json.dumps(read_launcher("vertex", [str(file)]).render(JOB), default=str)
    except BurnishError:
        return


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40))
def test_any_word_is_read_or_refused_in_a_sentence(word: str) -> None:
    try:
        read_launcher("vertex", [f"launch.{word}"]).render(JOB)
    except BurnishError:
        return
