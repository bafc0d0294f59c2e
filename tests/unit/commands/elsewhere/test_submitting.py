"""A job is submitted once: its name and its folder are its own."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from burnish.cli.launch import outcome_lines
from burnish.commands.elsewhere import jobs
from burnish.commands.elsewhere.launching import Order, make_job, read_outcome, submit
from burnish.errors import LaunchError
from burnish.launch.records import JobRecord, find_record
from burnish.launch.transfer import read_remote, try_folder, write_remote
from burnish.spec.launcher import JobSpec, JobStatus, Launcher, LogLine, Submitted


class Shelf(Launcher):
    """Accepts every job and runs none."""

    folder: str
    state: Any = "queued"

    def root(self, job: JobSpec) -> str:
        return f"{self.folder}/{job.name}"

    def render(self, job: JobSpec) -> dict[str, Any]:
        return {}

    def submit(self, job: JobSpec) -> Submitted:
        return Submitted(job.name, "link")

    def status(self, id: str) -> JobStatus:
        return JobStatus(self.state)

    def logs(self, id: str, *, after: str = "") -> "Any":
        return iter([LogLine("1", "line")])

    def cancel(self, id: str) -> None:
        raise AssertionError(id)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BURNISH_STATE", str(tmp_path / "state"))
    (tmp_path / "rides.csv").write_text("")
    return Shelf(folder=f"file://{tmp_path}/jobs")


def test_two_jobs_of_one_second_have_a_name_and_a_folder_each(shelf: Shelf) -> None:
    order = Order("predict", ["rides.csv"])
    first, second = (make_job(order, shelf, now=lambda: 0.0) for _ in range(2))
    assert first.name != second.name
    assert first.name.startswith("predict-rides-19700101-000000-")
    records = [submit(shelf, job, where="shelf") for job in (first, second)]
    assert len({record.root for record in records}) == 2


@pytest.mark.parametrize(
    ("words", "section", "parallel"),
    [
        ([], {}, 1),
        ([], {"parallel": "2"}, 2),
        (["--parallel", "3"], {"parallel": "2"}, 3),
        (["--parallel=4"], {}, 4),
    ],
)
def test_a_job_knows_how_many_trials_train_at_once(
    words: list[str], section: dict[str, str], parallel: int, shelf: Shelf
) -> None:
    job = make_job(Order("tune", ["rides.csv", *words], search=section), shelf)
    assert job.parallel == parallel
    submit(shelf, job, where="shelf")
    assert find_record(job.name).job.parallel == parallel


@pytest.mark.parametrize(
    ("recorded", "state", "said", "code"),
    [
        (0, "failed", "finished", 0),
        (4, "failed", "failed", 4),
        (None, "failed", "failed", 6),
        (75, "failed", "stopped", 75),
        (75, "queued", "queued", None),
        (None, "running", "running", None),
    ],
)
def test_what_a_job_has_recorded_decides_how_it_ended(
    shelf: Shelf,
    recorded: int | None,
    state: Any,
    said: str,
    code: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    record = submit(shelf, make_job(Order("predict", ["rides.csv"]), shelf), where="shelf")
    if recorded is not None:
        write_remote(f"{record.root}/result.json", f'{{"exit_code": {recorded}}}'.encode())
    outcome = read_outcome(record, JobStatus(state))
    assert (outcome.status.state, outcome.exit_code) == (said, code)
    assert ("exit code" in next(iter(outcome_lines(outcome)))) is (code is not None)
    monkeypatch.setattr(JobRecord, "launcher", lambda self: shelf.model_copy(update={"state": state}))
    assert [row.state for row in jobs.ls()] == [said]


class Queue(Shelf):
    """Keeps a job until it is taken out of the queue."""

    def cancel(self, id: str) -> None:
        Path("cancelled").write_text(id)

    def status(self, id: str) -> JobStatus:
        return JobStatus("stopped" if Path("cancelled").exists() else self.state)


@pytest.mark.parametrize(
    ("words", "state", "is_at_once", "is_cancelled"),
    [
        (("train", "x"), "queued", False, True),
        (("tune", "x"), "queued", False, True),
        (("train", "x"), "running", False, False),
        (("train", "x"), "running", True, True),
        (("predict", "x"), "running", False, True),
    ],
)
def test_a_job_that_waits_is_taken_out_of_the_queue_and_one_that_trains_saves(
    shelf: Shelf,
    words: tuple[str, ...],
    state: Any,
    is_at_once: bool,
    is_cancelled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    queue = Queue(folder=shelf.folder, state=state)
    record = submit(queue, replace(make_job(Order("predict", ["rides.csv"]), queue), words=words), where="shelf")
    monkeypatch.setattr(JobRecord, "launcher", lambda self: queue)
    _, status = jobs.stop(record.name, is_at_once=is_at_once)
    assert Path("cancelled").exists() is is_cancelled
    assert status.state == ("stopped" if is_cancelled else state)
    assert read_remote(f"{record.root}/STOP") == b""


@pytest.mark.parametrize("scheme", ["file://", ""])
def test_a_folder_that_another_job_has_is_refused_and_left_alone(shelf: Shelf, scheme: str, tmp_path: Path) -> None:
    own = Shelf(folder=f"{scheme}{tmp_path}/jobs")
    job = make_job(Order("predict", ["rides.csv"]), own)
    write_remote(f"{own.root(job)}/job.json", b"another's")
    with pytest.raises(LaunchError, match="is there already; submit it again"):
        submit(own, job, where="shelf")
    assert read_remote(f"{own.root(job)}/job.json") == b"another's"
    assert read_remote(f"{own.root(job)}/files/rides.csv") is None


def test_a_job_whose_files_are_refused_sends_nothing(shelf: Shelf, tmp_path: Path) -> None:
    job = replace(make_job(Order("predict", ["rides.csv"]), shelf), files=("rides.csv", "missing"))
    with pytest.raises(LaunchError, match="there is no missing"):
        submit(shelf, job, where="shelf")
    assert not (tmp_path / "jobs").exists()


class Refusing(Shelf):
    """Refuses every job, or loses the answer."""

    is_refusal: bool = True

    def submit(self, job: JobSpec) -> Submitted:
        assert (Path(self.root(job).removeprefix("file://")) / "job.json").is_file()
        raise LaunchError("no such partition", is_refusal=self.is_refusal)


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_job_that_was_refused_leaves_no_folder(shelf: Shelf, tmp_path: Path, scheme: str) -> None:
    launcher = Refusing(folder=f"{scheme}{tmp_path}/jobs")
    with pytest.raises(LaunchError, match=r"^no such partition$"):
        submit(launcher, make_job(Order("predict", ["rides.csv"]), launcher), where="shelf")
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_job_whose_answer_was_lost_keeps_its_folder(shelf: Shelf, tmp_path: Path) -> None:
    launcher = Refusing(folder=f"{tmp_path}/jobs", is_refusal=False)
    with pytest.raises(LaunchError, match="is kept, in case the job was started"):
        submit(launcher, make_job(Order("predict", ["rides.csv"]), launcher), where="shelf")
    (folder,) = (tmp_path / "jobs").iterdir()
    assert (folder / "files" / "rides.csv").is_file()


def test_a_look_at_a_folder_leaves_no_folder(tmp_path: Path) -> None:
    assert "can be written" in try_folder(f"{tmp_path}/deep/jobs")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "jobs").mkdir()
    try_folder(f"{tmp_path}/jobs")
    assert list((tmp_path / "jobs").iterdir()) == []


def test_a_stop_that_came_before_the_run_began_does_not_end_the_resumed_one(
    shelf: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = f"file://{tmp_path}/mine"
    job = replace(make_job(Order("predict", ["rides.csv"]), shelf), words=("train", "x", "--dir", there))
    record = submit(shelf, job, where="shelf")
    monkeypatch.setattr(jobs, "find_record", lambda name: record)
    running = shelf.model_copy(update={"state": "running"})
    monkeypatch.setattr(JobRecord, "launcher", lambda self: running)
    jobs.stop(job.name)
    assert read_remote(f"{there}/STOP") == read_remote(f"{record.root}/STOP") == b""
    monkeypatch.setattr(JobRecord, "launcher", lambda self: shelf.model_copy(update={"state": "stopped"}))
    write_remote(f"{record.root}/PAUSE", b"")
    jobs.resume(job.name)
    left = [f"{place}/{name}" for place in (there, record.root) for name in ("STOP", "PAUSE")]
    assert [read_remote(each) for each in left] == [None] * 4
