"""The order of operations of the training loop, on a trainee that only counts."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from burnish.engine.loop import fit
from burnish.engine.progress import Milestones
from burnish.engine.state import StepOutput, TrainState
from burnish.optim.schedules import LinearDecay, ReduceOnPlateau
from burnish.spec.events import Ended, Evaluated, Event, Noted, Saved, Stepped
from burnish.spec.interval import NEVER, Interval
from burnish.spec.values import StepResult

BATCHES = 10


@dataclass
class Counter:
    """Takes steps of four examples, ten to an epoch."""

    learning_rate: float = 1.0
    seen: list[tuple[int, float]] = field(default_factory=list)

    empty: tuple[int, ...] = ()

    def advance(self, step: int, factor: float) -> StepOutput:
        self.seen.append((step, factor))
        result = StepResult(1 / (step + 1), gradient_norm=1.0, examples=4, tokens=8, is_empty=step in self.empty)
        return StepOutput(result, (step + 1) / BATCHES, 4)

    def cursor(self) -> dict[str, int]:
        return {"epoch": 0, "batch": len(self.seen)}


def pace(
    length: str, *, evaluate: str = "1 epoch", checkpoint: str = "1 epoch", patience: int | None = None
) -> Milestones:
    return Milestones(
        length=Interval.parse(length),
        evaluate_every=Interval.parse(evaluate),
        checkpoint_every=Interval.parse(checkpoint),
        schedule=LinearDecay(),
        total_steps=30,
        select="accuracy",
        direction="max",
        patience=patience,
    )


def run(
    state: TrainState,
    how: Milestones,
    *,
    scores: Iterator[float],
    stop_at: int | None = None,
    empty: tuple[int, ...] = (),
    trainee: Counter | None = None,
) -> list[Event]:
    events: list[Event] = []
    for event in fit(
        state,
        trainee or Counter(empty=empty),
        how,
        evaluate=lambda: {"accuracy": next(scores)},
        save=lambda state: events.append(Saved(state.position.step, "x")),
        should_stop=lambda: "preempted" if stop_at is not None and state.position.step >= stop_at else None,
    ):
        events.append(event)  # noqa: PERF402  # `save` writes to the same list
    return events


def steps_of(events: list[Event], kind: type) -> list[int]:
    return [event.step for event in events if isinstance(event, kind)]


def test_it_evaluates_and_saves_every_epoch_and_ends_finished() -> None:
    events = run(TrainState(), pace("3 epochs"), scores=iter([0.1, 0.2, 0.3]))
    assert steps_of(events, Stepped) == list(range(1, 31))
    assert steps_of(events, Evaluated) == [10, 20, 30]
    assert steps_of(events, Saved) == [10, 20, 30]
    assert events[-1] == Ended(30, "finished", best_step=30, best_score=0.3, select="accuracy")


def test_the_best_evaluation_is_saved_even_between_checkpoints() -> None:
    events = run(
        TrainState(), pace("30 steps", evaluate="5 steps", checkpoint="never"), scores=iter([1, 3, 2, 2, 2, 2])
    )
    assert steps_of(events, Saved) == [5, 10, 30]
    assert [e.is_best for e in events if isinstance(e, Evaluated)] == [True, True, False, False, False, False]


def test_a_score_that_is_no_number_is_never_best() -> None:
    events = run(TrainState(), pace("20 steps"), scores=iter([float("nan"), 0.1]))
    assert events[-1] == Ended(20, "finished", best_step=20, best_score=0.1, select="accuracy")


def test_patience_ends_the_run_after_that_many_evaluations_without_improvement() -> None:
    how = pace("1000 steps", evaluate="5 steps", checkpoint="never", patience=2)
    events = run(TrainState(), how, scores=iter([0.5, 0.4, 0.3, 0.9]))
    assert isinstance(events[-1], Ended)
    assert (events[-1].step, events[-1].reason) == (15, "early_stopping")


def test_of_equal_scores_the_later_is_best_but_wins_no_patience() -> None:
    how = pace("1000 steps", evaluate="5 steps", checkpoint="never", patience=2)
    events = run(TrainState(), how, scores=iter([0.5, 0.5, 0.5]))
    assert events[-1] == Ended(15, "early_stopping", best_step=15, best_score=0.5, select="accuracy", patience=2)
    assert steps_of(events, Saved) == [5, 10, 15]


def test_a_stop_request_saves_once_and_tells_why() -> None:
    events = run(TrainState(), pace("3 epochs"), scores=iter([0.1]), stop_at=13)
    assert [type(event) for event in events[-2:]] == [Saved, Ended]
    assert events[-1].reason == "preempted"
    assert steps_of(events, Saved) == [10, 13]


def test_the_last_step_is_evaluated_when_nothing_else_asks_for_it() -> None:
    events = run(TrainState(), pace("7 steps", evaluate="never", checkpoint="never"), scores=iter([0.5]))
    assert steps_of(events, Evaluated) == [7]
    assert steps_of(events, Saved) == [7]


def test_a_run_that_was_cut_goes_on_to_the_same_events() -> None:
    how = pace("3 epochs", evaluate="7 steps", patience=3)
    scores = [0.1, 0.3, 0.2, 0.4, 0.1]
    whole = run(TrainState(), how, scores=iter(scores))
    state = TrainState()
    rest = iter(scores)
    first = run(state, how, scores=rest, stop_at=16)
    second = run(TrainState.from_json(state.to_json()), how, scores=rest)

    def told(events: list[Event]) -> list[Event]:
        return [event for event in events if isinstance(event, Stepped | Evaluated)]

    assert told(first) + told(second) == told(whole)
    assert first[-1].reason == "preempted"
    assert second[-1] == whole[-1]


def test_a_schedule_that_follows_the_scores_goes_on_from_a_checkpoint() -> None:
    how = replace(
        pace("12 steps", evaluate="2 steps"), schedule=ReduceOnPlateau(rate=0.5, patience=1), total_steps=None
    )
    scores = [0.5, 0.4, 0.4, 0.6, 0.5, 0.5]
    trainee, state = Counter(), TrainState()
    run(state, how, scores=iter(scores), trainee=trainee)
    assert [factor for _, factor in trainee.seen] == [1.0] * 6 + [0.5] * 6
    cut, resumed = Counter(), Counter()
    state, rest = TrainState(), iter(scores)
    run(state, how, scores=rest, stop_at=5, trainee=cut)
    run(TrainState.from_json(json.loads(json.dumps(state.to_json()))), how, scores=rest, trainee=resumed)
    assert cut.seen + resumed.seen == trainee.seen


def test_a_finished_run_does_nothing_again() -> None:
    state = TrainState()
    run(state, pace("1 epoch"), scores=iter([0.5]))
    again = run(state, pace("1 epoch"), scores=iter([]))
    assert [type(event) for event in again] == [Ended]


def test_by_the_clock_the_schedule_follows_the_share_of_time() -> None:
    how = Milestones(Interval(10, "minutes"), NEVER, NEVER, LinearDecay(), None, "accuracy", "max", None)
    state = TrainState()
    state.position = type(state.position)(step=100, minutes=5.0)
    assert how.factor(state.position) == 0.5


def test_steps_without_anything_that_counts_are_noted_once() -> None:
    events = run(TrainState(), pace("8 steps"), scores=iter([0.5]), empty=(2, 5))
    [noted] = [event for event in events if isinstance(event, Noted)]
    assert noted.step == 3
    assert noted.message.startswith("nothing in the batch of this step counts")
    assert steps_of(events, Stepped) == list(range(1, 9))
