import socket
import time
from pathlib import Path

import pytest

from burnish.commands.runs import highlights, ls, show, tail
from burnish.errors import CheckpointError
from burnish.run.record.directory import write_json
from burnish.run.record.events_file import EventsFile
from burnish.spec.events import Ended, Evaluated, Noted, Stepped
from burnish.spec.values import Score
from tests.unit.commands.run_maker import STORY, finish, make_run, stepped


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    make_run(tmp_path / "old", started=1_000.0)
    make_run(tmp_path / "group" / "new", started=2_000.0)
    assert [row.name for row in ls(tmp_path)] == ["group/new", "old"]


def test_a_row_tells_how_far_and_how_well(tmp_path: Path) -> None:
    finish(make_run(tmp_path / "a", started=1_000.0))
    [row] = ls(tmp_path)
    assert (row.status, row.started, row.seconds) == ("finished", 1_000.0, 90.0)
    assert (row.step, row.total_steps, row.best) == (4, 4, 0.75)
    assert (row.headline, row.test) == ("accuracy", Score(0.8, 0.8 - 0.1, 0.8 + 0.1))


def test_a_run_that_only_began_has_its_last_step_and_best_so_far(tmp_path: Path) -> None:
    make_run(tmp_path / "a", story=STORY[:6])
    [row] = ls(tmp_path)
    assert (row.status, row.step, row.best, row.test) == ("interrupted", 3, 0.75, None)


def test_time_between_attempts_is_not_counted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", story=STORY[:4], started=0.0)
    file = EventsFile(run.events)
    file.append(stepped(3), time=10_000.0, attempt=2)
    file.append(Ended(3, "finished"), time=10_007.0, attempt=2)
    file.close()
    assert ls(tmp_path)[0].seconds == 37.0


def test_one_spoilt_run_does_not_hide_the_others(tmp_path: Path) -> None:
    make_run(tmp_path / "good")
    make_run(tmp_path / "spoilt").events.write_text("nonsense\n")
    faults = {row.name: row.fault for row in ls(tmp_path)}
    assert faults["good"] is None
    assert "events.jsonl:1" in (faults["spoilt"] or "")


def test_no_folder_means_no_runs(tmp_path: Path) -> None:
    assert ls(tmp_path / "absent") == []


def test_showing_a_run_gathers_its_files(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a")
    finish(run, baselines={"majority": 0.5})
    detail = show(run.path)
    assert detail.plan["optimizer.learning_rate"] == "2e-05"
    assert detail.plan["data.train"] == "train.csv"
    assert detail.sheet is not None
    assert detail.sheet.baselines == {"majority": {"accuracy": Score(0.5)}}
    assert detail.artifact == run.artifact
    assert detail.report is None
    assert [event.step for event in detail.history.evaluations] == [2, 4]
    assert detail.ending is None


def test_showing_a_failed_run_says_why(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", story=STORY[:3])
    write_json(run.exit, {"reason": "failed", "error": "DataError", "message": "train.csv:3 has no label"})
    detail = show(run.path)
    assert (detail.row.status, detail.ending) == ("failed", "train.csv:3 has no label")


def test_showing_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="is not a run"):
        show(tmp_path)


def test_highlights_come_in_a_fixed_order(tmp_path: Path) -> None:
    assert list(highlights(make_run(tmp_path / "a")))[:2] == ["name", "task.type"]


def test_the_tail_gives_every_event_once(tmp_path: Path) -> None:
    assert list(tail(make_run(tmp_path / "a").path)) == list(STORY)


def test_following_goes_on_until_the_run_ends_even_over_a_resume(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", story=STORY[:6], started=1_000.0)
    lock = {"pid": 1, "host": f"not-{socket.gethostname()}", "heartbeat": time.time()}
    write_json(run.lock, lock)
    file = EventsFile(run.events)
    rounds = iter(["resume", "end"])

    def work(_seconds: float) -> None:
        if next(rounds) == "resume":
            file.rewind(2)
            file.append(stepped(3), time=2_000.0, attempt=2)
        else:
            file.append(Ended(3, "finished"), time=2_001.0, attempt=2)
            file.close()
            run.lock.unlink()

    given = list(tail(run.path, follow=True, sleep=work))
    assert given == [*STORY[:6], stepped(3), Ended(3, "finished")]


def test_without_following_a_running_run_is_read_once(tmp_path: Path) -> None:
    run = make_run(tmp_path / "a", story=STORY[:3])
    run.write_lock(now=time.time())
    assert len(list(tail(run.path))) == 3


def test_the_history_of_the_best_score_follows_the_newest_attempt(tmp_path: Path) -> None:
    story = (
        *STORY[:5],
        Ended(2, "preempted", 2, 0.75),
        Evaluated(4, "validation", {"accuracy": 0.9}, is_best=True),
        Noted(4, "n"),
    )
    run = make_run(tmp_path / "a", story=story)
    detail = show(run.path)
    assert (detail.history.best_step, detail.history.best_score) == (4, 0.9)
    assert detail.history.notes == ("n",)
    assert isinstance(story[1], Stepped)


def test_one_odd_event_hides_no_other_run(tmp_path: Path) -> None:
    make_run(tmp_path / "good", started=1_000.0)
    odd = make_run(tmp_path / "odd", started=2_000.0)
    with odd.events.open("a") as file:
        file.write('{"event": "evaluated", "step": "x", "scores": [1], "time": 1, "attempt": 1}\n')
    rows = {row.name: row for row in ls(tmp_path)}
    assert rows["good"].fault is None
    assert "is not an event of a run" in str(rows["odd"].fault)
