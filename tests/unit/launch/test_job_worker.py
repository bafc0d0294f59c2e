"""The worker of a job: which plans it reads, what it starts again, what travels."""

import json
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path
from threading import Event

import pytest

from burnish.errors import LaunchError
from burnish.launch import worker
from burnish.launch.image import find_tool, pack
from burnish.launch.package import burnish_wheel, expand, read_requirements
from burnish.launch.plan import FORMAT, JobPlan, read_job_plan
from burnish.launch.transfer import download, list_remote, read_remote, remove_remote, upload, write_remote
from burnish.spec.launcher import JobSpec
from tests.harness.places import await_that

_ROOT = str(Path(__file__).parents[3])
_SHOW = "tests.unit.launch.show_environment"


def test_a_plan_reads_back() -> None:
    plan = JobPlan(("train", "x"), max_restarts=2)
    assert read_job_plan(plan.write(), source="job.json") == plan


def test_an_older_worker_refuses_a_newer_plan_in_a_sentence() -> None:
    with pytest.raises(LaunchError, match="newer Burnish"):
        read_job_plan(json.dumps({"format": FORMAT + 1, "words": ["train"]}).encode(), source="job.json")


def test_a_newer_worker_reads_what_an_older_plan_does_not_say() -> None:
    assert read_job_plan(b'{"format": 1, "words": ["train"]}', source="job.json").max_restarts == 3


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"format": "1"}', b'{"format": 1}', b'{"format": 1, "words": [1]}']
)
def test_a_plan_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(LaunchError, match=r"job\.json"):
        read_job_plan(content, source="job.json")


@pytest.mark.parametrize(("code", "starts"), [(0, 1), (2, 1), (4, 1), (75, 1), (8, 1), (6, 4), (-9, 4), (137, 4)])
def test_only_what_died_is_started_again_with_longer_waits(
    code: int, starts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: code)
    ended, number = worker.attempt(["train"], JobPlan(("train",), max_restarts=3), asked=Event(), sleep=waits.append)
    assert number == starts
    assert ended == (code if code >= 0 else 137)
    assert waits == [5.0, 10.0, 20.0][: starts - 1]


@pytest.mark.parametrize(("code", "ended"), [(-15, 75), (6, 75), (75, 75), (0, 0), (4, 4)])
def test_what_was_asked_to_stop_is_not_started_again(code: int, ended: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Event()

    def run_asked(argv: list[str], on_line: object) -> int:
        asked.set()
        return code

    monkeypatch.setattr(worker, "run_worker", run_asked)
    assert worker.attempt(["train"], JobPlan(("train",), max_restarts=3), asked=asked) == (ended, 1)


def test_a_request_that_comes_while_a_start_is_waited_for_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Event()
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: -9)
    plan = JobPlan(("train",), max_restarts=3)
    assert worker.attempt(["train"], plan, asked=asked, sleep=lambda seconds: asked.set()) == (75, 1)


@pytest.mark.parametrize("max_restarts", [0, 3])
def test_a_request_that_comes_before_the_command_starts_starts_nothing(
    max_restarts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, started = Event(), list[object]()
    asked.set()
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: started.append(argv) or 0)
    assert worker.attempt(["train"], JobPlan(("train",), max_restarts=max_restarts), asked=asked) == (75, 0)
    assert started == []


def ends(reason: str) -> None:
    Path("outputs/run").mkdir(parents=True, exist_ok=True)
    Path("outputs/run/exit.json").write_text(json.dumps({"reason": reason}))


@pytest.mark.parametrize(
    ("reason", "comes_back", "ended"),
    [("preempted", True, (0, 1)), ("preempted", False, (75, 1)), ("stop_file", True, (75, 1)), ("", True, (75, 1))],
)
def test_a_node_whose_peer_was_taken_away_begins_again_where_that_is_replaced(
    reason: str, comes_back: bool, ended: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [75] * 9 + [0]
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: ends(reason) or codes.pop(0))
    plan, words = JobPlan(("train",), max_restarts=3), ["train", "--rendezvous", "n1:29400"]
    found = worker.attempt(words, plan, asked=Event(), sleep=lambda seconds: None, comes_back=comes_back)
    assert found == ended


def test_a_peer_that_is_late_to_come_back_is_waited_for_as_often_as_a_command_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = [75, 6, 6, 6, 6]
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: ends("preempted") or codes.pop(0))
    plan, words = JobPlan(("train",), max_restarts=3), ["train", "--rendezvous", "n1:29400"]
    found = worker.attempt(words, plan, asked=Event(), sleep=lambda seconds: None, comes_back=True)
    assert found == (6, 4)
    assert codes == []


@pytest.mark.parametrize(("told", "code"), [("1", 143), ("", 75)])
def test_a_worker_that_is_replaced_ends_as_one_that_a_signal_ended(
    told: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_COMES_BACK", told)
    asked = Event()
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: asked.set() or 75)
    assert worker.main([f"{tmp_path}/job.json"], asked=asked) == code
    assert worker.read_result(str(tmp_path)) == 75


def test_a_job_that_was_stopped_while_it_waited_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    (tmp_path / "STOP").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: pytest.fail("it started"))
    assert worker.main([f"{tmp_path}/job.json"]) == 75
    assert worker.read_result(str(tmp_path)) == 75


@pytest.mark.parametrize("code", [75, 6, -9])
def test_a_stop_beats_whoever_wants_the_worker_to_come_back(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_COMES_BACK", "1")
    asked, starts = Event(), list[object]()

    def train(argv: list[str], on_line: object) -> int:
        starts.append(argv)
        (tmp_path / "STOP").touch()
        (tmp_path / "PAUSE").touch()
        asked.set()
        return code

    monkeypatch.setattr(worker, "run_worker", train)
    assert worker.main([f"{tmp_path}/job.json"], asked=asked) == 75
    assert len(starts) == 1


@pytest.mark.parametrize("request_file", ["STOP", "PAUSE"])
def test_a_command_that_still_waits_for_other_nodes_is_ended_and_not_started_again(
    request_file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "_LOOK_SECONDS", 0.01)
    signals: list[int] = []
    monkeypatch.setattr(worker.os, "kill", lambda pid, number: signals.append(number))

    def meet(argv: list[str], on_line: object) -> int:
        (tmp_path / request_file).touch()
        await_that(lambda: signals != [], what="a signal", seconds=20)
        return -signals[0]

    monkeypatch.setattr(worker, "run_worker", meet)
    assert worker.main([f"{tmp_path}/job.json"]) == 75
    assert signals == [15]


def test_on_several_nodes_the_command_itself_has_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: 6)
    words = ["train", "--rendezvous", "n1:29400"]
    assert worker.attempt(words, JobPlan(("train",), max_restarts=3), asked=Event()) == (6, 1)


def test_a_node_learns_from_its_variables_which_it_is() -> None:
    told = {"BURNISH_NODES": "1:2", "BURNISH_RENDEZVOUS": "n1:29400", "BURNISH_NODE_RANK": "1"}
    node, plan = worker.JobNode.read(told), JobPlan(("train", "x"), max_restarts=2)
    assert node == worker.JobNode("1:2", "n1:29400", 1)
    assert node.words(plan) == ["--nodes", "1:2", "--rendezvous", "n1:29400", "--max-restarts", "2"]
    assert node.words(JobPlan(("tune", "x"))) == []
    assert worker.JobNode.read({}) == worker.JobNode()
    assert worker.JobNode().words(plan) == []
    with pytest.raises(LaunchError, match="number of this node"):
        worker.JobNode.read({"BURNISH_NODE_RANK": "first"})


@pytest.mark.parametrize(
    ("task", "told"),
    [
        (("workerpool0", 0), {"BURNISH_NODE_RANK": "0", "BURNISH_MEETS_HERE": "1", "AIP_MODEL_DIR": "gs://b/model"}),
        (("workerpool1", 1), {"BURNISH_NODE_RANK": "2", "BURNISH_MEETS_HERE": "0"}),
    ],
)
def test_a_replica_of_vertex_learns_from_its_cluster_which_it_is(task: tuple[str, int], told: dict[str, str]) -> None:
    cluster = {"workerpool1": ["b:2222", "c:2222"], "workerpool0": ["a:2222"]}
    spec = json.dumps({"cluster": cluster, "task": {"type": task[0], "index": task[1]}, "job": "x"})
    environment = {"CLUSTER_SPEC": spec, "AIP_MODEL_DIR": "gs://b/model"}
    worker.find_place(environment)
    assert environment == {"CLUSTER_SPEC": spec, "BURNISH_NODES": "3", "BURNISH_RENDEZVOUS": "a:2222", **told}


@pytest.mark.parametrize(
    "spec", ["", '{"cluster": {"workerpool0": ["a:1"]}, "task": {"type": "workerpool0", "index": 0}}']
)
def test_a_replica_alone_is_no_cluster(spec: str) -> None:
    environment = {"CLUSTER_SPEC": spec}
    worker.find_place(environment)
    assert environment == {"CLUSTER_SPEC": spec}


@pytest.mark.parametrize(
    "spec", ["{", "[]", '{"cluster": {"workerpool0": ["a:1"]}, "task": {"type": "x", "index": 0}}']
)
def test_a_cluster_that_does_not_say_which_machine_this_is_is_refused(spec: str) -> None:
    with pytest.raises(LaunchError, match="CLUSTER_SPEC"):
        worker.find_place({"CLUSTER_SPEC": spec})


def test_several_nodes_refuse_a_folder_that_each_would_have_a_copy_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_remote(f"file://{tmp_path}/job.json", JobPlan(("train", "x")).write())
    monkeypatch.setenv("BURNISH_NODES", "2")
    assert worker.main([f"file://{tmp_path}/job.json"]) == 6
    assert "in one folder that all of them see" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize(("rank", "code", "leaves"), [("0", 0, True), ("0", 4, True), ("1", 4, False), ("1", 0, True)])
def test_a_job_on_a_path_works_in_its_folder_and_says_how_it_ended_by_the_first_node_or_one_that_finished(
    rank: str, code: int, leaves: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_NODE_RANK", rank)
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: Path("outputs/made").write_text("") or code)
    assert worker.main([f"{tmp_path}/job.json"]) == code
    assert (tmp_path / "outputs" / "made").exists()
    assert Path.cwd() == tmp_path / "files"
    assert (tmp_path / "result.json").exists() is leaves


def test_what_the_first_node_said_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    (tmp_path / "result.json").write_text('{"exit_code": 75}')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_NODE_RANK", "1")
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: 0)
    assert worker.main([f"{tmp_path}/job.json"]) == 0
    assert (tmp_path / "result.json").read_text() == '{"exit_code": 75}'


@pytest.mark.parametrize("rank", ["0", "1"])
def test_every_node_passes_on_a_request_to_stop_as_the_first_may_be_lost(
    rank: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "_LOOK_SECONDS", 0.01)
    monkeypatch.setenv("BURNISH_NODE_RANK", rank)

    def train(argv: list[str], on_line: object) -> int:
        Path("outputs/run").mkdir()
        Path("outputs/run/lock.json").touch()
        (tmp_path / "STOP").touch()
        await_that(Path("outputs/run/STOP").exists, what="the request", seconds=20)
        return 75

    monkeypatch.setattr(worker, "run_worker", train)
    assert worker.main([f"{tmp_path}/job.json"]) == 75


def test_a_start_that_dies_leaves_no_result_of_an_earlier_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = f"file://{tmp_path}"
    write_remote(f"{root}/job.json", JobPlan(("train", "x")).write())
    write_remote(f"{root}/result.json", b'{"exit_code": 75}')
    monkeypatch.chdir(tmp_path)

    def die(argv: list[str], on_line: object) -> int:
        raise MemoryError

    monkeypatch.setattr(worker, "run_worker", die)
    with pytest.raises(MemoryError):
        worker.main([f"{root}/job.json"])
    assert worker.read_result(root) is None


@pytest.mark.parametrize("is_planned", [True, False])
def test_a_trial_leaves_no_result_in_the_folder_that_all_of_them_share(
    is_planned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"file://{tmp_path}"
    if is_planned:
        write_remote(f"{root}/job.json", JobPlan(("train", "x")).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "1")
    monkeypatch.setattr(worker, "run_worker", lambda argv, on_line: 4)
    assert worker.main([f"{root}/job.json", "--train.batch=1"]) == (4 if is_planned else 6)
    assert worker.read_result(root) is None


def test_a_job_on_a_path_finds_modules_that_lie_beside_its_experiment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "job.json").write_bytes(JobPlan(("BURNISH_MODULES_HERE",), max_restarts=0).write())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    start = worker.run_worker
    monkeypatch.setattr(
        worker,
        "run_worker",
        lambda argv, on_line: start([_SHOW, *argv[1:]], on_line=on_line, env={"PYTHONPATH": _ROOT}),
    )
    assert worker.main([f"{tmp_path}/job.json"]) == 0
    assert capfd.readouterr().out == "1"


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_folder_of_jobs_is_made_where_there_is_none(tmp_path: Path, scheme: str) -> None:
    write_remote(f"{scheme}{tmp_path}/new/job/job.json", b"1")
    assert (tmp_path / "new" / "job" / "job.json").read_bytes() == b"1"


def test_the_options_of_a_trial_become_overrides() -> None:
    assert worker.trial_words(["--train.batch=16", "--optimizer.learning_rate=1e-3"]) == [
        *("train.batch=16", "optimizer.learning_rate=1e-3"),
    ]
    with pytest.raises(LaunchError, match="--key=value"):
        worker.trial_words(["batch"])


def test_a_job_without_a_plan_ends_with_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert worker.main([f"file://{tmp_path}/job.json"]) == 6
    assert "there is no plan" in capsys.readouterr().err
    assert worker.read_result(f"file://{tmp_path}") == 6


def test_a_file_travels_there_and_its_folder_back(tmp_path: Path) -> None:
    there = f"file://{tmp_path}/bucket"
    (tmp_path / "x").write_bytes(b"1")
    upload(tmp_path / "x", f"{there}/in/x")
    write_remote(f"{there}/y", b"2")
    assert list_remote(there) == ["in/x", "y"]
    assert download(there, tmp_path / "b") == 2
    assert (tmp_path / "b" / "in" / "x").read_bytes() == b"1"
    assert read_remote(f"{there}/z") is None
    remove_remote(f"{there}/y")
    remove_remote(f"{there}/y")
    assert list_remote(there) == ["in/x"]
    remove_remote(there)
    assert list_remote(there) == []


def test_the_folder_of_outputs_is_copied_with_its_deletions_and_what_it_held_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    there = f"file://{tmp_path}/bucket/outputs"
    for name in ("run/events.jsonl", "run/checkpoints/step-1/MANIFEST.json", "run/checkpoints/step-2/MANIFEST.json"):
        write_remote(f"{there}/{name}", b"{}")
    download(there, Path("outputs"))
    with worker._publishing(there, root=f"file://{tmp_path}/bucket", asked=Event()):
        Path("outputs/run/checkpoints/step-1/MANIFEST.json").unlink()
        Path("outputs/run/.lock").touch()
        Path("outputs/answers.csv").write_text("1")
    assert list_remote(there) == ["answers.csv", "run/checkpoints/step-2/MANIFEST.json", "run/events.jsonl"]


def test_files_outside_of_this_folder_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "other").write_text("")
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(LaunchError, match="no place on the job's machine"):
        list(expand(["../other"]))
    with pytest.raises(LaunchError, match="there is no missing"):
        list(expand(["missing"]))


def test_the_wheel_runs(tmp_path: Path) -> None:
    name, content = burnish_wheel()
    with zipfile.ZipFile(BytesIO(content)) as archive:
        assert "burnish/launch/Dockerfile" in archive.namelist()
        archive.extractall(tmp_path)
    program = "import burnish.launch.worker as w; print(w.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)}
    )
    assert found.stdout.startswith(str(tmp_path)), found.stderr
    assert name.endswith("-py3-none-any.whl")


def test_a_packed_folder_holds_what_must_travel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text("x = 1\n")
    job = JobSpec("a", ("train", "experiment.yaml"), texts={"experiment.yaml": "a: 1\n"})
    written = pack(job, {"mine.py": Path("mine.py")}, Path("out"))
    assert written["files/mine.py"] == len("x = 1\n")
    wheel = next(name for name in written if name.endswith(".whl"))
    assert [*written] == sorted(
        [wheel, *("Dockerfile", "files/experiment.yaml", "files/mine.py", "job.json", "requirements.lock")]
    )
    assert "pyyaml==" in Path("out/requirements.lock").read_text()
    with pytest.raises(LaunchError, match="is there already"):
        pack(JobSpec("a", ()), {}, Path("out"))


def test_options_of_pip_are_refused_in_requirements(tmp_path: Path) -> None:
    file = tmp_path / "r.txt"
    file.write_text("numpy>=2 # yes\n\n-e .\n")
    with pytest.raises(LaunchError, match="option of pip"):
        read_requirements(file)


def test_a_tool_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(LaunchError, match="docker or podman or buildah"):
        find_tool()
    with pytest.raises(LaunchError, match="must be one of"):
        find_tool("kaniko")


def test_the_dockerfile_is_clean_and_the_root_has_it() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    root = Path(__file__).parents[3]
    assert (root / "Dockerfile").read_text() == (root / "src/burnish/launch/Dockerfile").read_text()
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    found = subprocess.run([str(hadolint), str(root / "Dockerfile")], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout
