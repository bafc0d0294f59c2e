"""Rendered jobs of Ray: golden files; wrong options are refused with what exists."""

import json
import os
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.errors import ConfigError
from burnish.launch.options import read_launcher
from burnish.launch.ray import group
from burnish.launch.ray.group import GroupPlan, actor_options
from burnish.launch.ray.node import NodeWorker
from burnish.spec.launcher import JobSpec, find_unset, reveal

GOLDEN = Path(__file__).parents[2] / "golden" / "launch" / "ray"
JOB = JobSpec("train-reviews-20261118-120000", ("train", "experiment.yaml", "--dir", "outputs/run"))
STUDY = replace(JOB, words=("tune", "experiment.yaml", "--dir", "outputs/study"))
SET = ("address=http://head:8265", "folder=gs://bucket/team/")
JOBS = {
    "unset": ((), JOB),
    "one": (SET, JOB),
    "elastic": (
        (SET[0], "folder=/mnt/team", "nodes=1:2", "cpus=8", "gpus=1", "memory=16Gi", "resources={a100: 0.5}"),
        JOB,
    ),
    "environment": ((*SET, "env.TOKEN=s3cret", "runtime_env={pip: [a==1], env_vars: {OTHER: x}}"), JOB),
    "study": ((*SET, "cpus=2", "gpus=0.5"), STUDY),
}


@pytest.mark.parametrize("name", JOBS)
def test_a_request_is_as_its_golden(name: str) -> None:
    options, job = JOBS[name]
    text = json.dumps(read_launcher("ray", options).render(job), indent=2, default=str) + "\n"
    path = GOLDEN / f"{name}.json"
    if os.environ.get("BURNISH_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()
    assert "s3cret" not in text


@pytest.mark.parametrize("name", JOBS)
def test_a_request_is_what_the_job_server_reads(name: str) -> None:
    common = pytest.importorskip(
        "ray.dashboard.modules.job.common", reason="the extra `ray` brings it; `make clusters` installs it"
    )
    options, job = JOBS[name]
    body = reveal(read_launcher("ray", options).render(job)["body"])
    common.validate_request_type(body, common.JobSubmitRequest)
    from ray.runtime_env import RuntimeEnv

    RuntimeEnv(**body["runtime_env"])


def test_the_plan_of_a_group_survives_the_shell() -> None:
    entry = read_launcher("ray", (*SET, "nodes=1:2", "resources={it's: 1}")).render(JOB)["body"]["entrypoint"]
    *_, address, text = shlex.split(entry)
    assert address == "gs://bucket/team/train-reviews-20261118-120000/job.json"
    assert GroupPlan(**json.loads(text)) == GroupPlan("1:2", {"CPU": 1, "it's": 1}, 3)


def test_what_an_actor_takes_of_its_node_is_written_as_ray_wants_it() -> None:
    found = actor_options({"CPU": 2.0, "memory": 1e9, "a100": 0.5})
    assert (found["num_cpus"], found["num_gpus"], found["memory"]) == (2.0, 0, 10**9)
    assert found["resources"] == {"a100": 0.5}


def test_what_is_not_set_is_named() -> None:
    launcher = read_launcher("ray", [])
    assert find_unset([launcher.render(JOB), launcher.root(JOB)]) == ["folder"]


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("image=x", "launch.image"),
        ("cpu=2", "launch.cpus"),
        ("nodes=two", "at least and at most"),
        ("memory=lots", "launch.memory"),
        ("gpus=-1", "launch.gpus"),
        ("resources={a: b}", "launch.resources"),
    ],
)
def test_a_wrong_option_is_refused_with_what_exists(option: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_launcher("ray", [option])
    assert said in str(refused.value)


def test_a_worker_passes_on_its_lines_and_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text(
        "import os, sys\nprint(os.getcwd())\nprint('last', file=sys.stderr)\nsys.exit(3)\n"
    )
    folder, *rest = NodeWorker().run(["words"], {"PYTHONPATH": str(tmp_path)})
    assert rest == ["last\n", 3]
    assert not Path(str(folder).strip()).exists()


def test_a_worker_that_a_signal_ended_says_so_as_a_shell_does(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    assert [*NodeWorker().run(["words"], {"PYTHONPATH": str(tmp_path)})] == [137]


def test_a_worker_that_is_stopped_before_its_process_starts_starts_none(tmp_path: Path) -> None:
    node = NodeWorker()
    node.stop()
    assert [*node.run(["words"], {"PYTHONPATH": str(tmp_path)})] == [75]


def test_a_worker_that_is_stopped_before_its_process_listens_has_nothing_to_save(tmp_path: Path) -> None:
    (tmp_path / "words.py").write_text("import time\nprint('here', flush=True)\ntime.sleep(3)\n")
    node = NodeWorker()
    said = node.run(["words"], {"PYTHONPATH": str(tmp_path)})
    assert next(said) == "here\n"
    node.stop()
    assert [*said] == [75]


class Unplaced:
    """A place on nodes that never come; whoever waits for it is asked to stop."""

    bundle_count = 1

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop, self.is_removed = stop, False

    def wait(self, _seconds: float) -> bool:
        self.stop()
        return False


def test_a_job_that_waits_for_nodes_stops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[Unplaced] = []

    def place(_bundles: object, *, strategy: str) -> Unplaced:
        places.append(Unplaced(found.stop))
        return places[-1]

    ray = SimpleNamespace(nodes=list, exceptions=SimpleNamespace(RayTaskError=KeyError, RayError=OSError))
    util = SimpleNamespace(placement_group=place, remove_placement_group=lambda each: setattr(each, "is_removed", True))
    monkeypatch.setattr(group, "require", lambda name, **_: {"ray": ray, "ray.util": util}[name])
    found = group.NodeGroup("gs://bucket/job.json", GroupPlan("1", {"CPU": 1}, 3))
    assert found.run() == 75
    assert [each.is_removed for each in places] == [True]
