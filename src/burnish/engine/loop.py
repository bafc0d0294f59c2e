"""The training loop. It yields what happens; to watch it, consume its events; to stop it, ask `should_stop`."""

from collections.abc import Callable, Iterator, Mapping

from burnish.engine.progress import Milestones, TrainingProgress, is_due
from burnish.engine.state import StepOutput, Steppable, TrainState
from burnish.spec.events import Ended, Evaluated, Event, Noted, Stepped

_EMPTY = (
    "nothing in the batch of this step counts (its rows weigh 0, or its texts have nothing to guess), so no weight was "
    "changed; the same holds for later batches of this kind"
)


def fit(
    state: TrainState,
    trainee: Steppable,
    pace: Milestones,
    *,
    evaluate: Callable[[], Mapping[str, float]],
    save: Callable[[TrainState], None],
    should_stop: Callable[[], str | None],
) -> Iterator[Event]:
    """Train to the end of the pace. Each turn: stop? → step → evaluate if due → save if due or best.

    `save` takes what it needs before it returns, and may write it later: who writes tells `Saved` once it exists.
    """
    saved_step = state.position.step or None
    is_told = False
    if pace.evaluate_at_start and state.position.step == 0:
        yield Evaluated(step=0, split="validation", scores=dict(evaluate()), is_best=False)
    while (reason := _end_of(state, pace) or should_stop()) is None:
        before = state.position
        taken = trainee.advance(before.step, pace.factor(before) * state.schedule.get("factor", 1.0))
        yield _step(state, taken, pace, rate=trainee.learning_rate)
        if taken.result.is_empty and not is_told:
            is_told = True
            yield Noted(state.position.step, _EMPTY)
        is_last = state.position.has_reached(pace.length)
        is_best = False
        if is_last or is_due(pace.evaluate_every, before=before, now=state.position):
            evaluated = _evaluate(state, pace, evaluate)
            is_best = evaluated.is_best
            yield evaluated
        # Saving comes after evaluating, so that a checkpoint knows its own score and whether it is the best.
        if is_last or is_best or is_due(pace.checkpoint_every, before=before, now=state.position):
            saved_step, state.is_due = state.position.step, True
            save(state)
    if saved_step != state.position.step:
        state.is_due = False
        save(state)
    patience = pace.patience if reason == "early_stopping" else None
    yield Ended(state.position.step, reason, state.best_step, state.best_score, pace.select, patience)


def _end_of(state: TrainState, pace: Milestones) -> str | None:
    if pace.patience is not None and state.bad_evaluations >= pace.patience:
        return "early_stopping"
    return "finished" if state.position.has_reached(pace.length) else None


def _step(state: TrainState, taken: StepOutput, pace: Milestones, *, rate: float) -> Stepped:
    position = state.position
    state.position = TrainingProgress(
        step=position.step + 1,
        epochs=taken.epochs,
        examples=position.examples + taken.global_examples,
        minutes=position.minutes + taken.seconds / 60,
    )
    return Stepped(
        step=state.position.step,
        epoch=taken.epochs,
        loss=taken.result.loss,
        learning_rate=rate,
        gradient_norm=taken.result.gradient_norm,
        examples=taken.result.examples,
        tokens=taken.result.tokens,
        fraction=state.position.fraction_of(pace.length),
    )


def _evaluate(state: TrainState, pace: Milestones, evaluate: Callable[[], Mapping[str, float]]) -> Evaluated:
    scores = evaluate()
    score = scores[pace.select]
    is_better = state.improves(score, pace.direction)
    is_best = is_better or score == state.best_score  # of equal scores the later is of the weights that learned longer
    if is_best:
        state.best_score, state.best_step = score, state.position.step
    state.bad_evaluations = 0 if is_better else state.bad_evaluations + 1
    state.evaluated_step = state.position.step
    state.schedule = pace.heed(state.schedule, score)
    return Evaluated(step=state.position.step, split="validation", scores=dict(scores), is_best=is_best)
