"""The files of a trial travel there and back: what is new, in an order that a reader may trust, and nothing twice."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from burnish.run.record.directory import RunDirectory
from burnish.tuning import ray_trials
from burnish.tuning.ray_trials import Change, RayTrialStarter, TrialWorker, _read_changes, write_files


def test_only_what_changed_is_read_and_what_vouches_for_others_comes_last(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoints" / "step-1"
    checkpoint.mkdir(parents=True)
    for name in ("MANIFEST.json", "weights", ".torn.tmp"):
        (checkpoint / name).write_text(name)
    for name in ("exit.json", "lock.json", "STOP", "plan.yaml"):
        (tmp_path / name).write_text(name)
    sent: dict[str, tuple[int, int]] = {}
    written, lost = _read_changes(tmp_path, sent)
    place = "checkpoints/step-1/"
    assert [*written] == [f"{place}weights", "plan.yaml", f"{place}MANIFEST.json", "exit.json"]
    assert _read_changes(tmp_path, sent) == ({}, ())
    (tmp_path / "plan.yaml").write_text("longer than before")
    (checkpoint / "weights").unlink()
    written, lost = _read_changes(tmp_path, sent)
    assert (written, lost) == ({"plan.yaml": b"longer than before"}, (f"{place}weights",))


def test_files_arrive_whole(tmp_path: Path) -> None:
    write_files(tmp_path, {"a/b/c": b"1", "d": b"2"})
    write_files(tmp_path, {"d": b"3"})
    assert {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == {"c": b"1", "d": b"3"}


def test_a_trial_that_waits_for_a_node_is_over_when_the_study_is_stopped(tmp_path: Path) -> None:
    starter, run = object.__new__(RayTrialStarter), RunDirectory(tmp_path)
    starter._ray = SimpleNamespace(wait=lambda awaited, timeout: ([], awaited))
    run.stop_file.touch()
    assert [*starter._follow(SimpleNamespace(), [], run, tmp_path / "log")] == []


def test_a_trial_tells_its_evaluations_after_the_files_that_hold_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, files = tmp_path / "worker.py", tmp_path / "files"
    files.mkdir()
    (files / "data.csv").write_text("a")
    worker.write_text(
        "import pathlib, sys, time\n"
        "run = pathlib.Path(sys.argv[1])\n"
        "print(run.joinpath('plan.yaml').read_text() + pathlib.Path('data.csv').read_text(), flush=True)\n"
        "run.joinpath('events.jsonl').write_text('1')\n"
        """print('{"event": "evaluated"}', flush=True)\n"""
        f"while not pathlib.Path({str(tmp_path / 'told')!r}).exists(): time.sleep(0.01)\n"
        "run.joinpath('exit.json').write_text('2')\n"
        "run.joinpath('plan.yaml').unlink()\n"
        "sys.exit(75)\n"
    )
    before = {"plan.yaml": b"planned "}
    monkeypatch.setattr(ray_trials, "_WORKER", "worker")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = []
    for change in TrialWorker().train("outputs/trial-0001", [], files=str(files), before=before, cores=1):
        said.append(change)
        if "evaluated" in change.line:
            (tmp_path / "told").touch()
    assert said == [
        Change("planned a\n"),
        Change('{"event": "evaluated"}\n', {"events.jsonl": b"1"}),
        Change("", {"exit.json": b"2"}, ("plan.yaml",), code=75),
    ]
