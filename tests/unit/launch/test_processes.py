"""How many processes train on a machine: one for each GPU, counted without torch, and said before anything starts."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from burnish.cli.main import run
from burnish.commands import train as training
from burnish.commands.elsewhere import jobs
from burnish.commands.elsewhere.launching import Order, make_job, read_order, submit
from burnish.engine import device
from burnish.engine.device import has_cuda, list_gpus
from burnish.errors import ConfigError
from burnish.launch.group import Group, read_group
from burnish.launch.options import read_launcher
from burnish.launch.records import find_record
from burnish.launch.transfer import read_remote
from burnish.launch.vertex.machines import OLDER
from burnish.run.record.directory import RunDirectory
from burnish.spec.events import Event, Noted
from burnish.spec.launcher import JobStatus, Submitted
from burnish.tuning.forks import TrialStarter

TRANSFORMER = "task: {type: classification, text: t, labels: y}\ndata: {train: rows.csv}\n"
TABLE = "task: {type: tabular, target: y}\ndata: {train: rows.csv}\n"


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_STATE", str(tmp_path / "state"))
    Path("rows.csv").write_text("t,x,y\na,1,yes\nb,2,no\n")
    Path("network.yaml").write_text(f"{TABLE}model: linear\n")
    Path("trees.yaml").write_text(f"{TABLE}model: gbdt\n")


@pytest.mark.parametrize(
    ("visible", "installed", "found"),
    [
        (None, 0, []),
        (None, 4, ["0", "1", "2", "3"]),
        ("2,3", 4, ["2", "3"]),
        (" 1 , 0 ", 4, ["1", "0"]),
        ("", 4, []),
        ("-1", 4, []),
        ("NoDevFiles", 4, []),
        ("0,1,-1,2", 4, ["0", "1"]),
        ("0,7,1", 4, ["0"]),
        ("0,1", 0, []),
        ("GPU-1a2b,GPU-3c4d", 4, ["GPU-1a2b", "GPU-3c4d"]),
        ("MIG-1a2b,MIG-3c4d", 1, ["MIG-1a2b"]),
    ],
)
def test_gpus_are_those_of_the_driver_that_cuda_may_see(visible: str | None, installed: int, found: list[str]) -> None:
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert list_gpus(environ, count=lambda: installed) == found


@pytest.mark.parametrize(
    ("line", "is_built"),
    [
        ("cuda: Optional[str] = '12.8'", True),
        ("cuda = '11.8'", True),
        ("cuda: Optional[str] = None", False),
        ("hip: Optional[str] = '6.4'", False),
    ],
)
def test_a_torch_without_cuda_is_known_without_its_import(line: str, is_built: bool, tmp_path: Path) -> None:
    (tmp_path / "version.py").write_text(f"__version__ = '2.13.0'\n{line}\ngit_version = 'x'\n")
    assert has_cuda(tmp_path / "__init__.py") is is_built
    assert has_cuda(tmp_path / "none" / "__init__.py") is False


def four_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_count_installed", lambda: 4)
    monkeypatch.setattr(device, "has_cuda", lambda *_: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def started(
    monkeypatch: pytest.MonkeyPatch,
    processes: Any,
    *,
    experiment: str = "network.yaml",
    overrides: tuple[str, ...] = (),
) -> tuple[int, list[str]]:
    """Train with a worker that does nothing; give how many processes were started and what was said."""
    sizes, said = [], list[str]()

    def start(argv: list[str], *, watch: object, launch: Any) -> tuple[int, list[object]]:
        group = getattr(launch, "keywords", {}).get("group", Group(1))
        sizes.append(group.processes)
        return 75, []

    def hear(event: Event) -> None:
        if isinstance(event, Noted):
            said.append(event.message)

    monkeypatch.setattr(training, "ask", start)
    training.train(experiment, overrides=overrides, directory="run", processes=processes, watch=hear)
    assert RunDirectory(Path("run")).exists()
    return sizes[0], said


def test_training_starts_a_process_for_each_gpu_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    four_gpus(monkeypatch)
    assert started(monkeypatch, None) == (4, ["4 processes share each batch, one for each GPU; --processes 1 uses one"])


@pytest.mark.parametrize(
    ("processes", "experiment", "overrides", "number"),
    [
        (2, "network.yaml", (), 2),
        (1, "network.yaml", (), 1),
        (None, "trees.yaml", (), 1),
        (None, "network.yaml", ("runtime.device=cpu",), 1),
        (8, "network.yaml", ("runtime.device=cpu",), 8),
    ],
)
def test_a_stated_number_and_what_one_process_trains_stay(
    processes: int | None,
    experiment: str,
    overrides: tuple[str, ...],
    number: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    four_gpus(monkeypatch)
    assert started(monkeypatch, processes, experiment=experiment, overrides=overrides) == (number, [])


def test_the_plan_of_a_run_says_how_many_processes_would_train(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{'ab'[n % 2]} word {n},{n},{'yes' if n % 2 else 'no'}" for n in range(40)]
    Path("rows.csv").write_text("\n".join(["t,x,y", *rows]) + "\n")
    assert run(["plan", "network.yaml"]) == 0
    assert "processes" not in capsys.readouterr().out
    four_gpus(monkeypatch)
    assert run(["plan", "network.yaml"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("processes"))
    assert line.split(maxsplit=1)[1] == "4, one for each GPU; timed on one"


def test_trials_that_train_side_by_side_are_spread_over_the_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    four_gpus(monkeypatch)
    starter = TrialStarter()
    with ExitStack() as trials:
        taken = [trials.enter_context(starter._reserve_gpu()) for _ in range(6)]
        assert sorted(taken) == ["0", "0", "1", "1", "2", "3"]
    with starter._reserve_gpu() as first:
        assert first == "0", "all were given back"
    monkeypatch.setattr(device, "_count_installed", lambda: 1)
    with TrialStarter()._reserve_gpu() as only:
        assert only is None


def test_without_gpus_one_process_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_count_installed", lambda: 0)
    assert started(monkeypatch, None) == (1, [])


def test_more_processes_than_gpus_are_refused_before_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    four_gpus(monkeypatch)
    with pytest.raises(ConfigError, match="--processes 8: this machine has 4 GPUs, and each process needs its own"):
        started(monkeypatch, 8)


def test_nodes_that_meet_count_their_gpus_each_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    four_gpus(monkeypatch)
    group = read_group(None, nodes="2", rendezvous="n1:29400")
    assert started(monkeypatch, group)[0] == 4


@pytest.mark.parametrize(
    ("where", "options", "number"),
    [
        ("slurm", (), 0),
        ("slurm", ("gpus=4",), 4),
        ("slurm", ("gres=gpu:a100:2",), 2),
        ("slurm", ("gres=gpu:8",), 8),
        ("slurm", ("gres=gpu",), 1),
        ("slurm", ("gres=gpu:a100",), 1),
        ("slurm", ("gres=lustre:1,gpu:a100:2,gpu:v100:1",), 3),
        ("slurm", ("gres=lustre:1",), 0),
        ("kubernetes", ("gpus=4",), 4),
        ("kubernetes", (), 0),
        ("ray", ("gpus=4",), 4),
        ("ray", ("gpus=0.5",), 1),
        ("ray", (), 0),
        ("torchrun", (), 0),
        ("vertex", (), 0),
        ("vertex", ("accelerator=t4", "accelerators=4"), 4),
        ("vertex", ("accelerator=l4",), 1),
        ("vertex", ("machine=a2-highgpu-4g",), 4),
        ("vertex", ("machine=a2-highgpu-4g", "accelerator=a100"), 4),
        ("vertex", ("machine=a2-megagpu-16g",), 16),
        ("vertex", ("machine=a3-highgpu-8g",), 8),
        ("vertex", ("machine=g2-standard-12",), 1),
        ("vertex", ("machine=g2-standard-24",), 2),
        ("vertex", ("machine=g2-standard-48",), 4),
        ("vertex", ("machine=g2-standard-96",), 8),
        ("vertex", ("machine=g4-standard-96",), 2),
        ("vertex", ("machine=n1-standard-8",), 0),
        *(("vertex", (f"machine={name}",), machine.accelerators) for name, machine in OLDER.items()),
    ],
)
def test_a_launcher_knows_the_gpus_of_each_machine(where: str, options: tuple[str, ...], number: int) -> None:
    assert read_launcher(where, options).num_gpus == number


def order(*words: str, experiment: str = "network.yaml", verb: str = "train", overrides: tuple[str, ...] = ()) -> Order:
    asked = {"experiment": experiment, "configs": (), "overrides": overrides}
    return read_order(verb, words, asked=asked)


WHOLE = {
    "slurm": ("gpus=4",),
    "kubernetes": ("gpus=4", "folder=/jobs"),
    "ray": ("gpus=4", "folder=/jobs"),
    "vertex": ("machine=complex_model_m_gpu", "bucket=b"),
}


@pytest.mark.parametrize("where", WHOLE)
def test_a_job_starts_a_process_for_each_gpu(where: str, capsys: pytest.CaptureFixture[str]) -> None:
    launcher = read_launcher(where, WHOLE[where])
    assert make_job(order("--dir", "outputs/run"), launcher).words[-2:] == ("--processes", "4")
    options = [word for each in WHOLE[where] for word in ("-l", each)]
    assert run(["train", "network.yaml", "--on", where, *options, "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["plan"]["words"][-2:] == ["--processes", "4"]
    assert "note: 4 processes train on each machine, one for each GPU" in printed.err


@pytest.mark.parametrize("where", [*WHOLE, "torchrun"])
def test_without_gpus_the_machine_decides(where: str) -> None:
    assert "--processes" not in make_job(order(), read_launcher(where, ())).words


@pytest.mark.parametrize("given", [("--processes", "2"), ("launch.processes=2",), ("-l", "processes=2")])
def test_a_number_is_an_option_of_the_command_or_of_the_launcher(
    given: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "network.yaml", *given, "--on", "torchrun", "--dry-run"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["plan"]["words"][-2:] == ["--processes", "2"]
    assert "note" not in printed.err


@pytest.mark.parametrize(
    ("where", "options", "asked", "said"),
    [
        (
            "slurm",
            ("gpus=4", "processes=1"),
            {},
            "each machine has 4 GPUs and 1 of them would be used: launch.processes",
        ),
        ("slurm", ("gpus=4", "processes=3"), {}, "ask for 3 or leave launch.processes at auto"),
        ("slurm", ("gpus=4", "processes=8"), {}, "launch.processes is 8, but each machine has 4 GPUs"),
        (
            "vertex",
            ("machine=complex_model_m_gpu",),
            {"experiment": "trees.yaml"},
            "this model is trained by one process",
        ),
        (
            "kubernetes",
            ("gpus=1",),
            {"overrides": ("runtime.device=cpu",)},
            "none of them would be used: runtime.device",
        ),
        (
            "ray",
            ("processes=2",),
            {"experiment": "trees.yaml"},
            "launch.processes is 2, and this model is trained by one",
        ),
    ],
)
def test_gpus_that_no_process_would_use_are_refused(
    where: str, options: tuple[str, ...], asked: Any, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        make_job(order(**asked), read_launcher(where, options))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("where", "options", "parallel", "said"),
    [
        ("slurm", ("gpus=1",), 4, ""),
        (
            "slurm",
            ("gpus=4",),
            4,
            "1 of them would be used: each trial is trained by one process, on its own machine",
        ),
        ("slurm", ("gpus=4", "array=false"), 4, ""),
        ("slurm", ("gpus=4", "array=false"), 2, "2 of them would be used: 2 trials are trained at once"),
        ("ray", ("gpus=1",), 4, ""),
        ("ray", ("gpus=2",), 4, "1 of them would be used"),
        ("kubernetes", ("gpus=4",), 4, ""),
        ("vertex", ("machine=complex_model_m_gpu",), 1, "1 of them would be used"),
    ],
)
def test_trials_of_a_study_use_one_gpu_each(where: str, options: tuple[str, ...], parallel: int, said: str) -> None:
    study = Order("tune", ("--parallel", str(parallel)), order().experiment, search={"space": {}})
    if not said:
        assert "--processes" not in make_job(study, read_launcher(where, options)).words
        return
    with pytest.raises(ConfigError) as refused:
        make_job(study, read_launcher(where, options))
    assert said in str(refused.value)


@pytest.mark.parametrize(("verb", "number"), [("predict", "1"), ("evaluate", "1"), ("prepare features", "none")])
def test_other_commands_run_in_one_process(verb: str, number: str) -> None:
    with pytest.raises(ConfigError, match=f"each machine has 4 GPUs and {number} of them would be used: `{verb}`"):
        make_job(Order(verb, ("rows.csv",)), read_launcher("slurm", ("gpus=4",)))


def test_a_job_that_is_resumed_with_fewer_gpus_has_as_many_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = read_launcher("slurm", ("gpus=4",))
    monkeypatch.setattr(type(launcher), "submit", lambda self, job: Submitted("7", "link"))
    monkeypatch.setattr(type(launcher), "status", lambda self, id: JobStatus("stopped"))
    record = submit(launcher, make_job(order(), launcher), where="slurm")
    assert record.words[-2:] == ("--processes", "4")
    for option, words in (("gpus=2", ["--processes", "2"]), ("gpus=1", []), ("processes=3", ["--processes", "3"])):
        jobs.resume(record.name, options=[option, *(["gpus=0"] if "processes" in option else [])])
        plan = json.loads(read_remote(f"{record.root}/job.json") or b"")
        assert plan["words"] == ["train", "experiment.yaml", *words]
        assert find_record(record.name).words == tuple(plan["words"])
