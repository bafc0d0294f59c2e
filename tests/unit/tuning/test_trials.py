"""How a leg ended, told from the files of its run: scores that are no finite numbers, errors and silent deaths."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from burnish.run.record.directory import RunDirectory, write_json
from burnish.run.record.events_file import EventsFile, to_dict
from burnish.run.record.result import ScoreSheet, write_sheet
from burnish.spec.events import Evaluated, Started
from burnish.spec.search import Leg
from burnish.spec.values import Score
from burnish.tuning.goal import Goal
from burnish.tuning.record import EndedLeg, StudyRecord, Trial, read_record
from burnish.tuning.trials import LegRunner

GOAL = Goal("validation", "perplexity", frozenset({"perplexity"}))


class Worker:
    """Stands for the workers: each start writes what its run comes to."""

    def __init__(self, work: Callable[[RunDirectory], None]) -> None:
        self.work = work
        self.num_started = 0

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        self.num_started += 1
        RunDirectory(run).exit.unlink(missing_ok=True)
        self.work(RunDirectory(run))
        yield from ()


def finish(run: RunDirectory, value: float, *, on_the_way: float = 1.0) -> None:
    file = EventsFile(run.events)
    file.append(Started(0, 1, 2, {"select": "perplexity"}), time=1.0, attempt=1)
    file.append(Evaluated(1, "validation", {"perplexity": on_the_way}, is_best=True), time=1.0, attempt=1)
    sheet = {"validation": {"perplexity": Score(value)}, "test": {"perplexity": Score(value)}}
    write_sheet(run, ScoreSheet("perplexity", sheet, {}, is_lower_better=True))
    write_json(run.exit, {"reason": "finished"})


def train(tmp_path: Path, work: Callable[[RunDirectory], None], until: int | None = None) -> EndedLeg:
    ended = LegRunner(Worker(work), GOAL, lambda number, curve: False).train(
        Leg(0, until), RunDirectory(tmp_path / "study" / "trial-0000"), cores=[]
    )
    assert ended is not None
    return ended


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("until", [None, 1])
def test_a_score_that_is_no_finite_number_is_a_failure_and_is_recorded(
    tmp_path: Path, value: float, until: int | None
) -> None:
    ended = train(tmp_path, lambda run: finish(run, value, on_the_way=value), until)
    assert (ended.state, ended.score, ended.curve) == ("failed", None, ())
    assert "no finite number" in ended.why
    record = StudyRecord(tmp_path / "study")
    record.begin({"seed": 0})
    record.add_trial(Trial(0, {}, {}, "trial-0000"))
    record.add_end(ended)
    record.write_table()
    assert read_record(tmp_path / "study").ends == [ended]


def test_a_score_of_the_test_rows_that_is_no_finite_number_is_left_out(tmp_path: Path) -> None:
    def work(run: RunDirectory) -> None:
        finish(run, 2.0)
        sheet = {"validation": {"perplexity": Score(2.0)}, "test": {"perplexity": Score(float("inf"))}}
        write_sheet(run, ScoreSheet("perplexity", sheet, {}, is_lower_better=True))

    assert train(tmp_path, work) == EndedLeg(0, None, "finished", 2.0, curve=(1.0,))


def test_an_error_is_a_failure_with_its_words(tmp_path: Path) -> None:
    said = "out of memory where a smaller batch does not help"
    ended = train(tmp_path, lambda run: write_json(run.exit, {"reason": "failed", "message": said}))
    assert (ended.state, ended.why) == ("failed", said)


def test_a_trial_that_dies_without_a_word_at_the_same_place_is_given_up(tmp_path: Path) -> None:
    worker = Worker(lambda run: None)
    runner = LegRunner(worker, GOAL, lambda number, curve: False)
    ended = runner.train(Leg(0, None), RunDirectory(tmp_path / "trial-0000"), cores=[])
    assert ended is not None
    assert (ended.state, worker.num_started) == ("failed", 4)
    assert "memory" in ended.why


def test_a_trial_that_dies_further_on_each_time_is_resumed(tmp_path: Path) -> None:
    def work(run: RunDirectory) -> None:
        steps = len([*run.checkpoints.glob("step-*")]) if run.checkpoints.is_dir() else 0
        (run.checkpoints / f"step-{steps + 1}").mkdir(parents=True)
        if steps == 6:
            finish(run, 2.0)

    assert train(tmp_path, work).score == 2.0


def test_a_run_that_ended_before_it_said_its_score_settles_nothing(tmp_path: Path) -> None:
    by_selection = Goal("validation", None, frozenset({"perplexity"}))
    run = RunDirectory(tmp_path / "trial-0000")
    assert by_selection.settle(run) is None
    finish(run, 2.0)
    assert by_selection.settle(run) == ("validation/perplexity", True)


def evaluate(run: RunDirectory, number: int) -> str:
    event = Evaluated(number, "validation", {"perplexity": 1.0 / number}, is_best=True)
    EventsFile(run.events).append(event, time=1.0, attempt=1)
    return json.dumps(to_dict(event))


class Watched:
    """Stands for a worker that is evaluated three times; others end after its second evaluation."""

    def __init__(self) -> None:
        self.others_ended = False

    def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
        directory = RunDirectory(run)
        EventsFile(directory.events).append(Started(0, 1, 2, {"select": "perplexity"}), time=1.0, attempt=1)
        yield evaluate(directory, 1)
        yield evaluate(directory, 2)
        self.others_ended = True
        yield evaluate(directory, 3)
        sheet = {"validation": {"perplexity": Score(0.3)}}
        write_sheet(directory, ScoreSheet("perplexity", sheet, {}, is_lower_better=True))
        write_json(directory.exit, {"reason": "finished"})

    def should_stop(self, number: int, curve: Sequence[float]) -> bool:
        return self.others_ended and len(curve) == 2


def test_what_others_came_to_later_is_no_reason_to_give_a_trial_up(tmp_path: Path) -> None:
    worker = Watched()
    runner = LegRunner(worker, GOAL, worker.should_stop)
    ended = runner.train(Leg(0, None), RunDirectory(tmp_path / "trial-0000"), cores=[])
    assert ended is not None
    assert (ended.state, ended.score) == ("finished", 0.3)
    assert runner.passed == {0: 3}


def test_a_trial_is_given_up_at_the_same_evaluation_however_late_anybody_asks(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "trial-0000")
    for _ in Watched().start(run.path, [], cores=[], log=tmp_path / "log"):
        pass  # its tuner was killed on the way
    runner = LegRunner(Worker(lambda run: None), GOAL, lambda number, curve: len(curve) == 2)
    assert runner.train(Leg(0, None), run, cores=[]) == EndedLeg(0, None, "pruned", 0.5, curve=(1.0, 0.5))


def test_a_promoted_trial_whose_worker_dies_before_it_begins_is_resumed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "trial-0000")
    EventsFile(run.events).append(Started(0, 1, 2, {"select": "perplexity"}), time=1.0, attempt=1)
    evaluate(run, 1)
    write_json(run.exit, {"reason": "stop_file"})  # as the leg before has left it

    class Dying(Worker):
        def start(self, run: Path, options: Sequence[str], *, cores: Sequence[int], log: Path) -> Iterator[str]:
            self.num_started += 1
            if self.num_started > 1:
                yield from super().start(run, options, cores=cores, log=log)

    runner = LegRunner(Dying(lambda run: finish(run, 0.5)), GOAL, lambda number, curve: False)
    ended = runner.train(Leg(0, None), run, cores=[])
    assert ended is not None
    assert ended.state == "finished"
