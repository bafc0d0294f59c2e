import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from burnish.cli.progress import Progress, advance, announce, status_line
from burnish.spec.events import Ended, Evaluated, Event, Noted, Saved, Started, Stepped


def stepped(step: int, *, total: int = 100, loss: float = 0.5) -> Stepped:
    return Stepped(
        step, epoch=0.0, loss=loss, learning_rate=1e-4, gradient_norm=1.0, examples=32, tokens=99, fraction=step / total
    )


def after(*timed: tuple[float, Event]) -> Progress:
    progress = Progress()
    for now, event in timed:
        progress = advance(progress, event, now=now)
    return progress


def test_before_the_first_step_there_is_no_speed_and_no_guess() -> None:
    progress = after((0.0, Started(0, 1, 100)), (9.0, stepped(1)))
    assert progress.seconds_left is None
    assert status_line(progress) == "  1%  step 1/100  loss 0.5"


def test_the_time_before_the_first_step_does_not_spoil_the_speed() -> None:
    progress = after((0.0, Started(0, 1, 100)), (500.0, stepped(1)), (501.0, stepped(2)))
    assert status_line(progress) == "  2%  step 2/100  loss 0.5  1 steps/s  32 examples/s  1 min 38 s left"


def test_a_resumed_run_measures_only_what_it_does_itself() -> None:
    progress = after((0.0, Started(50, 2, 100)), (1.0, stepped(51)), (3.0, stepped(52)))
    assert progress.seconds_left == pytest.approx(48 * 2)


@given(st.floats(0.01, 100), st.integers(3, 60))
def test_at_a_steady_pace_the_guess_is_exact(pace: float, steps: int) -> None:
    progress = after(*((number * pace, stepped(number)) for number in range(1, steps)))
    assert progress.seconds_left == pytest.approx((100 - steps + 1) * pace)


def test_a_change_of_pace_is_noticed_within_minutes() -> None:
    slow = [(float(number * 10), stepped(number, total=1000)) for number in range(1, 30)]
    fast = [(290.0 + number, stepped(29 + number, total=1000)) for number in range(1, 300)]
    guess = after(*slow, *fast).seconds_left
    assert guess == pytest.approx(1000 - 328, rel=0.1)


def test_the_best_score_is_the_one_that_decides() -> None:
    evaluated = Evaluated(5, "validation", {"loss": 0.3, "f1": 0.8}, is_best=True)
    worse = Evaluated(6, "validation", {"loss": 0.4, "f1": 0.7}, is_best=False)
    named = after((0.0, Started(0, 1, 100, {"select": "f1"})), (1.0, evaluated), (2.0, worse))
    unnamed = after((0.0, Started(0, 1, 100)), (1.0, evaluated))
    assert named.best == "f1 0.8000"
    assert unnamed.best == "loss 0.3000"


def test_without_a_known_number_of_steps_there_is_none_to_show() -> None:
    progress = after((0.0, Started(0, 1, None)), (1.0, stepped(3, loss=math.nan)))
    assert status_line(progress) == "  3%  step 3  loss nan"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Started(0, 1, 1200, {"train_rows": 9000}), "started\n  steps  1,200\n  rows   train 9,000"),
        (Started(40, 2, None), "resumed at step 40 (attempt 2)"),
        (stepped(1), None),
        (Saved(1, "p"), None),
        (Noted(1, "the disk is nearly full"), "note: the disk is nearly full"),
        (
            Evaluated(95, "validation", {"accuracy": 0.9123}, is_best=True),
            "step 95  validation  accuracy 0.9123  ★ best",
        ),
        (
            Evaluated(95, "test", {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "e": 5.0}, is_best=False),
            "step 95  test  a 1.0000  b 2.0000  c 3.0000  d 4.0000",
        ),
        (
            Ended(1200, "finished", 900, 0.9123, "accuracy"),
            "trained to step 1,200; best accuracy 0.9123 at step 900",
        ),
        (Ended(1200, "finished", 900, 0.9123), "trained to step 1,200; best 0.9123 at step 900"),
        (
            Ended(406, "early_stopping", 261, 0.0777, "log_loss", 5),
            "stopped early at step 406: no better log_loss in 5 evaluations; best 0.0777 at step 261",
        ),
        (
            Ended(6, "early_stopping", 4, 0.5, "f1", 1),
            "stopped early at step 6: no better f1 in 1 evaluation; best 0.5000 at step 4",
        ),
        (Ended(6, "early_stopping", 4, 0.5), "stopped early at step 6: no better score; best 0.5000 at step 4"),
        (Ended(36, "interrupted"), "interrupted at step 36; state saved"),
        (Ended(36, "preempted", 20, 0.5), "preempted at step 36; state saved"),
        (Ended(7, "stop_file"), "stopped by its STOP file at step 7; state saved"),
        (Ended(7, "deadline"), "stopped by train.max_minutes at step 7; state saved"),
        (Ended(7, "some new reason"), "some new reason at step 7"),
    ],
)
def test_the_line_of_an_event(event: Event, line: str | None) -> None:
    assert announce(event) == line


@pytest.mark.parametrize("reason", ["interrupted", "preempted", "deadline", "stop_file", "orphaned"])
def test_how_a_run_was_stopped_is_left_to_the_summary_where_there_is_one(reason: str) -> None:
    assert announce(Ended(36, reason), is_summarised=True) is None
    assert announce(Ended(36, "finished"), is_summarised=True) == "trained to step 36"
