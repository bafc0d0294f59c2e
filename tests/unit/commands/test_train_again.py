"""Training once more: into the next free directory, over an old run that is moved aside, or refused."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from burnish.commands import train as module
from burnish.commands.train import resume, train
from burnish.data.sources.address import find
from burnish.errors import CheckpointError, ConfigError, DataError
from burnish.run.record.directory import RunDirectory
from burnish.run.record.ending import refusal
from burnish.run.record.plan import read_plan
from burnish.run.record.result import RunResult
from burnish.spec.events import Event, Noted

CONFIG = """
task: {type: tabular, target: y}
data: rows.csv
model: linear
train:
  batch: 32
"""
FIRST = """
import sys
from burnish.commands import train as module

def work(run, **_options):
    print(run.path, flush=True)
    sys.stdin.readline()
    return module.read_result(run)

module.work = work
module.train("mine.yaml", overrides=sys.argv[1:], replace="--replace" in sys.orig_argv)
"""

Ending = Callable[[RunDirectory], None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "rows.csv").write_text("x,y\n1,2\n")
    return tmp_path


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a worker leave a checkpoint and end at once; give the directories that it was started on."""
    started: list[str] = []

    def work(run: RunDirectory, **_options: object) -> RunResult:
        started.append(str(run.path))
        (run.checkpoints / "step-00000003").mkdir(parents=True, exist_ok=True)
        run.report.touch()
        reason = "preempted" if read_plan(run).optimizer.learning_rate == 0.5 else "finished"
        run.exit.write_text(json.dumps({"reason": reason, "step": 3, "seconds": 1.0}))
        return module.read_result(run)

    monkeypatch.setattr(module, "work", work)
    return started


def notes_of(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Noted)]


def test_changed_options_go_to_the_next_free_directory_and_a_line_says_what_differs(works: list[str]) -> None:
    events: list[Event] = []
    train("mine.yaml")
    result = train("mine.yaml", overrides=["train.batch=16"], watch=events.append)
    assert result.directory == Path("runs/mine-2")
    assert notes_of(events) == ["runs/mine has other options (train.batch.examples 32 → 16); this run is runs/mine-2"]
    assert works == ["runs/mine", "runs/mine-2"]


def test_the_same_experiment_is_found_among_the_numbered_ones(works: list[str]) -> None:
    train("mine.yaml")
    train("mine.yaml", overrides=["optimizer.learning_rate=0.5"])
    train("mine.yaml", overrides=["train.batch=8"])
    assert train("mine.yaml").directory == Path("runs/mine")
    assert train("mine.yaml", overrides=["train.batch=8"]).directory == Path("runs/mine-3")
    assert works == ["runs/mine", "runs/mine-2", "runs/mine-3"]
    train("mine.yaml", overrides=["optimizer.learning_rate=0.5"])
    assert works[3:] == ["runs/mine-2"], "an unfinished run is resumed"


def test_folders_with_other_files_are_passed_over(works: list[str]) -> None:
    train("mine.yaml")
    Path("runs/mine-2").mkdir()
    Path("runs/mine-2/thesis.tex").touch()
    Path("runs/mine-02").mkdir()
    assert train("mine.yaml", overrides=["train.batch=8"]).directory == Path("runs/mine-3")


def test_only_the_first_differences_are_in_the_line(works: list[str]) -> None:
    events: list[Event] = []
    train("mine.yaml")
    others = [
        "train.batch=16",
        "train.length=1 step",
        "runtime.seed=3",
        "train.patience=2",
        "optimizer.betas=[0.8, 0.9]",
    ]
    train("mine.yaml", overrides=others, watch=events.append)
    assert notes_of(events)[0].count("→") == 3
    assert "and 2 more); this run is" in notes_of(events)[0]


def test_a_directory_that_was_named_is_refused_with_each_difference_its_origin_and_two_ways_on(
    works: list[str],
) -> None:
    train("mine.yaml", directory=Path("here"))
    Path("mine.yaml").write_text(CONFIG.replace("32", "64"))
    with pytest.raises(ConfigError) as refused:
        train("mine.yaml", overrides=["runtime.seed=4"], directory=Path("here"))
    assert str(refused.value).splitlines() == [
        "here holds a run with other options:",
        "  train.batch.examples 32 → 64 (set by mine.yaml:6)",
        "  runtime.seed 0 → 4 (set by runtime.seed=4 on the command line)",
        "add --replace to start over there (the old run is moved to here.old-1, not deleted), or",
        "train into another directory with --dir",
    ]
    assert refused.value.exit_code == 2


def test_replacing_moves_the_old_run_aside_and_deletes_nothing(works: list[str]) -> None:
    for batch in (32, 16, 8):
        events: list[Event] = []
        options = {"overrides": [f"train.batch={batch}"], "directory": Path("here"), "watch": events.append}
        train("mine.yaml", **options, replace=batch < 32)  # type: ignore[arg-type]  # all options are named
    assert notes_of(events) == ["the run that was in here is in here.old-2 now"]
    batches = [
        read_plan(RunDirectory(Path(name))).train.batch.examples for name in ("here.old-1", "here.old-2", "here")
    ]
    assert batches == [32, 16, 8]
    assert (Path("here.old-1") / "checkpoints" / "step-00000003").is_dir()


def test_replacing_the_same_experiment_starts_over_and_an_empty_place_needs_nothing(works: list[str]) -> None:
    train("mine.yaml", replace=True)
    assert not list(Path("runs").glob("*.old-*"))
    assert train("mine.yaml", replace=True).directory == Path("runs/mine")
    assert works == ["runs/mine", "runs/mine"]
    assert Path("runs/mine.old-1/checkpoints/step-00000003").is_dir()


def begin(*overrides: str) -> "subprocess.Popen[str]":
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-c", FIRST, *overrides], **pipes)  # type: ignore[call-overload, no-any-return]  # all options are named


def test_of_several_who_begin_at_once_each_trains_its_own_experiment() -> None:
    processes = [begin(f"train.batch={batch}") for batch in (4, 8, 16)]
    places = [process.stdout.readline().strip() for process in processes]  # type: ignore[union-attr]
    assert sorted(places) == ["runs/mine", "runs/mine-2", "runs/mine-3"]
    planned = [read_plan(RunDirectory(Path(place))).train.batch.examples for place in places]
    assert planned == [4, 8, 16]
    for process in processes:
        process.communicate("\n")


def test_a_plan_that_another_process_is_writing_is_no_other_file(works: list[str]) -> None:
    Path("runs/mine").mkdir(parents=True)
    Path("runs/mine/.plan.yaml.17-abc.tmp").touch()
    assert train("mine.yaml").directory == Path("runs/mine")


def test_the_same_experiment_that_is_being_trained_is_refused_and_not_trained_twice() -> None:
    with begin() as first:
        assert first.stdout.readline() == "runs/mine\n"  # type: ignore[union-attr]
        with pytest.raises(CheckpointError, match=f"runs/mine is being trained by process {first.pid}"):
            train("mine.yaml")
        first.communicate("\n")
    assert not Path("runs/mine-2").exists()


def test_a_run_that_is_being_trained_is_not_replaced() -> None:
    with begin() as first:
        first.stdout.readline()  # type: ignore[union-attr]
        with pytest.raises(CheckpointError, match=f"is being trained by process {first.pid}"):
            train("mine.yaml", overrides=["train.batch=8"], replace=True)
        first.communicate("\n")
    assert [path.name for path in Path("runs").iterdir()] == ["mine"]


def test_a_directory_that_cannot_be_moved_is_refused_with_a_sentence(works: list[str], folder: Path) -> None:
    here = folder / "inside"
    here.mkdir()
    train("mine.yaml", directory=here)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        with pytest.raises(CheckpointError, match="could not be moved to"):
            train(str(folder / "mine.yaml"), overrides=["train.batch=8"], directory=Path("."), replace=True)


def refuse(run: RunDirectory, **_options: object) -> RunResult:
    error = DataError("there is no column `z`")
    run.exit.write_text(json.dumps({"reason": "failed", **refusal(error)}))
    run.profile.touch()
    raise error


def test_a_run_that_was_refused_before_it_began_leaves_no_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "work", refuse)
    with pytest.raises(DataError):
        train("mine.yaml")
    assert not Path("runs/mine").exists()


@pytest.mark.parametrize("name", ["skipped_rows.jsonl", "notes.txt"])
def test_a_refused_run_stays_if_there_is_anything_to_read_in_it(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def set_aside(run: RunDirectory, **options: object) -> RunResult:
        (run.path / name).touch()
        return refuse(run, **options)

    monkeypatch.setattr(module, "work", set_aside)
    with pytest.raises(DataError):
        train("mine.yaml")
    assert RunDirectory(Path("runs/mine")).status() == "failed"
    assert Path("runs/mine", name).exists()


def digest_of(name: str) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


@pytest.fixture
def records(works: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let a worker record its data, as `prepare` does."""
    work = module.work

    def working(run: RunDirectory, **options: object) -> RunResult:
        run.data.write_text(json.dumps({"rows.csv": digest_of("rows.csv")}))
        return work(run, **options)  # type: ignore[arg-type]  # those of a worker

    monkeypatch.setattr(module, "work", working)
    return works


def edit(name: str = "rows.csv") -> None:
    Path(name).write_text("x,y\n1,2\n3,4\n")


def test_edited_data_is_trained_in_the_next_free_directory_and_a_line_says_what_changed(records: list[str]) -> None:
    train("mine.yaml")
    edit()
    events: list[Event] = []
    result = train("mine.yaml", watch=events.append)
    assert result.directory == Path("runs/mine-2")
    assert records == ["runs/mine", "runs/mine-2"]
    assert notes_of(events) == ["runs/mine was trained on other data (rows.csv was changed); this run is runs/mine-2"]
    events.clear()
    assert train("mine.yaml", watch=events.append).directory == Path("runs/mine-2")
    assert records == ["runs/mine", "runs/mine-2"]
    assert notes_of(events)[0] == "nothing was trained: the run in runs/mine-2 is finished; --replace trains it again"


def test_edited_data_is_refused_where_the_directory_was_named(records: list[str]) -> None:
    train("mine.yaml", directory=Path("here"))
    edit()
    with pytest.raises(CheckpointError) as refused:
        train("mine.yaml", directory=Path("here"))
    assert str(refused.value).splitlines() == [
        "here holds a finished run, whose data is not what it was trained on:",
        "  rows.csv was changed",
        "Nothing was trained, and its scores are of the data as it was. Put the files back, or",
        "add --replace to start over there (the old run is moved to here.old-1, not deleted), or",
        "train into another directory with --dir",
    ]
    assert refused.value.exit_code == 5
    assert records == ["here"]
    assert Path("here/plan.yaml").exists()
    train("mine.yaml", directory=Path("here"), replace=True)
    assert records == ["here", "here"]
    assert Path("here.old-1/plan.yaml").exists()


def test_files_that_come_and_go_are_other_data_too(records: list[str]) -> None:
    Path("mine.yaml").write_text(CONFIG.replace("rows.csv", "'*.csv'"))
    train("mine.yaml", directory=Path("here"))
    Path("more.csv").write_text("x,y\n1,2\n")
    with pytest.raises(CheckpointError, match=r"more\.csv is read now and was not"):
        train("mine.yaml", directory=Path("here"))
    Path("rows.csv").unlink()
    with pytest.raises(CheckpointError, match=r"rows\.csv is no longer read"):
        train("mine.yaml", directory=Path("here"))


def test_a_finished_run_says_that_nothing_was_trained(records: list[str]) -> None:
    train("mine.yaml")
    for again in (partial(train, "mine.yaml"), partial(resume, "runs/mine")):
        events: list[Event] = []
        assert again(watch=events.append).reason == "finished"
        assert notes_of(events)[0].startswith("nothing was trained: the run in runs/mine is finished")
    assert records == ["runs/mine"]


def test_resuming_a_finished_run_tells_what_changed(records: list[str]) -> None:
    train("mine.yaml")
    edit()
    events: list[Event] = []
    assert resume("runs/mine", watch=events.append).step == 3
    assert notes_of(events) == [
        "nothing was trained: the run in runs/mine is finished; its scores are of the data as it was, since rows.csv "
        "was changed"
    ]
    assert records == ["runs/mine"]


def test_a_finished_run_is_read_without_its_data_and_says_so(records: list[str]) -> None:
    train("mine.yaml")
    Path("rows.csv").unlink()
    events: list[Event] = []
    assert train("mine.yaml", watch=events.append).directory == Path("runs/mine")
    assert "and its data cannot be looked at (data.train: there is no file rows.csv" in notes_of(events)[0]


def test_a_run_that_did_not_record_its_data_is_read_as_before(works: list[str]) -> None:
    train("mine.yaml", directory=Path("here"))
    edit()
    events: list[Event] = []
    assert train("mine.yaml", directory=Path("here"), watch=events.append).reason == "finished"
    assert "it did not record its data, which may have changed" in notes_of(events)[0]


def test_data_elsewhere_is_not_fetched_to_be_compared(records: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.yaml").write_text(CONFIG.replace("rows.csv", "{train: [rows.csv, 'https://127.0.0.1:9/more.csv']}"))
    train("mine.yaml", directory=Path("here"))
    digests = {"rows.csv": digest_of("rows.csv"), "https://127.0.0.1:9/more.csv": "1"}
    Path("here/data.json").write_text(json.dumps(digests))
    monkeypatch.setattr("burnish.data.sources.load_files.find", partial(refuse_urls, find))
    assert train("mine.yaml", directory=Path("here")).reason == "finished"
    edit()
    with pytest.raises(CheckpointError, match=r"rows\.csv was changed\nNothing"):
        train("mine.yaml", directory=Path("here"))


def refuse_urls(find: Callable[..., object], written: str, **options: object) -> object:
    assert "://" not in written
    return find(written, **options)
